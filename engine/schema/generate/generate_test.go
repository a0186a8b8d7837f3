package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files in the tree are generated from the schemas and the kernel sources, including template hashes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Chdir("../../..")
	out := newOutput()
	require.NoError(t, generateAll(out))
	require.NoError(t, out.err)
	for path, want := range out.files {
		got, err := os.ReadFile(path)
		assert.True(t, err == nil && string(got) == string(want), "%s is out of date: run make generate", path)
	}
}

func TestTemplateHashesIgnoreComments(t *testing.T) {
	folder := t.TempDir()
	hash := func(unit, included string) string {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "unit.h"), []byte(unit), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "included.h"), []byte(included), 0o600))
		h, err := templateHash(filepath.Join(folder, "unit.h"))
		require.NoError(t, err)
		return h
	}
	plain := hash("#include \"included.h\"\nint a = 1;\n", "int b;\n")
	require.Equal(t, plain, hash("// A comment.\n#include \"included.h\"\n  // Another one.\nint a = 1;  // Its value.\n",
		"int b;  // Included.\n"))
	require.NotEqual(t, plain, hash("#include \"included.h\"\nint a = 2;\n", "int b;\n"))
	require.NotEqual(t, plain, hash("#include \"included.h\"\nint a = 1;\n", "int c;\n"))
}
