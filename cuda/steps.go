package cuda

import (
	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/device"
)

// steps are the launches of an operator that needs several, and their temporary memory. After the first error nothing is launched. All work
// is in one stream: later uses of the memory are ordered after these launches.
type steps struct {
	*machine
	op   string
	held []block
	err  error
}

// stepping calls f with the steps of an operator on a device, and frees their memory.
func stepping(op string, d device.Device, f func(s *steps)) error {
	return on(op, d, func(m *machine) error {
		s := &steps{machine: m, op: op}
		defer func() {
			for _, b := range s.held {
				m.give(b)
			}
		}()
		f(s)
		return s.err
	})
}

// take returns memory of n bytes until the steps have been launched.
func (s *steps) take(n int64) uintptr {
	if s.err != nil {
		return 0
	}
	b, err := s.allocate(s.op, blockSize(n))
	if err != nil {
		s.err = err
		return 0
	}
	s.held = append(s.held, b)
	return uintptr(b.at)
}

// clear zeroes n bytes.
func (s *steps) clear(at uintptr, n int64) {
	if s.err == nil {
		s.err = failed(s.op, "cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(at), 0, n, s.stream))
	}
}

// number returns an int64 in device memory, after it has waited for the launches.
func (s *steps) number(at uintptr) int64 {
	n := aligned(8)
	s.read(n, at)
	return *(*int64)(pointer(n))
}

// read copies bytes from device memory, after it has waited for the launches.
func (s *steps) read(to []byte, at uintptr) {
	if s.err == nil {
		s.err = failed(s.op, "cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(pointer(to), cu.DevicePtr(at), int64(len(to)), s.stream))
	}
	if s.err == nil {
		s.err = s.synchronize(s.op)
	}
}

// step launches an entry for n threads.
func step[T any](s *steps, entry kernels.Entry, n int64, args *T) {
	if s.err == nil && n > 0 {
		s.err = call(s.machine, s.op, entry, n, args)
	}
}
