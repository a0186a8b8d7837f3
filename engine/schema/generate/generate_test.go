package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files in the tree are generated from the schemas and the kernel sources, including template hashes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Chdir("../../..")
	out := &output{files: map[string][]byte{}}
	require.NoError(t, generate(out))
	require.NoError(t, out.err)
	for path, want := range out.files {
		got, err := os.ReadFile(path)
		assert.True(t, err == nil && string(got) == string(want), "%s is out of date: run make generate", path)
	}
}
