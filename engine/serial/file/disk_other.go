//go:build !linux

package file

import (
	"errors"
	"os"
)

func reserveSpace(*os.File, int64) error { return nil }

func startWriting(*os.File, int64, int64) {}

func openNameless(string) *os.File { return nil }

func linkFile(*os.File, string) error { return errors.ErrUnsupported }

func replaceFile(*os.File, string, string) error { return errors.ErrUnsupported }
