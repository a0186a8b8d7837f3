package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestArraysOfOtherFormatsAreErrors(t *testing.T) {
	header := func(text string) string { return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), 0}) + text }
	for content, problem := range map[string]string{
		"":                           "no .npy file",
		"\x93NUMPY\x01\x00\xff\x00{": "cut off",
		header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }"):              "no elements of float32",
		header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }") + "\x00\x00": "2 bytes are no float32 tensor",
	} {
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readArray(path); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v, not %q", content, err, problem)
		}
	}
}

func TestArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n"
	content := "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + "\x00\x00\x80\x3f\x00\x00\x00\x40"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := readArray(path)
	if err != nil {
		t.Fatal(err)
	}
	if sizes := x.Sizes(); len(sizes) != 2 || sizes[1] != 2 {
		t.Errorf("the sizes are %v", sizes)
	}
}
