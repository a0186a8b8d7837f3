package archive

import (
	"archive/zip"
	"bytes"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/file/filetest"
)

func pack(t testing.TB, records ...Record) file.Buffer {
	plan, err := New("save", records)
	require.NoError(t, err)
	data := make(file.Buffer, plan.Size)
	require.NoError(t, plan.Write(data))
	return data
}

func open(source *file.Source) (*Archive, error) {
	budget := source.Budget("load")
	defer budget.Close()
	return Open("load", source, budget)
}

func TestOtherReadersReadIt(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), 20000)
	data := pack(t, Record{Name: "a/b", Data: []byte("12"), More: []byte("345")}, Record{Name: "empty"}, Record{Name: "ä", Data: long})
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	want := map[string][]byte{"a/b": []byte("12345"), "empty": {}, "ä": long}
	require.Len(t, r.File, len(want))
	for _, f := range r.File {
		offset, err := f.DataOffset()
		require.NoError(t, err)
		require.Zero(t, offset%64, "records are aligned")
		c, err := f.Open()
		require.NoError(t, err)
		got, err := io.ReadAll(c)
		require.NoError(t, err, "the checksum is right")
		require.Equal(t, want[f.Name], got)
	}
	a, err := open(file.Memory(data))
	require.NoError(t, err)
	got, err := a.Read(a.Find("a/b"))
	require.NoError(t, err)
	require.Equal(t, "12345", string(got))
	require.Nil(t, a.Find("c"))
}

func TestManyRecords(t *testing.T) {
	records := make([]Record, 70000) // more than the 16-bit count of an archive's end holds
	for i := range records {
		records[i].Name = string(rune('a'+i%26)) + string(rune(0x4e00+i/26))
	}
	a, err := open(file.Memory(pack(t, records...)))
	require.NoError(t, err)
	require.Len(t, a.Entries, len(records))
}

// sparse is a file of zeros except for some byte ranges.
type sparse struct {
	size int64
	runs map[int64][]byte
}

func (s *sparse) WriteAt(p []byte, offset int64) (int, error) {
	if len(p) < 1<<16 {
		s.runs[offset] = append([]byte{}, p...)
	}
	return len(p), nil
}

func (s *sparse) ReadAt(p []byte, offset int64) (int, error) {
	clear(p)
	for at, run := range s.runs {
		if at < offset+int64(len(p)) && at+int64(len(run)) > offset {
			from := max(at, offset)
			copy(p[from-offset:], run[from-at:])
		}
	}
	return len(p), nil
}

func TestRecordsBeyond4GB(t *testing.T) {
	if testing.Short() {
		t.Skip("sums up 5 GB")
	}
	zeros := make([]byte, 1<<20)
	large := bigZeros(t, 1<<32+5)
	plan, err := New("save", []Record{{Name: "large", Data: large}, {Name: "after", Data: zeros[:3]}})
	require.NoError(t, err)
	s := &sparse{size: plan.Size, runs: map[int64][]byte{}}
	require.NoError(t, plan.Write(s))
	a, err := open(&file.Source{ReaderAt: s, Size: s.size})
	require.NoError(t, err)
	require.Equal(t, int64(1<<32+5), a.Find("large").Size)
	require.Greater(t, a.Find("after").Offset, int64(1<<32))
	_, err = a.Read(a.Find("after"))
	require.NoError(t, err)
}

func TestDeflated(t *testing.T) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create("a")
	require.NoError(t, err)
	_, err = f.Write(make([]byte, 5000))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	a, err := open(file.Memory(out.Bytes()))
	require.NoError(t, err)
	data, err := a.Read(a.Find("a"))
	require.NoError(t, err)
	require.Equal(t, make([]byte, 5000), data)
}

func TestClaimedSizesAreChecked(t *testing.T) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	_, err := w.CreateRaw(&zip.FileHeader{Name: "bomb", Method: zip.Deflate, CompressedSize64: 0, UncompressedSize64: 1 << 40})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = open(file.Memory(out.Bytes()))
	require.ErrorContains(t, err, `record "bomb": 0 bytes cannot unpack to 1099511627776`)

	out.Reset()
	w = zip.NewWriter(&out)
	for range 2 {
		_, err = w.Create("twice")
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	_, err = open(file.Memory(out.Bytes()))
	require.ErrorContains(t, err, "two records have this name")
}

// bigZeros are zeros that take no memory: pages that were never written.
func bigZeros(t *testing.T, n int) []byte {
	data, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(data)) })
	return data
}

func zipped(t testing.TB, method uint16, contents map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range contents {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		require.NoError(t, err)
		_, err = io.WriteString(f, content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestRecordsInParts(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		data := zipped(t, method, map[string]string{"a": "0123456789"})
		a, err := open(file.Memory(data))
		require.NoError(t, err)
		e := a.Find("a")
		head, err := a.Head(e, 4)
		require.NoError(t, err)
		require.Equal(t, "0123", string(head))
		head, err = a.Head(e, 100)
		require.NoError(t, err)
		require.Equal(t, "0123456789", string(head))
		parts := [][]byte{make([]byte, 3), nil, make([]byte, 7)}
		require.NoError(t, a.ReadInto([]Target{{e, parts}}))
		require.Equal(t, "012|3456789", string(parts[0])+"|"+string(parts[2]))
		damaged := bytes.Replace(data, []byte("0123456789"), []byte("0123456780"), 1)
		if method == zip.Store {
			a, err = open(file.Memory(damaged))
			require.NoError(t, err)
			require.ErrorContains(t, a.ReadInto([]Target{{a.Find("a"), parts}}), "its checksum is")
		}
	}
}

func TestNamesThatCannotBeRead(t *testing.T) {
	for name, fact := range map[string]string{string(make([]byte, 1<<16)): "65536 bytes", "a\x00b": "NUL", "\xff": "not UTF-8"} {
		_, err := New("save", []Record{{Name: name}})
		require.ErrorContains(t, err, fact)
	}
	_, err := New("save", []Record{{Name: "a"}, {Name: "a"}})
	require.ErrorContains(t, err, `"a" occurs twice`)
}

// FuzzOpen looks for archives that crash the reader or cost more than they should.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(pack(f, Record{Name: "a", Data: []byte("12"), More: []byte("345")}, Record{Name: "b"})))
	f.Add(zipped(f, zip.Deflate, map[string]string{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b/": ""}))
	f.Add(zipped(f, zip.Store, map[string]string{"a": "0123456789"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			source := file.Memory(data)
			budget := source.Budget("load")
			defer budget.Close()
			a, err := Open("load", source, budget)
			if err != nil {
				return
			}
			var stored int64
			for _, e := range a.Entries {
				stored += e.stored
				content, err := a.Read(e)
				require.True(t, err != nil || int64(len(content)) == e.Size)
			}
			require.LessOrEqual(t, stored, source.Size)
		})
	})
}
