package library

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
	files, named := l.files()
	require.False(t, named)
	require.Equal(t, []string{"libsome.so.1", filepath.Join(here, "libsome.so"), filepath.Join(filepath.Dir(here), "other/libsome.so")}, files)

	t.Setenv(l.Variable, "none")
	files, named = l.files()
	require.False(t, named)
	require.Empty(t, files)
	found, why := l.Open()
	require.False(t, found)
	require.NoError(t, why)

	t.Setenv(l.Variable, "/nowhere/libsome.so")
	files, named = l.files()
	require.True(t, named)
	require.Equal(t, []string{"/nowhere/libsome.so"}, files)
}

func TestWhyItWasNotOpened(t *testing.T) {
	there := filepath.Join(t.TempDir(), "libsome.so")
	require.NoError(t, os.WriteFile(there, []byte("no library"), 0o600))
	l := Library{Variable: "LIBTENSOR_SOME", Files: []string{"libnowhere.so.1"}}
	found, why := l.Open()
	require.False(t, found)
	require.NoError(t, why) // there is none

	t.Setenv(l.Variable, there)
	_, why = l.Open()
	require.ErrorContains(t, why, there)

	t.Setenv(l.Variable, "/nowhere/libsome.so")
	_, why = l.Open()
	require.ErrorContains(t, why, "/nowhere/libsome.so")

	t.Setenv(l.Variable, "anything")
	l.Ready = func() (func(), error) { return nil, errors.New("there is no room") }
	_, why = l.Open()
	require.EqualError(t, why, "there is no room")
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
