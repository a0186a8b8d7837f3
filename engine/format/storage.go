package format

import (
	"fmt"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// UntypedStorage prints a storage's bytes, a line each, and a line about it. at is never called for the device "meta".
func UntypedStorage(size int64, device string, at func(i int64) dtype.Scalar) string {
	about := fmt.Sprintf("[torch.storage.UntypedStorage(device=%s) of size %d]", device, size)
	return lines(size, device, func(i int64) string { return python(at(i)) }) + about
}

// TypedStorage prints a storage's n elements of dtype d, a line each as Python prints numbers, and a line about it with
// the legacy class of the dtype: [torch.FloatStorage of size 6]. at is never called for the device "meta".
func TypedStorage(d dtype.DType, n int64, device string, at func(i int64) dtype.Scalar) string {
	about := fmt.Sprintf("[torch.storage.TypedStorage(dtype=torch.%s, device=%s) of size %d]", d, device, n)
	if name := legacyNames[d]; name != "" && device == "cpu" {
		about = fmt.Sprintf("[torch.%sStorage of size %d]", name, n)
	}
	return lines(n, device, func(i int64) string { return python(at(i)) }) + about
}

var legacyNames = map[dtype.DType]string{
	dtype.Bool: "Bool", dtype.Uint8: "Byte", dtype.Int8: "Char", dtype.Int16: "Short", dtype.Int32: "Int",
	dtype.Int64: "Long", dtype.Float16: "Half", dtype.BFloat16: "BFloat16", dtype.Float32: "Float",
	dtype.Float64: "Double", dtype.Complex64: "ComplexFloat", dtype.Complex128: "ComplexDouble",
	dtype.QUint8: "QUInt8", dtype.QInt8: "QInt8", dtype.QInt32: "QInt32", dtype.QUint4x2: "QUInt4x2", dtype.QUint2x4: "QUInt2x4",
}

func lines(n int64, device string, item func(i int64) string) string {
	if device == "meta" {
		return "...\n"
	}
	items := make([]string, n)
	for i := range items {
		items[i] = item(int64(i))
	}
	return " " + strings.Join(items, "\n ") + "\n"
}
