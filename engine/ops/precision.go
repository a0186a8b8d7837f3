package ops

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// SetFloat32MatmulPrecision allows devices to multiply factors of float32 that are rounded to fewer bits.
func SetFloat32MatmulPrecision(precision string) error {
	n := slices.Index(device.Precisions, precision)
	if n < 0 {
		return status.Runtimef("set_float32_matmul_precision: precision must be one of %[2]s, but got '%[1]s'", precision,
			strings.Join(device.Precisions, ", "))
	}
	device.SetPrecision(n)
	return nil
}

// GetFloat32MatmulPrecision returns the precision that devices may use for float32 products.
func GetFloat32MatmulPrecision() (string, error) { return device.Precisions[device.Precision()], nil }
