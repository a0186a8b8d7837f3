package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// UntypedStorage prints a storage's bytes, a line each, and a line about it. at is never called for the device "meta".
func UntypedStorage(size int64, device string, at func(i int64) dtype.Scalar) string {
	about := fmt.Sprintf("[torch.storage.UntypedStorage(device=%s) of size %d]", device, size)
	return formatLines(size, device, func(i int64) string { return formatPython(at(i)) }) + about
}

// TypedStorage prints a storage's n elements of dtype d, a line each as Python prints numbers, and a line about it with
// the legacy class of the dtype: [torch.FloatStorage of size 6]. at is never called for the device "meta".
func TypedStorage(d dtype.DType, n int64, device string, at func(i int64) dtype.Scalar) string {
	about := fmt.Sprintf("[torch.storage.TypedStorage(dtype=torch.%s, device=%s) of size %d]", d, device, n)
	if !d.IsFloat8() && !slices.Contains(withoutClass, d) && device == "cpu" {
		about = fmt.Sprintf("[torch.%sStorage of size %d]", d.ScalarType(), n)
	}
	return formatLines(n, device, func(i int64) string { return formatPython(at(i)) }) + about
}

// withoutClass are the dtypes without a legacy class, in addition to the eight-bit floats.
var withoutClass = []dtype.DType{dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Complex32, dtype.BComplex32}

func formatLines(n int64, device string, item func(i int64) string) string {
	if device == "meta" {
		return "...\n"
	}
	items := make([]string, n)
	for i := range items {
		items[i] = item(int64(i))
	}
	return " " + strings.Join(items, "\n ") + "\n"
}
