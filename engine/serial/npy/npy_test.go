package npy

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
	"github.com/libtensor/libtensor/engine/tensor"
)

func source(t testing.TB, name string) *file.Source {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return file.Memory(data)
}

// build is a file of a header text and n bytes.
func build(header string, n int) *file.Source {
	data := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(header)))
	return file.Memory(append(append(data, header...), make([]byte, n)...))
}

func image(t testing.TB, x *tensor.Tensor) []byte {
	i, err := New("save", x)
	require.NoError(t, err)
	defer i.Release()
	data := make(file.Buffer, i.Size)
	require.NoError(t, i.Write(data))
	return data
}

func TestFilesWrittenByNumPy(t *testing.T) {
	for name, strides := range map[string][]int64{"c.npy": {3, 1}, "fortran.npy": {1, 2}, "big.npy": {3, 1}} {
		x, err := Load("load", source(t, name), false)
		require.NoError(t, err, name)
		require.Equal(t, []int64{2, 3}, x.Sizes(), name)
		require.Equal(t, strides, x.Strides(), name)
		for i := range int64(6) {
			require.Equal(t, float64(i), x.At([]int64{i / 3, i % 3}).Float(), name)
		}
		x.Release()
	}
	x, err := Load("load", source(t, "scalar.npy"), false)
	require.NoError(t, err)
	require.Equal(t, 2.5, x.Item().F)
	x.Release()
	for name, fact := range map[string]string{"object.npy": "Python objects, which are never loaded", "record.npy": "array of records"} {
		_, err := Load("load", source(t, name), false)
		require.ErrorContains(t, err, fact)
	}
	for _, name := range []string{"plain.npz", "deflated.npz"} {
		names, tensors, err := LoadArchive("load", source(t, name))
		require.NoError(t, err)
		require.Equal(t, []string{"x", "y"}, names)
		require.Equal(t, dtype.Int64, tensors[map[string]int{"plain.npz": 0, "deflated.npz": 1}[name]].DType())
		for _, x := range tensors {
			x.Release()
		}
	}
}

func TestSavedFilesAreNumPys(t *testing.T) {
	want, err := os.ReadFile("testdata/c.npy")
	require.NoError(t, err)
	x, err := Load("load", file.Memory(want), false)
	require.NoError(t, err)
	defer x.Release()
	require.Equal(t, want, image(t, x))
	fortran, err := Load("load", source(t, "fortran.npy"), false)
	require.NoError(t, err)
	defer fortran.Release()
	require.Equal(t, want, image(t, fortran), "elements are written in row-major order")
	half, err := tensor.Empty("test", []int64{1}, dtype.BFloat16, device.Host)
	require.NoError(t, err)
	_, err = New("save", half)
	require.ErrorContains(t, err, "bfloat16, which NumPy does not have")
}

func TestInvalidFiles(t *testing.T) {
	for header, fact := range map[string]string{
		`{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }`:                     "does not match",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }`: "whose size overflows",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }`:                    "a size is expected",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }`:  "a size is expected",
		`{'descr': '<f4', 'fortran_order': False}`:                                      "must have the keys",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}`:               `unknown key "x"`,
		`{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}`:       "occurs twice",
		`{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}`:                           "True or False",
		`{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,)}`:            "a string is expected",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} + 1`:                   "nothing after them",
		`{'descr': '<u3', 'fortran_order': False, 'shape': (2,)}`:                       `dtype "<u3"`,
		`{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}`:                        `dtype "f4"`,
		`{'descr': '<V2', 'fortran_order': False, 'shape': (4,)}`:                       `dtype "<V2"`,
		`[]`: "does not start with {",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (2`:                                "a comma is expected",
		`{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0, 4294967296, 4294967296), }`: "does not match",
	} {
		_, err := Load("load", build(header, 8), false)
		require.ErrorContains(t, err, fact, header)
	}
	_, err := Load("load", file.Memory([]byte("\x93NUMPY\x09\x00\x00\x00")), false)
	require.ErrorContains(t, err, "version 9")
	_, err = Load("load", file.Memory([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff")), false)
	require.ErrorContains(t, err, "the maximum of 1048576")
	_, err = Load("load", file.Memory([]byte("PK")), false)
	require.ErrorContains(t, err, "does not begin")
}

func TestEveryTruncationIsRejected(t *testing.T) {
	for _, name := range []string{"c.npy", "plain.npz", "deflated.npz"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		for n := range data {
			if filepath.Ext(name) == ".npy" {
				_, err = Load("load", file.Memory(data[:n]), false)
			} else {
				_, _, err = LoadArchive("load", file.Memory(data[:n]))
			}
			require.Error(t, err, "%d of %d bytes of %s", n, len(data), name)
		}
	}
}

func TestFlippedBytesAreRejectedOrStayInBounds(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "c.npy"))
	require.NoError(t, err)
	for i := range data {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := append([]byte{}, data...)
			damaged[i] ^= flip
			x, err := Load("load", file.Memory(damaged), false)
			if err == nil {
				require.Equal(t, int64(24), x.Storage().Nbytes(), "byte %d", i)
				x.Release()
			}
		}
	}
}

func TestNoFlippedByteOfAnArchivePassesForData(t *testing.T) {
	for _, name := range []string{"plain.npz", "deflated.npz"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		keys, want, err := LoadArchive("load", file.Memory(data))
		require.NoError(t, err)
		for i := range data {
			damaged := append([]byte{}, data...)
			damaged[i] ^= 0x40
			names, tensors, err := LoadArchive("load", file.Memory(damaged))
			if err != nil {
				continue
			}
			require.Equal(t, keys, names, "byte %d of %s", i, name)
			for k, x := range tensors {
				require.Equal(t, want[k].Storage().Bytes(), x.Storage().Bytes(), "byte %d of %s", i, name)
				x.Release()
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, name := range []string{"c.npy", "fortran.npy", "big.npy", "scalar.npy", "object.npy", "record.npy"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			x, err := Load("load", file.Memory(data), false)
			if err == nil {
				require.LessOrEqual(t, x.Storage().Nbytes(), int64(len(data)))
				length, err := Length("load", file.Memory(data))
				require.NoError(t, err)
				require.Equal(t, int64(len(data)), length)
				x.Release()
			}
		})
	})
}

// FuzzHeader looks for headers that crash the parser, or that the two ways to read them take differently.
func FuzzHeader(f *testing.F) {
	for _, text := range []string{"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
		`{"shape": (3L,), "fortran_order": True, "descr": ">c16"}`, "{'descr': [('a', '<f4')]}"} {
		f.Add(text, byte(1))
		f.Add(text, byte(2))
	}
	f.Fuzz(func(t *testing.T, text string, version byte) {
		data := binary.LittleEndian.AppendUint16([]byte(magic+string(rune(version&3))+"\x00"), uint16(len(text)))
		if version&3 > 1 {
			data = append(data, 0, 0)
		}
		data = append(data, text...)
		filetest.Cost(t, len(data), func() {
			length, err := Length("load", file.Memory(data))
			if err == nil && length < 1<<20 && length >= int64(len(data)) {
				x, err := Load("load", file.Memory(append(data, make([]byte, length-int64(len(data)))...)), false)
				if err == nil {
					x.Release()
				}
			}
		})
	})
}

func FuzzLoadArchive(f *testing.F) {
	for _, name := range []string{"plain.npz", "deflated.npz"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			_, tensors, _ := LoadArchive("load", file.Memory(data))
			for _, x := range tensors {
				x.Release()
			}
		})
	})
}
