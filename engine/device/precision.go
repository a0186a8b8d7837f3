package device

import "sync/atomic"

// Precisions are the possible precisions of float32 products, the exact one first. For the others, devices may round factors to fewer bits,
// such as the 11 of TF32.
var Precisions = []string{"highest", "high", "medium"}

var precision atomic.Int32 // among Precisions

// SetPrecision selects Precisions[n] for float32 products on devices.
func SetPrecision(n int) { precision.Store(int32(n)) }

// Precision returns the index of the selected precision in Precisions.
func Precision() int { return int(precision.Load()) }
