package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
)

// updateParameters updates parameters, one launch for each, with a thread for each element.
func updateParameters(op string, w backend.Updating) error {
	for i, row := range w.Rows {
		part := w.Parts[i]
		part.N = row[0].Numel()
		for k, t := range row {
			if t != nil {
				part.Tensors[k] = uintptr(t.Data())
			}
		}
		err := withLaunches(op, row[0].Device(), func(s *launchSequence) { launchStep(s, kernels.Of("update", row[0].DType()), part.N, &part) })
		if err != nil {
			return err
		}
	}
	return nil
}
