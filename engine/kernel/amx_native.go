//go:build !emulated_amx || !amd64

package kernel

// emulatesAMX is true in builds for tests, whose kernels emulate tile registers on any CPU.
const emulatesAMX = false
