package main

// #cgo CFLAGS: -O2 -std=c11 -fno-asynchronous-unwind-tables -Wall -Wextra -Werror=implicit-function-declaration -fvisibility=hidden
import "C"
