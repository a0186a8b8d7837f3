package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// draft is a file that is being written. Where the system allows, it has no name until it is whole, so that nothing is left of
// it when the process is stopped. Otherwise it has a name that a later draft takes over when its writer is gone.
type draft struct {
	*os.File
	path string // the final path
	name string // the current name, or ""
}

func newDraft(path string) (*draft, error) {
	if f := openNameless(filepath.Dir(path)); f != nil {
		return &draft{File: f, path: path}, nil
	}
	return newNamedDraft(path)
}

func newNamedDraft(path string) (*draft, error) {
	for number := 0; ; number++ {
		name := draftName(path, "draft", number)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666)
		switch {
		case err == nil && claimDraft(f):
			return &draft{f, path, name}, nil
		case err == nil:
			_ = f.Close()
		case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ELOOP):
			return nil, err
		}
		if number == maxDrafts {
			return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.EACCES}
		}
	}
}

// maxDrafts is how many files may be written in a folder at a time where files need names.
const maxDrafts = 1000

func draftName(path, kind string, number int) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".libtensor-%s-%d-%d.tmp", kind, os.Getuid(), number))
}

// lockDraft locks a named draft and reports whether this process now owns it: no other process, such as one that writes it, holds the
// lock, and the name was not replaced. Only drafts are locked, never the folder or the file at path, which others may lock.
func lockDraft(f *os.File) bool {
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false
	}
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(here, there) && here.Mode().IsRegular()
}

// claimDraft locks a draft and empties it, and reports whether both succeeded.
func claimDraft(f *os.File) bool { return lockDraft(f) && f.Truncate(0) == nil }

// removeLeftover removes the draft of a process that has stopped.
func removeLeftover(name string) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if lockDraft(f) {
		_ = os.Remove(name)
	}
}

// copyAttributes sets the draft's owner, if permitted, and its permissions to those of the file that it replaces.
func (d *draft) copyAttributes(info fs.FileInfo) error {
	if err := syscall.Access(d.path, 2); err != nil {
		return err // who may not write the old file does not replace it either
	}
	if old, ok := info.Sys().(*syscall.Stat_t); ok {
		if d.Chown(int(old.Uid), int(old.Gid)) != nil {
			_ = d.Chown(-1, int(old.Gid))
		}
	}
	return d.Chmod(info.Mode().Perm())
}

// publish puts the whole file in its place.
func (d *draft) publish() error {
	if d.name != "" {
		err := os.Rename(d.name, d.path)
		if err == nil {
			d.name = ""
			d.unlock()
		}
		return err
	}
	if err := linkFile(d.File, d.path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Locked before it has a name, so that no other process treats it as a leftover.
	_ = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	defer d.unlock()
	for number := 0; ; number++ {
		name := draftName(d.path, "new", number)
		err := replaceFile(d.File, name, d.path)
		if !errors.Is(err, fs.ErrExist) || number == maxDrafts {
			return err
		}
		removeLeftover(name)
	}
}

// unlock leaves locks of the published file to others.
func (d *draft) unlock() { _ = syscall.Flock(int(d.Fd()), syscall.LOCK_UN) }

// discard removes an unpublished draft.
func (d *draft) discard() {
	if d.name != "" {
		_ = os.Remove(d.name)
	}
	_ = d.Close()
}
