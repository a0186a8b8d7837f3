//go:build !linux

package file

import "os"

func startWriting(*os.File, int64, int64) {}
