package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const remedy = ": pip install libtensor-cuda==0.1.0, npm install libtensor-cuda@0.1.0, or apt-get install libtensor0-cuda brings them"

// folderOf makes one with a list of entries.
func folderOf(t *testing.T, list string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gen_entries.txt"), []byte(list), 0o600))
	return folder
}

func TestFind(t *testing.T) {
	own, none := folderOf(t, entries), t.TempDir()
	newer := folderOf(t, strings.Replace(entries, "libtensor 0.1.0", "libtensor 0.2.0", 1))
	another := folderOf(t, entries+"more 0123456789abcdef add_float32\n")
	for _, c := range []struct {
		folders     []string
		folder, why string
	}{
		{[]string{own}, own, ""},
		{[]string{none, newer, own}, own, ""},
		{[]string{none}, "", "its kernels are not installed" + remedy},
		{nil, "", "its kernels are not installed" + remedy},
		{[]string{newer, none}, "", "its kernels in " + newer + " are those of libtensor 0.2.0, and this is libtensor 0.1.0" + remedy},
		{[]string{another}, "", "its kernels in " + another + " are those of another build of libtensor 0.1.0" + remedy},
	} {
		folder, why := find(c.folders...)
		assert.Equal(t, c.folder, folder)
		assert.Equal(t, c.why, why)
	}
}
