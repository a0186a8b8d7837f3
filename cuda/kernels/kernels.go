// Package kernels holds the kernels of the CUDA backend as PTX, which generate.py compiles by NVRTC from the sources of engine/kernel and
// of this folder.
package kernels

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"strings"
	"sync"
)

//go:embed gen_entries.txt gen_*.ptx.gz
var files embed.FS

var units = sync.OnceValue(func() map[string]string {
	text, _ := files.ReadFile("gen_entries.txt")
	found := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line) // unit, digest of its sources, entries
		for _, entry := range words[2:] {
			found[entry] = words[0]
		}
	}
	return found
})

// Unit names the unit that an entry, such as add_float32, is in; none where there is no such entry.
func Unit(entry string) (string, bool) {
	unit, ok := units()[entry]
	return unit, ok
}

// PTX is the text of a unit.
func PTX(unit string) (string, error) {
	packed, err := files.ReadFile("gen_" + unit + ".ptx.gz")
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}
