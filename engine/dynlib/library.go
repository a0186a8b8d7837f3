// Package dynlib loads shared libraries at their first use: BLAS, and the libraries of devices. A Library describes one: the paths to
// search, and the table of its functions, which C code calls.
package dynlib

// #cgo LDFLAGS: -ldl
// #include "library.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Library is an optional shared library.
type Library struct {
	Variable string   // of the environment: names its file, or is none, to do without
	Files    []string // where it may be: with a slash below the folder that libtensor is in, otherwise where the system finds libraries
	Prefixes []string // prefixes of its functions in some builds, and
	Suffixes []string // behind them; nil for none
	Table    Table    // of the required functions
	Lacks    string   // format of the error for a library without some of them, with its path and a symbol: "%s has no %s"
	// Ready, if not nil, prepares the process for opening the file, or returns the reason why it must not be opened. The returned function is
	// called afterwards.
	Ready func() (opened func(), why error)

	handle         unsafe.Pointer
	prefix, suffix string

	mutex   sync.Mutex
	settled atomic.Bool // that found and why are so for good
	found   bool
	why     error
}

// Shortage is a resource that the process lacks to open an existing library. A later attempt may succeed.
type Shortage string

func (s Shortage) Error() string { return "there is no " + string(s) + " to open it" }

// Table is a C table: an array of names, and slots for the functions in the same order.
type Table struct {
	Names unsafe.Pointer // const char *const *
	Slots unsafe.Pointer // void **
	Count int
}

// Open opens the file named by the environment variable, or the first one with all functions, and fills the table, unless it has done so
// before. If none can be used, it returns the error of the named or first existing file, or nil if none exists. After a Shortage the next
// call tries again.
func (l *Library) Open() (found bool, why error) {
	if l.settled.Load() {
		return l.found, l.why
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.settled.Load() {
		return l.found, l.why
	}
	if found, why = l.openFirst(); !errors.As(why, new(Shortage)) {
		l.found, l.why = found, why
		l.settled.Store(true)
	}
	return found, why
}

// openFirst opens the first file that can be opened. A file that exists but fails to open for a shortage of resources is not replaced by
// another one, whose results could differ.
func (l *Library) openFirst() (found bool, why error) {
	files, named := l.candidateFiles()
	for _, file := range files {
		err := l.openFile(file)
		if err == nil {
			return true, nil
		}
		_, missing := os.Stat(file)
		there := named || missing == nil
		if there || !strings.Contains(file, "/") { // the system may find it
			if short := toShortage(err); short != nil {
				return false, short
			}
		}
		if there && why == nil {
			why = err
		}
	}
	return false, why
}

// toShortage returns err as a Shortage, or nil.
func toShortage(err error) error {
	if short := Shortage(""); errors.As(err, &short) {
		return short
	}
	switch C.lt_library_shortage() {
	case C.LT_NO_DESCRIPTOR:
		return Shortage("file descriptor")
	case C.LT_NO_MEMORY:
		return Shortage("memory")
	}
	return nil
}

// Named reports whether the environment names a file.
func (l *Library) Named() bool {
	_, named := l.candidateFiles()
	return named
}

// Disabled reports whether the environment excludes every file.
func (l *Library) Disabled() bool { return os.Getenv(l.Variable) == disabled }

const disabled = "none"

// candidateFiles returns the files to try, and whether the environment names the file.
func (l *Library) candidateFiles() (files []string, named bool) {
	switch file := os.Getenv(l.Variable); file {
	case "":
	case disabled:
		return nil, false
	default:
		return []string{file}, true
	}
	here := Folder()
	for _, file := range l.Files {
		if !strings.Contains(file, "/") {
			files = append(files, file)
		} else if here != "" {
			files = append(files, filepath.Join(here, file))
		}
	}
	return files, false
}

// Folder returns the folder of libtensor itself, or "".
func Folder() string {
	const size = 4096
	buffer := (*C.char)(C.malloc(size))
	defer C.free(unsafe.Pointer(buffer))
	if C.lt_library_folder(buffer, size) == 0 {
		return ""
	}
	return C.GoString(buffer)
}

// openFile opens a file. A library that lacks functions stays open, since it may not support being closed.
func (l *Library) openFile(file string) error {
	if l.Ready != nil {
		opened, why := l.Ready()
		if why != nil {
			return why
		}
		defer opened()
	}
	handle, err := openLibrary(file)
	if err != nil {
		return err
	}
	missing := ""
	for _, prefix := range orEmpty(l.Prefixes) {
		for _, suffix := range orEmpty(l.Suffixes) {
			lacks := fillTable(handle, prefix, suffix, l.Table)
			if lacks == "" {
				l.handle, l.prefix, l.suffix = handle, prefix, suffix
				return nil
			}
			missing = lacks
		}
	}
	return fmt.Errorf(l.Lacks, file, missing)
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{""}
	}
	return list
}

// fillTable fills a function table, and returns the name of a missing function or "".
func fillTable(handle unsafe.Pointer, prefix, suffix string, t Table) string {
	before, behind := C.CString(prefix), C.CString(suffix)
	defer C.free(unsafe.Pointer(before))
	defer C.free(unsafe.Pointer(behind))
	return C.GoString(C.lt_library_take(handle, before, behind, (**C.char)(t.Names), (*unsafe.Pointer)(t.Slots), C.size_t(t.Count)))
}

// Find returns a function of the open library, or nil. The name is without this build's prefix and suffix.
func (l *Library) Find(name string) unsafe.Pointer {
	text := C.CString(l.prefix + name + l.suffix)
	defer C.free(unsafe.Pointer(text))
	return C.lt_library_find(l.handle, text)
}

// HasAll reports whether the open library has all functions of a further table, which it fills.
func (l *Library) HasAll(t Table) bool { return fillTable(l.handle, l.prefix, l.suffix, t) == "" }

func openLibrary(path string) (unsafe.Pointer, error) {
	const size = 512
	text, why := C.CString(path), (*C.char)(C.malloc(size))
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(why))
	handle := C.lt_library_open(text, why, size)
	if handle == nil {
		return nil, errors.New(C.GoString(why))
	}
	return handle, nil
}
