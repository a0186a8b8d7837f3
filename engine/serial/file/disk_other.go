//go:build !linux

package file

import (
	"errors"
	"os"
)

func reserve(*os.File, int64) error { return nil }

func startWriting(*os.File, int64, int64) {}

func openNameless(string) *os.File { return nil }

func link(*os.File, string) error { return errors.ErrUnsupported }

func replace(*os.File, string, string) error { return errors.ErrUnsupported }
