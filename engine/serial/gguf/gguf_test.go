package gguf

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/libtensor/libtensor/engine/cpu" // copies
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/file/filetest"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// bytes appends values to a file: strings with their length, integers with their size.
func bytes(values ...any) []byte {
	var out []byte
	for _, v := range values {
		switch v := v.(type) {
		case string:
			out = append(binary.LittleEndian.AppendUint64(out, uint64(len(v))), v...)
		case []byte:
			out = append(out, v...)
		default:
			out, _ = binary.Append(out, binary.LittleEndian, v)
		}
	}
	return out
}

func head(version uint32, tensors, pairs uint64) []byte {
	return bytes([]byte(magic), version, tensors, pairs)
}

// build joins a header with no metadata, infos of tensors and n bytes of aligned data.
func build(tensors uint64, n int, infos ...any) []byte {
	data := append(head(3, tensors, 0), bytes(infos...)...)
	for len(data)%defaultAlignment != 0 {
		data = append(data, 0)
	}
	for i := range n {
		data = append(data, byte(i))
	}
	return data
}

// sample has metadata of all types, and tensors of numbers and of blocks.
func sample() []byte {
	data := head(3, 3, 6)
	data = append(data, bytes("general.alignment", uint32(4), uint32(64), "name", uint32(8), "a\"é", "f", uint32(6), float32(1), "n",
		uint32(12), math.Inf(-1),
		"flag", uint32(7), uint8(1), "list", uint32(9), uint32(9), uint64(2), uint32(8), uint64(1), "x", uint32(1), uint64(2), int8(-1),
		int8(2))...)
	data = append(data, bytes("a", uint32(2), uint64(3), uint64(2), uint32(0), uint64(0), "q", uint32(2), uint64(64), uint64(2), uint32(2),
		uint64(64),
		"empty", uint32(1), uint64(0), uint32(30), uint64(0))...)
	for len(data)%64 != 0 {
		data = append(data, 0)
	}
	for i := range 64 + 72 {
		data = append(data, byte(i))
	}
	return data
}

func load(source *file.Source) (*File, []*tensor.Tensor, []string, error) {
	budget := source.Budget("load")
	defer budget.Close()
	f, err := Open("load", source, budget)
	if err != nil {
		return nil, nil, nil, err
	}
	_, tensors, kinds, err := f.Select(nil, source.IsFile())
	return f, tensors, kinds, err
}

func release(tensors []*tensor.Tensor) {
	for _, t := range tensors {
		t.Release()
	}
}

func TestTensorsAndMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gguf")
	require.NoError(t, os.WriteFile(path, sample(), 0o600))
	onDisk, err := file.Open("load", path)
	require.NoError(t, err)
	defer onDisk.Close()
	for _, source := range []*file.Source{file.Memory(sample()), onDisk} {
		f, tensors, kinds, err := load(source)
		require.NoError(t, err)
		require.JSONEq(t, `{"general.alignment":64,"name":"a\"é","f":1.0,"n":{"float":"-inf"},"flag":true,"list":[["x"],[-1,2]]}`, f.Metadata)
		require.Contains(t, f.Metadata, `"f":1.0`)
		require.Equal(t, []string{"F32", "Q4_0", "BF16"}, kinds)
		require.Equal(t, []int64{2, 3}, tensors[0].Sizes())
		require.Equal(t, float64(math.Float32frombits(0x07060504)), tensors[0].At([]int64{0, 1}).F)
		require.Equal(t, []int64{2, 36}, tensors[1].Sizes())
		require.Equal(t, int64(64+36), tensors[1].At([]int64{1, 0}).I)
		require.Equal(t, []int64{0}, tensors[2].Sizes())
		release(tensors)
	}
}

