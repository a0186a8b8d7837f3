package named

import (
	"slices"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Dim returns the dimension of t with a name.
func Dim(op string, t *tensor.Tensor, name string) (int64, error) {
	names := Of(t)
	if at := slices.Index(names, name); at >= 0 && name != "" {
		return int64(at), nil
	}
	return 0, status.Runtimef("%s: Name '%s' not found in Tensor%s", op, name, tensor.NamesText(names))
}
