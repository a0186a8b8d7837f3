package serial

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/file/filetest"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

func arange(t testing.TB, n int64) *tensor.Tensor {
	made, err := tensor.Empty("test", []int64{n}, dtype.Float32, device.Host)
	require.NoError(t, err)
	for i := range n {
		binary.LittleEndian.PutUint32(made.Storage().Bytes()[4*i:], uint32(i))
	}
	return made
}

// view is part of a tensor.
func view(t testing.TB, of *tensor.Tensor, sizes, strides []int64, offset int64) *tensor.Tensor {
	v, err := of.View("test", sizes, strides, offset)
	require.NoError(t, err)
	return v
}

func image(t testing.TB, structure string, compact bool, tensors ...*tensor.Tensor) []byte {
	i, err := Save("save", structure, tensors, compact)
	require.NoError(t, err)
	data := make(file.Buffer, i.Size())
	require.NoError(t, i.Write(data))
	return data
}

func release(tensors []*tensor.Tensor) {
	for _, t := range tensors {
		t.Release()
	}
}

func testFile(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func TestStructuresComeBack(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `1`, `-5`, `{"int": "-9223372036854775808"}`, `{"int": "1180591620717411303424"}`, `{"int": "-1180591620717411303424"}`,
		`2.5`, `-0.0`, `1e+300`,
		`{"float": "nan"}`, `{"float": "-inf"}`, `"é\u0000\n"`, `[]`, `[1, [2, [3]]]`, `{"tuple": []}`, `{"tuple": [1, 2, 3, 4]}`, `{"set": [1]}`,
		`{"size": [2, 3]}`,
		`{"dict": []}`, `{"dict": [["a", 1], [2, null], [{"tuple": [1]}, "x"]]}`, `{"ordered_dict": [["a", 1]]}`,
		`{"ordered_dict": [], "state": {"dict": [["x", 1]]}}`,
		`{"counter": [["a", 1]]}`, `{"complex": [1.5, -2.0]}`, `{"bytes": "AP+A"}`, `{"bytearray": ""}`, `{"dtype": "bfloat16"}`,
		`{"device": "cuda:1"}`, `{"layout": "sparse_csr"}`,
		`[{"def": 0, "value": [1]}, {"ref": 0}]`, `{"text": "7aCAeA=="}`, `{"dict": [[{"text": "7b+/"}, "é"]]}`,
	} {
		found, tensors, err := Load("load", file.Memory(image(t, text, false)), "", false)
		require.NoError(t, err, text)
		require.Equal(t, text, found)
		require.Empty(t, tensors)
	}
}

func TestSharedStoragesStayShared(t *testing.T) {
	base := arange(t, 12)
	defer base.Release()
	part := view(t, base, []int64{2, 2}, []int64{4, 2}, 3)
	defer part.Release()
	bytes, err := tensor.New("test", base.Storage(), dtype.Int16, []int64{3}, []int64{1}, 7)
	require.NoError(t, err)
	defer bytes.Release()
	text, found, err := Load("load", file.Memory(image(t, `[{"tensor": 0}, {"tensor": 1}, {"tensor": 0}, {"storage": 0}, {"tensor": 2}]`,
		false, base, part, bytes)), "", false)
	require.NoError(t, err)
	defer release(found)
	require.Equal(t, `[{"def": 0, "value": {"tensor": 0}}, {"tensor": 1}, {"ref": 0}, {"storage": 2}, {"tensor": 3}]`, text)
	for i, like := range []*tensor.Tensor{base, part, nil, bytes} {
		require.Same(t, found[0].Storage(), found[i].Storage())
		if like != nil {
			require.Equal(t, []any{like.DType(), like.Sizes(), like.Strides(), like.Offset()},
				[]any{found[i].DType(), found[i].Sizes(), found[i].Strides(), found[i].Offset()})
		}
	}
	require.Equal(t, base.Storage().Bytes(), found[0].Storage().Bytes())
}

