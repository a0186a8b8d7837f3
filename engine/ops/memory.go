package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

// Usage counts live tensors, and the storages that they view.
type Usage struct{ Tensors, Storages, Bytes int64 }

// Census counts the live handles by dtype, storage handles under dtype.None. The C interface, which has the handles, sets it.
var Census = func() map[dtype.DType]Usage { return nil }

// MemoryStats reads the account of storages' bytes.
func MemoryStats() (inUse, peak, cached, limit, tensors, storages int64, err error) {
	s := storage.MemoryStats()
	for _, u := range Census() {
		tensors += u.Tensors
	}
	return s.InUse, s.Peak, s.Cached, s.Limit, tensors, s.Storages, nil
}

// MemoryStatsOf counts the live tensors of one dtype; dtype.None means handles of storages.
func MemoryStatsOf(d dtype.DType) (tensors, storages, nbytes int64, err error) {
	u := Census()[d]
	return u.Tensors, u.Storages, u.Bytes, nil
}

// MemorySummary returns the memory statistics of all devices as a table.
func MemorySummary() (string, error) {
	var b strings.Builder
	inUse, peak, cached, limit, tensors, storages, err := MemoryStats()
	bound := "none"
	if limit > 0 {
		bound = formatBytes(limit)
	}
	fmt.Fprintf(&b, "libtensor memory: %s in use, %s peak, %s cached, limit %s\n%d tensors, %d storages\n",
		formatBytes(inUse), formatBytes(peak), formatBytes(cached), bound, tensors, storages)
	fmt.Fprintf(&b, "%-12s %10s %10s %12s", "dtype", "tensors", "storages", "bytes")
	usage := Census()
	for _, d := range slices.Concat([]dtype.DType{dtype.None}, dtype.All[:]) {
		if u, ok := usage[d]; ok {
			name := d.String()
			if d == dtype.None {
				name = "untyped"
			}
			fmt.Fprintf(&b, "\n%-12s %10d %10d %12s", name, u.Tensors, u.Storages, formatBytes(u.Bytes))
		}
	}
	return b.String(), err
}

// formatBytes returns a number of bytes with its unit.
func formatBytes(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes), 0
	for value >= 1024 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[unit-1])
}

// ResetPeakMemoryStats sets the peak to the bytes in use.
func ResetPeakMemoryStats() error {
	storage.ResetPeak()
	return nil
}

// EmptyCache returns cached bytes back to the system.
func EmptyCache() error {
	storage.EmptyCache()
	return nil
}

// SetMemoryLimit bounds the bytes in use.
func SetMemoryLimit(nbytes int64) error {
	if nbytes < 0 {
		return status.Valuef("set_memory_limit: %d bytes; expected 0 for no limit, or more", nbytes)
	}
	storage.SetLimit(nbytes)
	return nil
}

// FailAllocation makes a later allocation fail.
func FailAllocation(countdown int64) error {
	if countdown < 0 {
		return status.Valuef("fail_allocation: countdown must not be negative, got %d", countdown)
	}
	storage.FailAfter(countdown)
	return nil
}
