package safetensors

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/libtensor/libtensor/engine/cpu" // copies
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/file/filetest"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// build is a file of a header and n bytes of data.
func open(source *file.Source) (*File, error) {
	budget := source.Budget("load")
	defer budget.Close()
	return Open("load", source, budget)
}

func build(header string, n int) *file.Source {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	data = append(data, header...)
	for i := range n {
		data = append(data, byte(i))
	}
	return file.Memory(data)
}

func made(t testing.TB, d dtype.DType, sizes ...int64) *tensor.Tensor {
	m, err := tensor.Empty("test", sizes, d, device.Host)
	require.NoError(t, err)
	for i := range m.Storage().Bytes() {
		m.Storage().Bytes()[i] = byte(i)
	}
	return m
}

func load(source *file.Source) ([]string, []*tensor.Tensor, *File, error) {
	f, err := open(source)
	if err != nil {
		return nil, nil, nil, err
	}
	names, tensors, err := f.Select(nil, false)
	return names, tensors, f, err
}

func release(tensors []*tensor.Tensor) {
	for _, t := range tensors {
		t.Release()
	}
}

func image(t testing.TB, metadata string, names []string, tensors ...*tensor.Tensor) []byte {
	i, err := New("save", names, tensors, metadata)
	require.NoError(t, err)
	defer i.Release()
	data := make(file.Buffer, i.Size)
	require.NoError(t, i.Write(data))
	return data
}

func TestFilesWrittenBySafetensors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "torch.safetensors"))
	require.NoError(t, err)
	names, tensors, f, err := load(file.Memory(data))
	require.NoError(t, err)
	defer release(tensors)
	require.JSONEq(t, `{"format":"pt"}`, f.Meta)
	at := map[string]*tensor.Tensor{}
	for i, name := range names {
		at[name] = tensors[i]
	}
	require.Equal(t, []int64{2, 3}, at["a"].Sizes())
	require.Equal(t, 5.0, at["a"].At([]int64{1, 2}).F)
	require.Equal(t, dtype.BFloat16, at["half"].DType())
	require.True(t, at["flag"].At([]int64{0}).Bool())
	require.Equal(t, int64(3), at["scalar"].Item().I)
	require.Equal(t, []int64{0, 3}, at["empty"].Sizes())
	require.Equal(t, data, image(t, f.Meta, names, tensors...), "saved again, the file is the same")
}

func TestViewsAreWrittenOutInOrder(t *testing.T) {
	base := made(t, dtype.Uint8, 2, 3)
	defer base.Release()
	transposed, err := base.View("test", []int64{3, 2}, []int64{1, 3}, 0)
	require.NoError(t, err)
	defer transposed.Release()
	_, tensors, _, err := load(file.Memory(image(t, "", []string{"t"}, transposed)))
	require.NoError(t, err)
	defer release(tensors)
	require.Equal(t, []byte{0, 3, 1, 4, 2, 5}, tensors[0].Storage().Bytes())
}

func TestInvalidHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		data   int
		fact   string
	}{
		"no object":     {`[1]`, 0, "does not start with {"},
		"space before":  {` {}`, 0, "does not start with {"},
		"cut":           {`{"a":`, 0, "invalid"},
		"after its end": {`{} x`, 0, "invalid"},
		"not UTF-8":     {"{\"\xff\":1}", 0, "not UTF-8"},
		"two of a name": {`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2,
			`"a" occurs twice`},
		"two of a field": {`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1, `"dtype" occurs twice`},
		"unknown dtype":  {`{"a":{"dtype":"X8","shape":[1],"data_offsets":[0,1]}}`, 1, `unknown dtype "X8"`},
		"no shape":       {`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1, "has no shape"},
		"null":           {`{"a":{"dtype":"U8","shape":[null],"data_offsets":[0,0]}}`, 0, "as shape"},
		"fraction":       {`{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}`, 1, "as shape"},
		"negative size":  {`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1, "shape [-1]"},
		"too many bytes": {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4, "shape [2] and dtype F32"},
		"overflow":       {`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0, "does not have the 0 bytes"},
		"backwards":      {`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1, "data_offsets [1, 0]"},
		"three offsets":  {`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1, "data_offsets [0, 1, 2]"},
		"gap":            {`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2, "begins at byte 1"},
		"overlap": {`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3,
			"ends at byte 2"},
		"data left over":   {`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 2, "describes 1 bytes of data, and the file has 2"},
		"data missing":     {`{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`, 2, "describes 9 bytes of data, and the file has 2"},
		"metadata":         {`{"__metadata__":{"a":1}}`, 0, "only strings"},
		"metadata no dict": {`{"__metadata__":[]}`, 0, "__metadata__"},
		"half a byte":      {`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}`, 1, "shape [1] and dtype F4"},
	} {
		_, _, _, err := load(build(c.header, c.data))
		require.ErrorContains(t, err, c.fact, name)
	}
	_, err := open(file.Memory([]byte{1, 2}))
	require.ErrorContains(t, err, "2 bytes, too few")
	_, err = open(file.Memory([]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}")))
	require.ErrorContains(t, err, "18446744073709551615")
}