func TestAttributesComeBack(t *testing.T) {
	base := arange(t, 4)
	defer base.Release()
	part := view(t, base, []int64{2}, []int64{1}, 1)
	defer part.Release()
	saved := `[{"tensor": 0, "state": {"dict": [["next", {"tensor": 1, "state": {"dict": [["deep", [1]]]}}]]}}, {"tensor": 1}, {"tensor": 0}]`
	text, found, err := Load("load", file.Memory(image(t, saved, false, base, part)), "", false)
	require.NoError(t, err)
	defer release(found)
	require.Equal(t, `[{"def": 0, "value": {"tensor": 0, "state": {"dict": [["next", {"def": 1, "value": {"tensor": 1, "state": {"dict": [["deep", [1]]]}}}]]}}},`+
		` {"ref": 1}, {"ref": 0}]`, text)
	require.Same(t, found[0].Storage(), found[1].Storage())
}

func TestParametersComeBack(t *testing.T) {
	base := arange(t, 4)
	defer base.Release()
	saved := `[{"tensor": 0, "parameter": true}, {"tensor": 1, "parameter": false, "state": {"dict": [["a", 1]]}}]`
	text, found, err := Load("load", file.Memory(image(t, saved, false, base, base)), "", false)
	require.NoError(t, err)
	defer release(found)
	require.Equal(t, saved, text)
}

func TestCompactSavesReachableElements(t *testing.T) {
	base := arange(t, 100000)
	defer base.Release()
	a, b := view(t, base, []int64{3}, []int64{2}, 1000), view(t, base, []int64{2}, []int64{1}, 1003)
	defer a.Release()
	defer b.Release()
	data := image(t, `[{"tensor": 0}, {"tensor": 1}]`, true, a, b)
	require.Less(t, len(data), 2000)
	_, found, err := Load("load", file.Memory(data), "", false)
	require.NoError(t, err)
	defer release(found)
	require.Same(t, found[0].Storage(), found[1].Storage())
	require.Equal(t, uint32(1004), binary.LittleEndian.Uint32(found[0].Storage().Bytes()[4*(found[0].Offset()+4):]))
	require.Equal(t, uint32(1003), binary.LittleEndian.Uint32(found[1].Storage().Bytes()[4*found[1].Offset():]))
	require.Greater(t, len(image(t, `[{"tensor": 0}, {"storage": 1}]`, true, a, b)), 400000)
}

