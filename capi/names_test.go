package main

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/storage"
)

func TestNamesKeepObjectsUntilTheyAreForgotten(t *testing.T) {
	g := random.New(random.MT19937, 7)
	kept := weak.Make(g)
	key := saveObject(g)
	g = nil
	runtime.GC()
	require.NotNil(t, kept.Value(), "C has a name of it")
	assert.Equal(t, uint64(7), objectOf[*random.Generator](key).InitialSeed())
	assert.Nil(t, objectOf[*storage.Storage](key), "which is of another type")
	releaseObject(key)
	assert.Nil(t, objectOf[*random.Generator](key))
	for range 3 {
		runtime.GC()
	}
	assert.Nil(t, kept.Value())
	assert.Nil(t, objectOf[*random.Generator](nil))
}
