// Package kernels loads the kernels of the CUDA backend: PTX that generate.py compiles with NVRTC from the sources of engine/kernel and of
// this folder. They are in a separate package, libtensor-cuda, a folder that is read when a device is first requested (folder.go).
package kernels

import (
	"compress/gzip"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/libtensor/libtensor/engine/dtype"
)

// entries lists the library's name and version, and then for each unit its name, the digest of its sources, and its entries.
//
//go:embed gen_entries.txt
var entries string

// Entry identifies a kernel: its name, with the dtype or the size of its elements.
type Entry struct {
	name  string
	dtype dtype.DType // None of those that are for all
	bytes int64       // 0 likewise

	contiguous bool
}

// Of is the kernel of a name for elements of a dtype.
func Of(name string, d dtype.DType) Entry { return Entry{name: name, dtype: d} }

// Wide returns the key of a kernel for elements of a size, of any dtype.
func Wide(name string, bytes int64) Entry { return Entry{name: name, dtype: dtype.None, bytes: bytes} }

// Alone returns the only kernel of a name.
func Alone(name string) Entry { return Entry{name: name, dtype: dtype.None} }

// Contiguous returns the form of a kernel for contiguous operands, whose floating-point elements in memory are those of a dtype.
func (e Entry) Contiguous(stored dtype.DType) Entry {
	e.dtype, e.contiguous = stored, true
	return e
}

// DType returns the dtype of an entry, None if it has none.
func (e Entry) DType() dtype.DType { return e.dtype }

// Bytes returns the size of the elements of an entry for any dtype, and 0 for others.
func (e Entry) Bytes() int64 { return e.bytes }

// String is the kernel's name in PTX, such as add_float32 or move_4.
func (e Entry) String() string {
	name := e.name
	if e.contiguous {
		name += contiguous
	}
	switch {
	case e.dtype != dtype.None:
		return name + "_" + e.dtype.String()
	case e.bytes > 0:
		return name + "_" + strconv.FormatInt(e.bytes, 10)
	}
	return name
}

const contiguous = "_contiguous"

// parseEntry returns the entry that String names.
func parseEntry(symbol string) Entry {
	at := strings.LastIndexByte(symbol, '_')
	if at < 0 {
		return Alone(symbol)
	}
	name, isContiguous := strings.CutSuffix(symbol[:at], contiguous)
	of := symbol[at+1:]
	for _, d := range dtype.All {
		if d.String() == of {
			return Entry{name: name, dtype: d, contiguous: isContiguous}
		}
	}
	if bytes, err := strconv.ParseInt(of, 10, 64); err == nil {
		return Entry{name: name, dtype: dtype.None, bytes: bytes, contiguous: isContiguous}
	}
	return Alone(symbol)
}

var units = sync.OnceValue(func() map[Entry]string {
	found := map[Entry]string{}
	for _, line := range strings.Split(strings.TrimSpace(entries), "\n")[1:] {
		words := strings.Fields(line)
		for _, symbol := range words[2:] {
			found[parseEntry(symbol)] = words[0]
		}
	}
	return found
})

// Unit returns the name of the unit that contains an entry; ok is false if there is none.
func Unit(entry Entry) (string, bool) {
	unit, ok := units()[entry]
	return unit, ok
}

var parsedUnits struct {
	sync.Mutex
	units map[string]*unit
}

// PTX returns the text of an entry of a unit.
func PTX(name string, entry Entry) (string, error) {
	parsedUnits.Lock()
	defer parsedUnits.Unlock()
	u := parsedUnits.units[name]
	if u == nil {
		folder, _ := found()
		text, err := readUnit(filepath.Join(folder, "gen_"+name+".ptx.gz"))
		if err != nil {
			return "", err
		}
		if parsedUnits.units == nil {
			parsedUnits.units = map[string]*unit{}
		}
		u = parsePTX(text)
		parsedUnits.units[name] = u
	}
	return u.extractEntry(entry.String()), nil
}

func readUnit(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}
