package cuda

import (
	"sync"

	"github.com/libtensor/libtensor/cuda/nvidia"
	"github.com/libtensor/libtensor/engine/status"
)

// needsLibrary returns an error if a library that an operator requires cannot be loaded.
func needsLibrary(op string, l *nvidia.Library) error {
	switch found, err := l.Find(); {
	case err != nil:
		return status.Runtimef("%s: %v", op, err)
	case !found:
		return status.NotImplementedf("%s: not implemented on cuda without %s, which was not found; install it, set %s to its path, or move the tensors to the cpu", op, l.Name, l.Variable)
	}
	return nil
}

// libraryHandle is a device's handle of a library, such as a cublasHandle_t. It is created at the first use.
type libraryHandle[T any] struct {
	mu    sync.Mutex
	known bool
	of    T
}

// openHandle returns a handle. Its result is invalid if s.err is set.
func openHandle[T any](s *launchSequence, h *libraryHandle[T], create func() (T, error)) (of T) {
	if s.err != nil {
		return of
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		if h.of, s.err = createObject(s, create); s.err != nil {
			return of
		}
		h.known = true
	}
	return h.of
}

// createObject creates an object of a library, which allocates memory outside of the pool: if the device has none left, the pool's free
// blocks are released.
func createObject[T any](s *launchSequence, create func() (T, error)) (T, error) {
	t, err := create()
	if nvidia.OutOfMemory(err) {
		if err := s.emptyPool(s.op); err != nil {
			return t, err
		}
		t, err = create()
	}
	return t, s.makeLibraryError(err)
}

// makeLibraryError returns the error of an operator for one of a library; nil for none.
func (s *launchSequence) makeLibraryError(err error) error {
	switch {
	case nvidia.OutOfMemory(err):
		return status.Memoryf("%s: CUDA out of memory: %v", s.op, err)
	case err != nil:
		return status.Runtimef("%s: %v", s.op, err)
	}
	return nil
}
