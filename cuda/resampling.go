package cuda

import (
	"unsafe"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/resampling"
)

// resampleImages interpolates images to another size, with a thread for each element of the result. The indices and interpolation weights
// are copied to the device.
func resampleImages(op string, w backend.Resampling) error {
	to, d := w.To.Sizes(), w.To.DType()
	r := resampled{Resampling: kernelapi.Resampling{From: uintptr(w.From.Data()), To: uintptr(w.To.Data()), Lanes: 1}, count: w.To.Numel()}
	if !w.From.IsContiguous() || !w.To.IsContiguous() {
		r.Lanes = to[1]
	}
	axes := resampling.ComputeAxes(w)
	if resampling.RowsFirst(d, &axes) {
		r.AlongFirst = 1
	}
	return withLaunches(op, w.To.Device(), func(s *launchSequence) {
		for i, t := range axes {
			r.Axes[i] = kernelapi.IndexWeights{Size: t.Size, Outputs: t.Outputs, Most: t.Most, Index: uploadElements(s, t.Index),
				Counts: uploadElements(s, t.Counts), Unit: t.Unit}
			if narrow := t.NarrowWeights(d); narrow != nil {
				r.Axes[i].Weights = uploadElements(s, narrow)
			} else {
				r.Axes[i].Weights = uploadElements(s, t.Weights)
			}
		}
		launchStep(s, kernels.Of("resample", d), r.count, &r)
	})
}

// uploadElements returns the address of a copy of elements on the device, until the sequence has been launched; 0 for none.
func uploadElements[T any](s *launchSequence, elements []T) uintptr {
	if len(elements) == 0 {
		return 0
	}
	n := int64(len(elements)) * int64(unsafe.Sizeof(elements[0]))
	at := s.allocateTemporary(n)
	if s.err == nil {
		s.err = s.uploadBytes(s.op, cu.DevicePtr(at), n, unsafe.Pointer(unsafe.SliceData(elements)))
	}
	return at
}
