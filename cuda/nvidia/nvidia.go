// Package nvidia finds the libraries of CUDA that accelerate operators, in the versions that the driver supports.
package nvidia

// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	_ "github.com/libtensor/libtensor/cuda/driver" // whose version determines those of the libraries
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/dynlib"
)

// Library is an optional library of CUDA.
type Library struct {
	dynlib.Library
	Name   string // as in cuBLAS
	Folder string // in NVIDIA's wheels for CUDA 12
	File   string // without the version
	// Versions of the library for CUDA 13 and CUDA 12.
	Cuda13, Cuda12 int
	AllocFailed    int                                // the status for exhausted memory
	Describe       func(code int) (name, text string) // of a status other than 0

	once  sync.Once
	found bool
	err   error
}

// Find reports whether the library can be called. It is an error if the environment variable names one that cannot be used. The system's
// libraries are searched first, and then those of wheels next to this package.
func (l *Library) Find() (bool, error) {
	l.once.Do(func() {
		driver := int(C.lt_driver_version())
		if driver >= 13000 {
			l.addFolder("cu13", l.Cuda13)
		}
		if driver >= 12000 {
			l.addFolder(l.Folder, l.Cuda12)
		}
		found, why := l.Open()
		if !found && l.Named() {
			l.err = fmt.Errorf("%s does not name a usable %s library: %w", l.Variable, l.Name, why)
		}
		l.found = found
	})
	return l.found, l.err
}

func (l *Library) addFolder(folder string, version int) {
	file := fmt.Sprintf("%s.%d", l.File, version)
	l.Files = append(l.Files, file, fmt.Sprintf("../../nvidia/%s/lib/%s", folder, file))
}

// Failure is an error status that a function of a library returned.
type Failure struct {
	Library, Function string
	Status            int
	Name, Text        string
	OutOfMemory       bool
}

func (f Failure) Error() string {
	text := fmt.Sprintf("%s error in %s: %s", f.Library, f.Function, f.Name)
	if f.Text != "" {
		text += ", " + f.Text
	}
	return text
}

// StatusError returns the error for the status of a function; nil for 0.
func (l *Library) StatusError(function string, code int) error {
	if code == 0 {
		return nil
	}
	f := Failure{Library: l.Name, Function: function, Status: code, OutOfMemory: code == l.AllocFailed}
	f.Name, f.Text = l.Describe(code)
	return f
}

// Named returns a description of statuses by their names behind a prefix.
func Named(prefix string, names map[int]string) func(code int) (name, text string) {
	return func(code int) (name, text string) {
		if name = names[code]; name == "" {
			name = "ERROR"
		}
		return prefix + name, ""
	}
}

// OutOfMemory reports whether an error says that a device has no memory left.
func OutOfMemory(err error) bool {
	var f Failure
	return errors.As(err, &f) && f.OutOfMemory
}

// Kind returns the number of the dtype in the tables of functions that each have a form for float32, float64, complex64 and complex128.
func Kind(d dtype.DType) int {
	return slices.Index([]dtype.DType{dtype.Float32, dtype.Float64, dtype.Complex64, dtype.Complex128}, d)
}
