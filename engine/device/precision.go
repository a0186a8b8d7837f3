package device

import "sync/atomic"

// Precisions are those of products of float32 that a program may ask for, the exact one first. Devices may round factors to fewer bits,
// such as the 11 of TF32, for the others.
var Precisions = []string{"highest", "high", "medium"}

var precision atomic.Int32 // among Precisions

// SetPrecision selects Precisions[n] for float32 products on devices.
func SetPrecision(n int) { precision.Store(int32(n)) }

// Precision returns the index of the selected precision in Precisions.
func Precision() int { return int(precision.Load()) }