func TestDTypesThatAreNotThere(t *testing.T) {
	f, err := open(build(`{"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}}`, 4))
	require.NoError(t, err)
	require.ErrorContains(t, f.CheckDTypes(), `"a" has dtype F6_E2M3`)
	_, _, err = f.Select([]string{"a"}, false)
	require.ErrorContains(t, err, `"a" has dtype F6_E2M3`)
	names, tensors, err := f.Select(nil, false)
	require.NoError(t, err)
	defer release(tensors)
	require.Equal(t, []string{"b"}, names)
	_, _, err = f.Select([]string{"c"}, false)
	require.ErrorContains(t, err, `no tensor "c"`)
}

func TestUnsupportedValuesAreNotSaved(t *testing.T) {
	x, c := made(t, dtype.Int8, 2), made(t, dtype.Complex128, 1)
	for _, try := range []struct {
		names    []string
		tensors  []*tensor.Tensor
		metadata string
		fact     string
	}{
		{[]string{"a"}, nil, "", "1 names were given for 0 tensors"}, {[]string{"a", "a"}, []*tensor.Tensor{x, x}, "", `"a" occurs twice`},
		{[]string{"c"}, []*tensor.Tensor{c}, "", "complex128"}, {[]string{"__metadata__"}, []*tensor.Tensor{x}, "", "metadata"},
		{nil, nil, `[1]`, "not a JSON object"}, {nil, nil, `{"a":1}`, "only strings"},
	} {
		_, err := New("save", try.names, try.tensors, try.metadata)
		require.ErrorContains(t, err, try.fact)
	}
}

func TestMappedTensors(t *testing.T) {
	// b is not aligned in the file: it is read.
	path := filepath.Join(t.TempDir(), "a.safetensors")
	source := build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I16","shape":[2],"data_offsets":[1,5]}}    `, 5)
	data, err := source.Bytes("test", 0, source.Size)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	opened, err := file.Open("load", path)
	require.NoError(t, err)
	defer opened.Close()
	f, err := open(opened)
	require.NoError(t, err)
	_, tensors, err := f.Select(nil, true)
	require.NoError(t, err)
	defer release(tensors)
	require.Equal(t, int64(0x0201), tensors[1].At([]int64{0}).I)
	require.Equal(t, int64(0x0403), tensors[1].At([]int64{1}).I)
}

func TestEveryTruncationIsRejected(t *testing.T) {
	data := image(t, `{"k":"v"}`, []string{"a", "b"}, made(t, dtype.Int32, 2), made(t, dtype.Int8, 3))
	for n := range data {
		_, _, _, err := load(file.Memory(data[:n]))
		require.Error(t, err, "%d of %d bytes", n, len(data))
	}
}

func TestFlippedBytesAreRejectedOrStayInBounds(t *testing.T) {
	data := image(t, `{"k":"v"}`, []string{"a", "b"}, made(t, dtype.Int32, 2), made(t, dtype.Int8, 3))
	before := storage.MemoryStats().Storages
	for i := range data {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := append([]byte{}, data...)
			damaged[i] ^= flip
			_, tensors, _, err := load(file.Memory(damaged))
			require.True(t, err != nil || len(tensors) == 2, "byte %d", i)
			release(tensors)
		}
	}
	require.Equal(t, before, storage.MemoryStats().Storages)
}

func FuzzOpen(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "torch.safetensors"))
	require.NoError(f, err)
	f.Add(data)
	f.Add(image(f, `{"k":"v"}`, []string{"a", "b"}, made(f, dtype.Int32, 2), made(f, dtype.Int8, 3)))
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
