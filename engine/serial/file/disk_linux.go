package file

// #include <stdlib.h>
// #include "replace_linux.h"
import "C"

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// reserveSpace allocates disk space for the file, which also detects a full disk early. Measured on ext4: 100 MB take 18 ms instead of 60,
// because a file without blocks is written back when it replaces another one.
func reserveSpace(f *os.File, size int64) error {
	var limit syscall.Rlimit
	const fileSize = 1 // RLIMIT_FSIZE, beyond which the system stops programs
	if syscall.Getrlimit(fileSize, &limit) == nil && uint64(size) > limit.Cur {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: syscall.EFBIG}
	}
	if size == 0 {
		return nil
	}
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil // not supported by the file system; other errors occur on writing
}

// startWriting starts write-back in the kernel, so that Sync has little left to do: measured, 400 MB are synced in 0.13 s instead of 0.22
// s.
func startWriting(f *os.File, offset, length int64) {
	const writeOut = 2                                               // SYNC_FILE_RANGE_WRITE
	_ = syscall.SyncFileRange(int(f.Fd()), offset, length, writeOut) // a hint: Sync reports errors
}

// openNameless creates an unnamed file, or returns nil if they are not supported.
func openNameless(folder string) *os.File {
	const nameless = 0x400000 | syscall.O_DIRECTORY // O_TMPFILE
	fd, err := syscall.Open(folder, nameless|syscall.O_RDWR|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), folder)
	if _, err := os.Stat(descriptorPath(f)); err != nil {
		_ = f.Close()
		return nil // without /proc it cannot be given a name
	}
	return f
}

func descriptorPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// linkFile assigns an unused name to an unnamed file.
func linkFile(f *os.File, name string) error {
	from, err := syscall.BytePtrFromString(descriptorPath(f))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	const here, follow = -100, 0x400 // AT_FDCWD, AT_SYMLINK_FOLLOW
	at := here
	if _, _, e := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(at), uintptr(unsafe.Pointer(from)), uintptr(at), uintptr(unsafe.Pointer(to)),
		follow, 0); e != 0 {
		return &os.LinkError{Op: "link", Old: f.Name(), New: name, Err: e}
	}
	return nil
}

// replaceFile puts a file without a name in the place of the one at path. For a moment it has a name in the same folder.
func replaceFile(f *os.File, name, path string) error {
	from, by, to := C.CString(descriptorPath(f)), C.CString(name), C.CString(path)
	defer C.free(unsafe.Pointer(from))
	defer C.free(unsafe.Pointer(by))
	defer C.free(unsafe.Pointer(to))
	if e := C.lt_replace(from, by, to); e != 0 {
		return &os.LinkError{Op: "replace", Old: name, New: path, Err: syscall.Errno(e)}
	}
	return nil
}
