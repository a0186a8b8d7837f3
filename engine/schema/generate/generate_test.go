package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/schema"
)

// The files in the tree are what the entries and the kernel sources give, template hashes among them.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Chdir("../../..")
	out := &output{files: map[string][]byte{}}
	ops, err := schema.Load("engine")
	require.NoError(t, err)
	require.NoError(t, generateKernels(out))
	require.NoError(t, generateCached(out))
	require.NoError(t, facade(out, ops))
	require.NoError(t, generateC(out, ops))
	generateCpp(out, ops)
	require.NoError(t, generatePython(out, ops))
	require.NoError(t, generateNode(out, ops))
	generateNames(out)
	generateDTypes(out, ops)
	require.NoError(t, generateReference(out, ops))
	require.NoError(t, generateCases(out, ops))
	require.NoError(t, out.err)
	for path, want := range out.files {
		got, err := os.ReadFile(path)
		assert.True(t, err == nil && string(got) == string(want), "%s is out of date: run make generate", path)
	}
}
