package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	version = strings.TrimPrefix(strings.Split(entries, "\n")[0], "libtensor ")
	remedy  = ": pip install libtensor-cuda==" + version + ", npm install libtensor-cuda@" + version +
		", or apt-get install libtensor0-cuda brings them"
)

// folderOf makes one with a list of entries.
func folderOf(t *testing.T, list string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gen_entries.txt"), []byte(list), 0o600))
	return folder
}

func TestFind(t *testing.T) {
	own, none := folderOf(t, entries), t.TempDir()
	newer := folderOf(t, strings.Replace(entries, version, "99.0.0", 1))
	another := folderOf(t, entries+"more 0123456789abcdef add_float32\n")
	for _, c := range []struct {
		folders     []string
		folder, why string
	}{
		{[]string{own}, own, ""},
		{[]string{none, newer, own}, own, ""},
		{[]string{none}, "", "its kernels are not installed" + remedy},
		{nil, "", "its kernels are not installed" + remedy},
		{[]string{newer, none}, "", "its kernels in " + newer + " are those of libtensor 99.0.0, and this is libtensor " + version + remedy},
		{[]string{another}, "", "its kernels in " + another + " are those of another build of libtensor " + version + remedy},
	} {
		folder, why := findFolder(c.folders...)
		assert.Equal(t, c.folder, folder)
		assert.Equal(t, c.why, why)
	}
}