func TestInvalidFiles(t *testing.T) {
	info := func(kind uint32, offset uint64, sizes ...uint64) []byte {
		return bytes("a", uint32(len(sizes)), sizes, kind, offset)
	}
	pair := func(values ...any) []byte { return append(head(3, 0, 1), bytes(values...)...) }
	for name, c := range map[string]struct {
		data []byte
		fact string
	}{
		"empty":         {nil, "the magic"},
		"other format":  {[]byte("PK\x03\x04 and more"), `begins with "PK\x03\x04"`},
		"version 1":     {head(1, 0, 0), "version 1 of GGUF"},
		"big-endian":    {bytes([]byte(magic), uint32(3<<24), uint64(0), uint64(0)), "big-endian"},
		"many tensors":  {head(3, 1<<60, 0), "it has 1152921504606846976 tensors"},
		"many keys":     {head(3, 0, math.MaxUint64), "metadata keys"},
		"long key":      {pair(uint64(math.MaxUint64), uint64(0)), "a metadata key has 9223372036854775807 from byte"},
		"key not UTF-8": {pair("\xff", uint32(0), uint8(0)), "is not UTF-8"},
		"two of a key": {append(head(3, 0, 2), bytes("k", uint32(0), uint8(1), "k", uint32(0), uint8(1))...),
			`metadata key "k" occurs twice`},
		"unknown type": {pair("k", uint32(13), uint64(0)), `"k" has the unknown type 13`},
		"bool 2":       {pair("k", uint32(7), uint8(2)), `"k" has the bool 2`},
		"long array":   {pair("k", uint32(9), uint32(0), uint64(1<<40), uint8(0)), "items in a metadata array"},
		"deep arrays": {pair("k", bytes(uint32(9)), bytes(uint32(9), uint64(1), uint32(9), uint64(1), uint32(9), uint64(1), uint32(9),
			uint64(1), uint32(0), uint64(1), uint8(1))), "arrays in each other"},
		"alignment 3":      {pair(alignmentKey, uint32(4), uint32(3)), "general.alignment is 3"},
		"alignment text":   {pair(alignmentKey, uint32(8), "32"), `general.alignment is "32"`},
		"nine sizes":       {build(1, 0, info(0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1)), "has 9 dimensions"},
		"unknown kind":     {build(1, 4, info(4, 0, 1)), `"a" has type 4, which is not supported`},
		"broken block":     {build(1, 18, info(2, 0, 16)), "no multiple of 32 values"},
		"block of nothing": {build(1, 18, info(2, 0)), "no multiple of 32 values"},
		"overflow":         {build(1, 4, info(0, 0, 1<<40, 1<<40)), "larger than the file"},
		"huge size":        {build(1, 4, info(0, 0, 1<<63)), "has size 9223372036854775808"},
		"more than a file": {build(1, 4, info(0, 0, 1000)), "has 4000 bytes, and the file has"},
		"past the end":     {build(1, 8, info(0, 32, 2)), "damaged or truncated"},
		"far offset":       {build(1, 8, info(0, 1<<63, 1)), "damaged or truncated"},
		"unaligned":        {build(1, 12, info(0, 4, 1)), "no multiple of the alignment 32"},
		"two of a name":    {build(2, 40, info(0, 0, 1), info(0, 32, 1)), `name "a" occurs twice`},
		"overlap":          {build(2, 68, info(0, 0, 9), bytes("b", uint32(1), uint64(1), uint32(0), uint64(32))), `"a" and "b" overlap`},
	} {
		_, _, _, err := load(file.Memory(c.data))
		require.ErrorContains(t, err, c.fact, name)
	}
}

func TestSelectedTensors(t *testing.T) {
	source := file.Memory(sample())
	budget := source.Budget("load")
	defer budget.Close()
	f, err := Open("load", source, budget)
	require.NoError(t, err)
	names, tensors, kinds, err := f.Select([]string{"q"}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"q", "Q4_0"}, append(names, kinds...))
	release(tensors)
	_, _, _, err = f.Select([]string{"b"}, false)
	require.ErrorContains(t, err, `no tensor "b"`)
}

func TestTensorsOfUnknownTypesDoNotHideOthers(t *testing.T) {
	unknown := bytes("a", uint32(1), []uint64{1}, uint32(4), uint64(0))
	source := file.Memory(build(2, 68, unknown, bytes("b", uint32(1), []uint64{2}, uint32(0), uint64(32))))
	budget := source.Budget("load")
	defer budget.Close()
	f, err := Open("load", source, budget)
	require.NoError(t, err)
	_, tensors, kinds, err := f.Select([]string{"b"}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"F32"}, kinds)
	release(tensors)
	for _, names := range [][]string{nil, {"a"}, {"b", "a"}} {
		_, _, _, err = f.Select(names, false)
		require.ErrorContains(t, err, `tensor "a" has type 4, which is not supported; load the others by their names`)
	}
}

func TestEveryTruncationIsRejected(t *testing.T) {
	for n := range sample() {
		_, _, _, err := load(file.Memory(sample()[:n]))
		require.Error(t, err, "%d bytes", n)
	}
}

func TestFlippedBytesAreRejectedOrStayInBounds(t *testing.T) {
	before := storage.MemoryStats().Storages
	for i := range sample() {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := sample()
			damaged[i] ^= flip
			_, tensors, _, err := load(file.Memory(damaged))
			require.True(t, err != nil || len(tensors) <= 3, "byte %d", i)
			release(tensors)
		}
	}
	require.Equal(t, before, storage.MemoryStats().Storages)
}

func FuzzOpen(f *testing.F) {
	f.Add(sample())
	f.Add(build(1, 18, bytes("a", uint32(1), uint64(32), uint32(2), uint64(0))))
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			_, tensors, _, err := load(file.Memory(data))
			if err == nil {
				var total int64
				for _, x := range tensors {
					total += x.Storage().Nbytes()
				}
				require.LessOrEqual(t, total, int64(len(data)))
				release(tensors)
			}
		})
	})
}
