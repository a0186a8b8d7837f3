package serial_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// stressTime is how long the threads work: LIBTENSOR_STRESS, a duration, or a little.
func stressTime(t *testing.T) time.Duration {
	text := os.Getenv("LIBTENSOR_STRESS")
	if text == "" {
		return time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// elements of the storage that the threads share; each holds its own index.
const elements = 1 << 12

// stress is the state that the threads share.
type stress struct {
	*testing.T
	storage *storage.Storage
	fd      int64
	folder  string
}

// Eight threads create, view, share, save, load, map and free tensors over one storage; the race detector watches.
func TestThreadsOverOneStorage(t *testing.T) {
	before := storage.MemoryStats()
	s, err := storage.New("test", 4*elements, device.Host, true)
	require.NoError(t, err)
	for i := range elements {
		binary.LittleEndian.PutUint32(s.Bytes()[4*i:], uint32(i))
	}
	require.NoError(t, s.Share("test"))
	fd, err := s.Descriptor("test")
	require.NoError(t, err)
	shared := &stress{T: t, storage: s, fd: fd, folder: t.TempDir()}
	end := time.Now().Add(stressTime(t))
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := worker; time.Now().Before(end) && !t.Failed(); i++ {
				shared.views(i)
				if i%16 == 0 {
					shared.files(worker, i)
				}
				if i%64 == 0 {
					storage.EmptyCache()
					_ = storage.MemoryStats()
				}
			}
		}()
	}
	wg.Wait()
	assert.EqualValues(t, 1, s.Refs())
	s.Release()
	after := storage.MemoryStats()
	assert.Equal(t, []int64{before.InUse, before.Storages}, []int64{after.InUse, after.Storages})
	left, err := os.ReadDir(shared.folder)
	require.NoError(t, err)
	assert.Len(t, left, 9, "a file of each thread and the common one")
}

// views makes tensors over the storage in every way there is, and frees them in another order.
func (t *stress) views(i int) {
	s := t.storage
	whole, err := tensor.New("test", s, dtype.Float32, []int64{64, 64}, []int64{64, 1}, 0)
	if !assert.NoError(t, err) {
		return
	}
	view, err := whole.View("test", []int64{8, 8}, []int64{64, 2}, int64(i%8))
	assert.NoError(t, err)
	alias := view.Alias()
	part, err := s.Slice("test", int64(i%elements), 4*elements)
	assert.NoError(t, err)
	again, err := storage.FromDescriptor("test", t.fd, 4*elements)
	assert.NoError(t, err)
	assert.Same(t, s, again)
	guest, err := tensor.FromExternal("test", s.Data(), 4*elements, dtype.Float32, []int64{elements}, []int64{1}, storage.External{}, false,
		device.Host)
	assert.NoError(t, err)
	half, err := guest.View("test", []int64{elements / 2}, []int64{2}, 0)
	assert.NoError(t, err)
	own, err := tensor.Zeros("test", []int64{int64(i % 300)}, dtype.Int16, device.Host)
	assert.NoError(t, err)
	whole.Release()
	part.Release()
	if i%2 == 0 {
		guest, half = half, guest
	}
	guest.Recycle()
	half.Recycle()
	view.Recycle()
	again.Release()
	own.Recycle()
	alias.Recycle()
}

// image returns the file of the storage's odd elements and the first few of them, with the whole storage or only the part that they cover.
func (t *stress) image(compact bool) *serial.Image {
	odd, err := tensor.New("test", t.storage, dtype.Int32, []int64{elements / 2}, []int64{2}, 1)
	assert.NoError(t, err)
	defer odd.Release()
	first, err := odd.View("test", []int64{4}, []int64{2}, 1)
	assert.NoError(t, err)
	defer first.Release()
	image, err := serial.Save("save", structure, []*tensor.Tensor{odd, first}, compact)
	assert.NoError(t, err)
	return image
}

// structure is the structure that image saves.
const structure = `[{"tensor": 0}, {"tensor": 1}]`

// files saves to a file per thread, to one that all threads replace and to memory, and loads the results.
func (t *stress) files(worker, i int) {
	for k, name := range []string{fmt.Sprintf("thread-%d", worker), "common"} {
		image := t.image(k == 1)
		path := filepath.Join(t.folder, name)
		assert.NoError(t, file.Create("save", path, image.Size(), i%3 == k, image.Write))
		source, err := file.Open("load", path)
		if assert.NoError(t, err) {
			t.load(source, i%32 == 0)
			source.Close()
		}
	}
	image := t.image(true)
	data := make(file.Buffer, image.Size())
	assert.NoError(t, image.Write(data))
	t.load(file.Memory(data), false)
}

// load checks the contents of a file that image created.
func (t *stress) load(source *file.Source, mapped bool) {
	found, tensors, err := serial.Load("load", source, "", mapped)
	if !assert.NoError(t, err) {
		return
	}
	assert.Equal(t, structure, found)
	assert.Same(t, tensors[0].Storage(), tensors[1].Storage())
	for k := range int64(elements / 2) {
		if got := *(*int32)(unsafe.Add(tensors[0].Data(), 8*k)); int64(got) != 2*k+1 {
			assert.Fail(t, "wrong element", "%d is %d", k, got)
		}
	}
	for _, loaded := range tensors {
		loaded.Release()
	}
}