func TestPyTorchsFile(t *testing.T) {
	text, tensors, err := Load("load", file.Memory(testFile(t, "torch.pt")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	for _, part := range []string{
		`["list", [1, -2, 2.5, {"float": "inf"}, true, null, "s", {"bytes": "AP8="}, {"complex": [3.0, 4.0]}, {"int": "1180591620717411303424"}]]`,
		`["tuple", {"tuple": [1, {"tuple": [2]}]}]`, `["size", {"size": [2, 3]}]`, `["dtype", {"dtype": "float32"}]`,
		`["device", {"device": "cpu"}]`,
		`["layout", {"layout": "strided"}]`, `"state": {"dict": [["_metadata", {"dict": [["version", 1]]}]]}`, `["set", {"set": [7]}]`,
		`["bytearray", {"bytearray": "eHk="}]`,
		`["storage", {"storage": `, `["typed", {"typed_storage": `,
	} {
		require.Contains(t, text, part)
	}
	require.Same(t, tensors[0].Storage(), tensors[1].Storage())
	require.Equal(t, []int64{3, 2}, tensors[1].Sizes())
	require.Equal(t, []int64{1, 3}, tensors[1].Strides())
	require.Equal(t, 5.0, tensors[0].At([]int64{1, 2}).F)
	// Saved again and loaded again it is the same.
	again, found, err := Load("load", file.Memory(image(t, text, false, tensors...)), "", false)
	require.NoError(t, err)
	defer release(found)
	require.Equal(t, text, again)
	for i, like := range tensors {
		require.Equal(t, []any{like.DType(), like.Sizes(), like.Strides(), like.Offset(), like.Storage().Bytes()},
			[]any{found[i].DType(), found[i].Sizes(), found[i].Strides(), found[i].Offset(), found[i].Storage().Bytes()})
	}
}

func TestPyTorchsUnsignedDTypes(t *testing.T) {
	names, tensors, err := LoadDict("load", file.Memory(testFile(t, "torch_unsigned.pt")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	for i, d := range []dtype.DType{dtype.Uint16, dtype.Uint32, dtype.Uint64} {
		_, most := d.IntegerRange()
		require.Equal(t, []any{d.String(), d, []int64{2, 2}, []int64{1, 2}},
			[]any{names[i], tensors[i].DType(), tensors[i].Sizes(), tensors[i].Strides()})
		require.Equal(t, dtype.UintScalar(most), tensors[i].At([]int64{1, 0}))
	}
}

func TestRejectedFiles(t *testing.T) {
	for name, fact := range map[string]string{
		"torch_code.pt": "posix.system", "torch_numpy.pt": "numpy",
	} {
		_, _, err := Load("load", file.Memory(testFile(t, name)), "", false)
		require.ErrorContains(t, err, fact, name)
	}
	_, _, err := LoadDict("load_dict", file.Memory(image(t, `[1]`, false)), "", false)
	require.ErrorContains(t, err, "a list of 1 items, not a dict of tensors")
	_, _, err = LoadDict("load_dict", file.Memory(image(t, `{"dict": [[{"text": "7aCA"}, {"tensor": 0}]]}`, false, arange(t, 1))), "", false)
	require.ErrorContains(t, err, `not a UTF-8 string but the string "\xed\xa0\x80"`)
}

// pack makes an archive of a pickle and one storage of 8 bytes.
func pack(t testing.TB, pickled string) *file.Source {
	plan, err := archive.New("save", []archive.Record{{Name: "a/data.pkl", Data: []byte(pickled)}, {Name: "a/data/0", Data: make([]byte, 8)}})
	require.NoError(t, err)
	data := make(file.Buffer, plan.Size)
	require.NoError(t, plan.Write(data))
	return file.Memory(data)
}

func TestHostilePickles(t *testing.T) {
	storage := "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ"
	rebuild := func(storage, rest string) string {
		return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + rest + "\x89ccollections\nOrderedDict\n)RtR."
	}
	rebuilt := func(state string) string {
		return "\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n(" + storage +
			"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)Rt" + state + "tR."
	}
	for name, c := range map[string]struct{ pickled, fact string }{
		"other name":       {"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "os.system, which is not allowed"},
		"stack name":       {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system, which is not allowed"},
		"class as a value": {"\x80\x02ctorch\nFloatStorage\n.", "torch.FloatStorage as a value"},
		"other opcode":     {"\x80\x02P1\n.", "opcode 0x50"},
		"no stop":          {"\x80\x02N", "1 more bytes are expected"},
		"long string":      {"\x80\x02X\xff\xff\xff\xffab.", "4294967295 more bytes are expected, and 3 are left"},
		"missing memo":     {"\x80\x02h\x05.", "memo entry 5 does not exist"},
		"huge memo number": {"\x80\x02Nr\xff\xff\xff\xff.", ""},
		"contains itself":  {"\x80\x02]q\x00h\x00a.", "contains itself"},
		"deep":             {"\x80\x02" + strings.Repeat("]", 100000) + strings.Repeat("a", 99999) + ".", "deep"},
		"deep parameters": {"\x80\x02ctorch._utils\n_rebuild_parameter\nq\x00" + strings.Repeat("h\x00", 1000) + ")" + strings.Repeat("\x85R",
			1000) + ".", "damaged"},
		"text": {"\x80\x02X\x02\x00\x00\x00\xed\xa0.", "not UTF-8"},
		"subclass": {"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nSize\n)}tR.",
			"a tensor has a tuple of 4 items"},
		"no tensor's maker": {"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ccollections\nOrderedDict\nctorch\nTensor\n)}tR.",
			"a tensor has a tuple of 4 items"},
		"attributes":         {rebuilt("]"), "a tensor's attributes"},
		"number's attribute": {rebuilt("}K\x01K\x02s"), "a tensor's attributes"},
		"class of a tensor":  {"\x80\x02ctorch\nTensor\n.", "torch.Tensor as a value"},
		"beyond":             {rebuild(storage, "K\x00K\x03\x85K\x01\x85"), "need a storage of 12 bytes, but it has 8"},
		"offset":             {rebuild(storage, "K\x01K\x02\x85K\x01\x85"), "need a storage of 12 bytes"},
		"negative":           {rebuild(storage, "J\xff\xff\xff\xffK\x01\x85K\x01\x85"), "offset -1"},
		"negative stride":    {rebuild(storage, "K\x01K\x02\x85J\xff\xff\xff\xff\x85"), "negative"},
		"overflow": {rebuild(storage, "K\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"),
			"address more elements than a 64-bit integer can represent"},
		"missing storage": {rebuild(strings.Replace(storage, "0X\x03", "1X\x03", 1), "K\x00K\x02\x85K\x01\x85"), `no record for storage "1"`},
		"storage size": {rebuild(strings.Replace(storage, "K\x02t", "K\x04t", 1), "K\x00K\x02\x85K\x01\x85"),
			"8 bytes, but 4 elements of 4 bytes are expected"},
		"other device": {rebuild(strings.Replace(storage, "\x03\x00\x00\x00cpu", "\x06\x00\x00\x00cuda:0", 1), "K\x00K\x02\x85K\x01\x85"),
			"map_location='cpu'"},
		"no such arguments": {"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", "a tuple of 0 items"},
	} {
		before := live()
		_, _, err := Load("load", pack(t, c.pickled), "", false)
		if c.fact == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fact, name)
		}
		require.Equal(t, before, live(), name)
	}
	_, tensors, err := Load("load", pack(t, rebuild(strings.Replace(storage, "\x03\x00\x00\x00cpu", "\x06\x00\x00\x00cuda:0", 1),
		"K\x00K\x02\x85K\x01\x85")), "cuda:0=cpu", false)
	require.NoError(t, err)
	release(tensors)
}

// live is the number of storages that hold bytes.
func live() int64 { return storage.MemoryStats().Storages }

func TestAmplificationIsRejected(t *testing.T) {
	// A list that holds one list twice, which holds one twice, ...: 2^60 items when written out.
	pickled := "\x80\x02]q\x00"
	for i := range 60 {
		pickled += fmt.Sprintf("](h%ch%ceq%c", i, i, i+1)
	}
	text, _, err := Load("load", pack(t, pickled+"."), "", false)
	require.NoError(t, err)
	require.Less(t, len(text), 10000)
	short := "\x80\x02](X\x10\x00\x00\x00" + strings.Repeat("\x01", 16) + "q\x00" + strings.Repeat("h\x00", 100000) + "e."
	_, _, err = Load("load", pack(t, short), "", false)
	require.NoError(t, err, "short strings stay within what a pickle may unfold to")
	size := "\x80\x02](ctorch\nSize\nq\x00(" + strings.Repeat("K\x01", 1000) + "tq\x01" + strings.Repeat("h\x00h\x01R", 1000) + "e."
	_, _, err = Load("load", pack(t, size), "", false)
	require.Error(t, err)
}

func TestCounters(t *testing.T) {
	text, _, err := Load("load", pack(t, "\x80\x02ccollections\nCounter\nq\x00}q\x01X\x01\x00\x00\x00aq\x02K\x02s\x85q\x03Rq\x04."), "", false)
	require.NoError(t, err)
	require.Equal(t, `{"counter": [["a", 2]]}`, text)
}

func TestEmptyBytesAsPythonPicklesThem(t *testing.T) {
	text, _, err := Load("load", pack(t, "\x80\x02c__builtin__\nbytes\nq\x00)Rq\x01."), "", false)
	require.NoError(t, err)
	require.Equal(t, `{"bytes": ""}`, text)
}

func TestOverlappingRecordsAreRejected(t *testing.T) {
	data := image(t, `{"dict": [["a", {"tensor": 0}]]}`, false, arange(t, 4))
	central := strings.Index(string(data), "PK\x01\x02")
	first := central + 46
	require.Equal(t, "archive/data.pkl", string(data[first:first+16]))
	// The second record claims the header of the first one.
	second := first + 16
	name := binary.LittleEndian.Uint16(data[second+28:])
	require.Equal(t, "archive/.format_version", string(data[second+46:second+46+int(name)]))
	binary.LittleEndian.PutUint32(data[second+42:], 0)
	_, _, err := Load("load", file.Memory(data), "", false)
	require.Error(t, err)
}

func TestEveryTruncationIsRejected(t *testing.T) {
	data := image(t, `{"dict": [["a", {"tensor": 0}], ["b", 1]]}`, false, arange(t, 4))
	before := live()
	for n := range data {
		_, _, err := Load("load", file.Memory(data[:n]), "", false)
		require.Error(t, err, "%d of %d bytes", n, len(data))
	}
	require.Equal(t, before, live())
}

func TestNoFlippedBytePassesForData(t *testing.T) {
	original := arange(t, 4)
	defer original.Release()
	data := image(t, `{"dict": [["a", {"tensor": 0}], ["b", 1]]}`, false, original)
	want, _, err := Load("load", file.Memory(data), "", false)
	require.NoError(t, err)
	before := live()
	for i := range data {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := []byte(string(data))
			damaged[i] ^= flip
			text, tensors, err := Load("load", file.Memory(damaged), "", false)
			if err != nil {
				continue
			}
			require.Equal(t, want, text, "byte %d", i)
			require.Equal(t, original.Storage().Bytes(), tensors[0].Storage().Bytes(), "byte %d", i)
			release(tensors)
		}
	}
	require.Equal(t, before, live())
}

func TestMapping(t *testing.T) {
	base := arange(t, 1000)
	defer base.Release()
	path := filepath.Join(t.TempDir(), "a.pt")
	i, err := Save("save", `{"tensor": 0}`, []*tensor.Tensor{base}, false)
	require.NoError(t, err)
	require.NoError(t, file.Create("save", path, i.Size(), true, i.Write))
	source, err := file.Open("load", path)
	require.NoError(t, err)
	_, tensors, err := Load("load", source, "", true)
	require.NoError(t, err)
	source.Close()
	defer release(tensors)
	require.Equal(t, base.Storage().Bytes(), tensors[0].Storage().Bytes())
	tensors[0].Storage().Bytes()[0] = 7
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, image(t, `{"tensor": 0}`, false, base), data, "writes to a mapped tensor stay in the process")
	_, _, err = Load("load", file.Memory(data), "", true)
	require.ErrorContains(t, err, "only a file on disk")
}

func TestMapLocations(t *testing.T) {
	data := image(t, `{"tensor": 0}`, false, arange(t, 2))
	_, tensors, err := Load("load", file.Memory(data), "meta", false)
	require.NoError(t, err)
	require.True(t, tensors[0].IsMeta())
	_, _, err = Load("load", file.Memory(data), "gpu", false)
	require.ErrorContains(t, err, `got "gpu"`)
}

func TestWrongStructures(t *testing.T) {
	for text, fact := range map[string]string{
		`[`: "not JSON", `1 2`: "extra data after its end", `{"a": 1}`: `{"a":1}`, `{"tensor": 1}`: "names tensor 1, but 1 were given",
		`{"tensor": "x"}`: "which is invalid",
		`{"ref": 0}`:      "which is invalid", `{"dtype": "float33"}`: "which is invalid", `{"dict": [[1]]}`: "which is invalid",
		`{"int": "x"}`:      "which is invalid",
		`{"device": "gpu"}`: `got "gpu"`, strings.Repeat("[", 300) + strings.Repeat("]", 300): "deep",
		`{"tuple": [], "size": []}`: "which is invalid",
		`{"text": 1}`:               "which is invalid", `{"text": "7aA="}`: "which is invalid",
		`{"storage": 0, "state": {"dict": []}}`:                                        "which is invalid",
		`{"tensor": 0, "state": [1]}`:                                                  "one dict with string keys",
		`{"tensor": 0, "state": {"dict": [[1, 2]]}}`:                                   "one dict with string keys",
		`[{"tensor": 0, "state": {"dict": []}}, {"tensor": 0, "state": {"dict": []}}]`: "one dict",
	} {
		_, err := Save("save", text, []*tensor.Tensor{arange(t, 1)}, false)
		require.ErrorContains(t, err, fact, text)
	}
}

// FuzzLoad searches for files that crash the loader or make it leak. It corrects checksums, so that the code after them is reached.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"torch.pt", "torch_code.pt", "torch_conj.pt", "torch_legacy.pt"} {
		f.Add(testFile(f, name))
	}
	f.Add(image(f, `[{"tensor": 0}, {"storage": 0}, {"int": "1180591620717411303424"}]`, false, arange(f, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			_, tensors, err := Load("load", file.Memory(data), "cpu", false)
			if err == nil {
				release(tensors)
			}
			_, tensors, err = LoadDict("load_dict", file.Memory(data), "cpu", false)
			if err == nil {
				release(tensors)
			}
		})
	})
}

