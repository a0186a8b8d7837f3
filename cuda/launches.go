package cuda

import (
	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/device"
)

// launchSequence is the launches of an operator that needs several, and their temporary memory. After the first error nothing is launched.
// All work is in one stream: later uses of the memory are ordered after these launches.
type launchSequence struct {
	*deviceStream
	op          string
	temporaries []block
	err         error
}

// withLaunches calls f with the launches of an operator on a device, and frees their memory.
func withLaunches(op string, d device.Device, f func(s *launchSequence)) error {
	return withCurrentStream(op, d, func(m *deviceStream) error {
		s := &launchSequence{deviceStream: m, op: op}
		defer func() {
			for _, b := range s.temporaries {
				m.freeBlock(b)
			}
		}()
		f(s)
		return s.err
	})
}

// allocateTemporary returns memory of n bytes until the sequence has been launched.
func (s *launchSequence) allocateTemporary(n int64) uintptr {
	if s.err != nil {
		return 0
	}
	b, err := s.allocateBlock(s.op, blockSize(n))
	if err != nil {
		s.err = err
		return 0
	}
	s.temporaries = append(s.temporaries, b)
	return uintptr(b.at)
}

// zeroBytes enqueues the zeroing of n bytes in the stream of the sequence.
func (s *launchSequence) zeroBytes(at uintptr, n int64) {
	if s.err == nil {
		s.err = makeDriverError(s.op, "cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(at), 0, n, s.stream))
	}
}

// readInt64 returns an int64 in device memory, after it has waited for the launches.
func (s *launchSequence) readInt64(at uintptr) int64 {
	n := allocateAligned(8)
	s.readBytes(n, at)
	return *(*int64)(pointerTo(n))
}

// readBytes copies bytes from device memory, after it has waited for the launches.
func (s *launchSequence) readBytes(to []byte, at uintptr) {
	if s.err == nil {
		s.err = makeDriverError(s.op, "cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(pointerTo(to), cu.DevicePtr(at), int64(len(to)), s.stream))
	}
	if s.err == nil {
		s.err = s.synchronizeStream(s.op)
	}
}

// launchStep launches an entry for n threads.
func launchStep[T any](s *launchSequence, entry kernels.Entry, n int64, args *T) {
	if s.err == nil && n > 0 {
		s.err = launchEntry(s.deviceStream, s.op, entry, n, args)
	}
}
