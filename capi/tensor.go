package main

// #cgo CFLAGS: -O2 -std=c11 -Wall -Wextra -fvisibility=hidden
import "C"
