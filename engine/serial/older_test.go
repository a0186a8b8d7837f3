package serial

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/file/filetest"
	"github.com/libtensor/libtensor/engine/serial/pickle"
)

// header is the start of a file before version 1.6, up to its value.
const header = "\x80\x02" + legacyNumber + ".\x80\x02M\xe9\x03.\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03X\x0d\x00\x00\x00little_endianq\x02\x88u."

// legacyStorage is the persistent ID of storage "0", of two float32 elements.
const legacyStorage = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02NtQ"

// legacyTensor is the call that makes a tensor of a storage.
func legacyTensor(storage string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + "K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
}

// legacyFile is a file before version 1.6 with storage "0".
func legacyFile(value string) []byte {
	return append([]byte(header+"\x80\x02"+value+"."+"\x80\x02]X\x01\x00\x00\x000a."),
		append(binary.LittleEndian.AppendUint64(nil, 2), make([]byte, 8)...)...)
}

func TestFilesBeforeVersion16(t *testing.T) {
	names, tensors, err := LoadDict("load", file.Memory(testFile(t, "torch_legacy_dict.pt")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	require.Equal(t, []string{"a", "t", "row", "i", "h", "b", "c", "u16", "p", "e"}, names)
	require.Same(t, tensors[0].Storage(), tensors[1].Storage())
	require.Same(t, tensors[0].Storage(), tensors[2].Storage())
	require.Equal(t, []any{[]int64{3, 2}, []int64{1, 3}, int64(3)}, []any{tensors[1].Sizes(), tensors[1].Strides(), tensors[2].Offset()})
	require.Equal(t, 5.0, tensors[0].At([]int64{1, 2}).F)
	require.Equal(t, dtype.UintScalar(65535), tensors[7].At([]int64{2}))
	for i, d := range []dtype.DType{dtype.Float32, dtype.Float32, dtype.Float32, dtype.Int64, dtype.Float16, dtype.Bool, dtype.Complex64,
		dtype.Uint16} {
		require.Equal(t, d, tensors[i].DType(), names[i])
	}
	_, _, err = Load("load", file.Memory(testFile(t, "torch_legacy_dict.pt")), "", true)
	require.ErrorContains(t, err, "mmap can only be used")
}

func TestTarArchives(t *testing.T) {
	text, tensors, err := Load("load", file.Memory(testFile(t, "torch_tar.pt")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	require.Equal(t, `{"ordered_dict": [["a", {"tensor": 0}], ["row", {"tensor": 1}], ["again", {"tensor": 0}]]}`, text)
	require.Same(t, tensors[0].Storage(), tensors[1].Storage())
	require.Equal(t, 5.0, tensors[1].At([]int64{2}).F)
}

func TestTorchScriptArchives(t *testing.T) {
	names, tensors, err := LoadDict("load", file.Memory(testFile(t, "torch_script.pt")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	require.ElementsMatch(t, []string{"tied", "c", "l.weight", "l.bias", "d.k"}, names)
	for i, name := range names {
		if name == "l.bias" {
			require.InDelta(t, 0.4242801, tensors[i].At([]int64{0}).F, 1e-6)
			require.False(t, tensors[i].GradientWanted())
		}
	}
	names, constants, err := LoadDict("load", file.Memory(testFile(t, "torch_frozen.pt")), "", false)
	require.NoError(t, err)
	defer release(constants)
	require.Equal(t, []string{"constants.0", "constants.1"}, names)
}

func TestDictsOfPython2(t *testing.T) {
	pair := "](X\x01\x00\x00\x00a" + legacyTensor(legacyStorage) + "e"
	names, tensors, err := LoadDict("load", file.Memory(legacyFile("ccollections\nOrderedDict\n]("+pair+"e\x85R")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	require.Equal(t, []string{"a"}, names)
}

func TestViewsOfOlderStorages(t *testing.T) {
	view := strings.Replace(legacyStorage, "NtQ", "(X\x01\x00\x00\x00vK\x01K\x01ttQ", 1)
	part := "ctorch._utils\n_rebuild_tensor\n(" + view + "K\x00K\x01\x85K\x01\x85tR"
	_, tensors, err := Load("load", file.Memory(legacyFile("]("+legacyTensor(legacyStorage)+part+"e")), "", false)
	require.NoError(t, err)
	defer release(tensors)
	tensors[0].Storage().Bytes()[4] = 7
	require.Equal(t, byte(7), tensors[1].Storage().Bytes()[0])
	wrong := strings.Replace(part, "K\x01K\x01ttQ", "K\x01K\x02ttQ", 1)
	_, _, err = Load("load", file.Memory(legacyFile(wrong)), "", false)
	require.ErrorContains(t, err, "a view of a storage")
}

func TestHostileFilesBeforeVersion16(t *testing.T) {
	plain := string(legacyFile(legacyTensor(legacyStorage)))
	for name, c := range map[string]struct{ data, fact string }{
		"other name":   {string(legacyFile("cos\nsystem\n.")), "os.system, which is not allowed"},
		"magic number": {strings.Replace(plain, "\x20\x6a\xa8\x50\x19.", "\x20\x6a\xa8\x50\x19N\x86.", 1), "Invalid magic number"},
		"version":      {strings.Replace(plain, "M\xe9\x03.", "M\xe8\x03.", 1), "Invalid protocol version: 1000"},
		"byte order":   {strings.Replace(plain, "\x88u", "\x89u", 1), "big-endian"},
		"elements":     {strings.Replace(plain, "K\x02NtQ", "K\x03NtQ", 1), `storage "0" has 2 elements, and 3 are expected`},
		"two sizes": {string(legacyFile("](" + legacyTensor(legacyStorage) +
			legacyTensor(strings.Replace(legacyStorage, "K\x02Nt", "K\x03Nt", 1)) + "e")), "the name of a storage"},
		"unknown storage": {strings.Replace(plain, "]X\x01\x00\x00\x000a", "]X\x01\x00\x00\x001a", 1), "the list of storages"},
		"no storage":      {strings.Replace(plain, "]X\x01\x00\x00\x000a", "]", 1), `no record for storage "0"`},
		"cut":             {plain[:len(plain)-1], "2 elements of 4 bytes, and 7 bytes are left"},
		"no end":          {plain[:200], "has no end"},
	} {
		before := live()
		_, _, err := Load("load", file.Memory([]byte(c.data)), "", false)
		require.ErrorContains(t, err, c.fact, name)
		require.Equal(t, before, live(), name)
	}
}

func TestEveryTruncationOfOlderFilesIsRejected(t *testing.T) {
	for _, name := range []string{"torch_legacy_dict.pt", "torch_tar.pt", "torch_script.pt"} {
		data := testFile(t, name)
		end := len(data)
		if name == "torch_tar.pt" { // which ends with zeros
			end = strings.LastIndexByte(string(data), '.')
		}
		before := live()
		for n := range end {
			_, _, err := Load("load", file.Memory(data[:n]), "", false)
			require.Error(t, err, "%d of %d bytes of %s", n, len(data), name)
		}
		require.Equal(t, before, live())
	}
}

func TestRecordsOfArchives(t *testing.T) {
	data := image(t, `{"tensor": 0}`, false, arange(t, 4))
	names, records, err := LoadRecords("load", file.Memory(data), false)
	require.NoError(t, err)
	defer release(records)
	require.Equal(t, "archive/data.pkl", names[0])
	require.Contains(t, names, "archive/data/0")
	before := live()
	for n := range data {
		_, _, err := LoadRecords("load", file.Memory(data[:n]), false)
		require.Error(t, err)
	}
	require.Equal(t, before, live())
	_, _, err = LoadRecords("load", file.Memory(data), true)
	require.ErrorContains(t, err, "only a file on disk")
}

// FuzzLegacy is FuzzLoad for files that are no zip archives.
func FuzzLegacy(f *testing.F) {
	f.Add(testFile(f, "torch_legacy_dict.pt"))
	f.Add(testFile(f, "torch_tar.pt"))
	f.Add(legacyFile(legacyTensor(legacyStorage)))
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			if _, tensors, err := Load("load", file.Memory(data), "cpu", false); err == nil {
				release(tensors)
			}
		})
	})
}

// FuzzScript is FuzzPickle for TorchScript archives.
func FuzzScript(f *testing.F) {
	source := file.Memory(testFile(f, "torch_script.pt"))
	a, err := archive.Open("fuzz", source, source.Budget("fuzz"))
	require.NoError(f, err)
	for _, e := range a.Entries {
		if strings.HasSuffix(e.Name, "data.pkl") {
			data, err := a.Read(e)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, pickled []byte) {
		plan, err := archive.New("save", []archive.Record{
			{Name: "a/data.pkl", Data: pickled}, {Name: "a/constants.pkl", Data: pickle.Encode(&pickle.Tuple{})},
			{Name: "a/data/0", Data: make([]byte, 16)},
		})
		require.NoError(t, err)
		data := make(file.Buffer, plan.Size)
		require.NoError(t, plan.Write(data))
		filetest.Cost(t, len(data), func() {
			if _, tensors, err := Load("load", file.Memory(data), "cpu", false); err == nil {
				release(tensors)
			}
		})
	})
}
