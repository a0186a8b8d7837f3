package dynlib

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	l := Library{Variable: "LIBTENSOR_SOME", Files: []string{"libsome.so.1", "./libsome.so", "../other/libsome.so"}}
	here := Folder()
	require.NotEmpty(t, here)
	files, named := l.candidateFiles()
	require.False(t, named)
	require.Equal(t, []string{"libsome.so.1", filepath.Join(here, "libsome.so"), filepath.Join(filepath.Dir(here), "other/libsome.so")}, files)

	t.Setenv(l.Variable, "none")
	files, named = l.candidateFiles()
	require.False(t, named)
	require.Empty(t, files)
	found, why := l.Open()
	require.False(t, found)
	require.NoError(t, why)

	t.Setenv(l.Variable, "/nowhere/libsome.so")
	files, named = l.candidateFiles()
	require.True(t, named)
	require.Equal(t, []string{"/nowhere/libsome.so"}, files)
}

func TestWhyItWasNotOpened(t *testing.T) {
	there := filepath.Join(t.TempDir(), "libsome.so")
	require.NoError(t, os.WriteFile(there, []byte("no library"), 0o600))
	some := func() *Library { return &Library{Variable: "LIBTENSOR_SOME", Files: []string{"libnowhere.so.1"}} }
	found, why := some().Open()
	require.False(t, found)
	require.NoError(t, why) // there is none

	for _, file := range []string{there, "/nowhere/libsome.so"} {
		t.Setenv("LIBTENSOR_SOME", file)
		l := some()
		_, why = l.Open()
		require.ErrorContains(t, why, file)

		require.False(t, l.Disabled())
		t.Setenv("LIBTENSOR_SOME", "none")
		require.True(t, l.Disabled())
		_, again := l.Open()
		require.Equal(t, why, again) // it is not tried again
	}

	t.Setenv("LIBTENSOR_SOME", "anything")
	l := some()
	l.Ready = func() (func(), error) { return nil, errors.New("there is no room") }
	_, why = l.Open()
	require.EqualError(t, why, "there is no room")
}

func TestAfterAShortageTheNextCallTriesAgain(t *testing.T) {
	l := Library{Variable: "LIBTENSOR_SOME", Files: []string{"libc.so.6", "libm.so.6"}}
	tries := 0
	l.Ready = func() (func(), error) {
		if tries++; tries < 3 {
			return nil, Shortage("memory")
		}
		return func() {}, nil
	}
	for n := range 2 {
		found, why := l.Open()
		require.False(t, found)
		require.EqualError(t, why, "there is no memory to open it")
		require.Equal(t, n+1, tries) // the second file is not taken instead
	}
	for range 2 {
		found, why := l.Open()
		require.NoError(t, why)
		require.True(t, found)
		require.Equal(t, 3, tries)
	}
}

func TestFunctionsOfALibraryThatIsOpen(t *testing.T) {
	l := Library{Variable: "LIBTENSOR_SOME", Files: []string{"libc.so.6"}, Lacks: "%s has no %s"}
	opened := false
	l.Ready = func() (func(), error) { return func() { opened = true }, nil }
	found, why := l.Open()
	require.NoError(t, why)
	require.True(t, found)
	require.True(t, opened)
	require.NotNil(t, l.Find("malloc"))
	require.Nil(t, l.Find("no_such_function"))
}
