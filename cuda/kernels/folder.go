package kernels

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/libtensor/libtensor/engine/dynlib"
)

// Variable names the folder with the kernels.
const Variable = "LIBTENSOR_CUDA_KERNELS"

// places are the package's folders, relative to that of libtensor: of a build, a prefix, Debian, Python and Node.
var places = []string{"libtensor-cuda", "../share/libtensor-cuda", "../../share/libtensor-cuda", "../../libtensor_cuda",
	"../../libtensor-cuda"}

// Absence returns the reason why there are no kernels, or "".
func Absence() string {
	_, why := found()
	return why
}

var found = sync.OnceValues(func() (string, string) {
	if folder := os.Getenv(Variable); folder != "" {
		return findFolder(folder)
	}
	here := dynlib.Folder()
	var folders []string
	for _, place := range places {
		if here != "" {
			folders = append(folders, filepath.Join(here, place))
		}
	}
	return findFolder(folders...)
})

// findFolder returns the first folder that has the kernels of this library, or why none has.
func findFolder(folders ...string) (folder, why string) {
	own := firstLine(entries)
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "gen_entries.txt"))
		if err != nil {
			continue
		}
		if string(text) == entries {
			return folder, ""
		}
		if other := firstLine(string(text)); other != own {
			why = fmt.Sprintf("its kernels in %s are those of %s, and this is %s", folder, other, own)
		} else {
			why = fmt.Sprintf("its kernels in %s are those of another build of %s", folder, own)
		}
	}
	if why == "" {
		why = "its kernels are not installed"
	}
	version := strings.TrimPrefix(own, "libtensor ")
	return "", fmt.Sprintf("%s: pip install libtensor-cuda==%s, npm install libtensor-cuda@%s, or apt-get install libtensor0-cuda brings them",
		why, version, version)
}

// firstLine returns the first line of a list of entries.
func firstLine(list string) string {
	line, _, _ := strings.Cut(list, "\n")
	return line
}