// FuzzPickle is FuzzLoad for the pickle in an archive.
func FuzzPickle(f *testing.F) {
	for _, name := range []string{"torch.pt", "torch_code.pt", "torch_conj.pt"} {
		source := file.Memory(testFile(f, name))
		a, err := archive.Open("fuzz", source, source.Budget("fuzz"))
		require.NoError(f, err)
		data, err := a.Read(a.Entries[0])
		require.NoError(f, err)
		require.Equal(f, a.Entries[0].Size, int64(len(data)))
		require.NotZero(f, crc32.ChecksumIEEE(data))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, pickled []byte) {
		source := pack(t, string(pickled))
		filetest.Cost(t, int(source.Size), func() {
			text, tensors, err := Load("load", source, "cpu", false)
			if err == nil {
				_, _ = Save("save", text, tensors, false)
				release(tensors)
			}
		})
	})
}

// FuzzStructure looks for structures that crash the saver, or that change on their way through a file.
func FuzzStructure(f *testing.F) {
	for _, text := range []string{
		`[{"tensor": 0}, {"storage": 0}, {"def": 0, "value": {"tuple": [1]}}, {"ref": 0}]`,
		`{"ordered_dict": [["a", {"float": "nan"}]], "state": {"dict": []}}`,
		`{"size": [2, {"int": "9"}]}`, `{"complex": [1.0, 2.0]}`, `{"bytes": "AP8="}`, `{"device": "cuda:1"}`,
	} {
		f.Add(text)
	}
	x := arange(f, 3)
	f.Fuzz(func(t *testing.T, structure string) {
		saved, err := Save("save", structure, []*tensor.Tensor{x}, false)
		if err != nil {
			return
		}
		data := make(file.Buffer, saved.Size())
		require.NoError(t, saved.Write(data))
		text, tensors, err := Load("load", file.Memory(data), "", false)
		if err != nil {
			return // such as a size that is a string
		}
		defer release(tensors)
		again, err := Save("save", text, tensors, false)
		require.NoError(t, err)
		data = make(file.Buffer, again.Size())
		require.NoError(t, again.Write(data))
		second, found, err := Load("load", file.Memory(data), "", false)
		require.NoError(t, err)
		release(found)
		require.Equal(t, text, second)
	})
}
