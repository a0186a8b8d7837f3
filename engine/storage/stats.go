package storage

import (
	"os"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/status"
)

// LimitVariable is the environment variable that sets the memory limit at the first call: bytes, or a number
// with K, M, G or T for powers of 1024.
const LimitVariable = "LIBTENSOR_MEMORY_LIMIT"

// Stats is a moment's account of the bytes that storages hold.
type Stats struct {
	InUse    int64 // bytes of live storages, without mapped files and other libraries' memory
	Peak     int64 // highest InUse since the start or ResetPeak
	Cached   int64 // bytes kept for reuse
	Limit    int64 // bound on InUse, 0 for none
	Storages int64 // live storages with bytes
}

// MemoryStats reads the account.
func MemoryStats() Stats {
	s := Stats{InUse: memory.inUse.Load(), Peak: memory.peak.Load(), Cached: memory.cached.Load(), Limit: memory.limit.Load(),
		Storages: memory.blocks.Load()}
	for _, p := range memory.parked {
		storages, bytes := p.Held()
		s.Storages -= storages
		s.Cached += bytes
	}
	return s
}

// ResetPeak sets Peak to InUse.
func ResetPeak() { memory.peak.Store(memory.inUse.Load()) }

// SetLimit bounds InUse: allocations beyond it fail with a Memory error. 0 takes the bound away.
func SetLimit(bytes int64) {
	badLimit = ""
	memory.limit.Store(bytes)
}

// FailAfter makes the n-th allocation or view from now on fail, once; 0 makes none fail.
func FailAfter(n int64) { memory.failing.Store(n) }

// CheckView returns an error when it is the turn of a view, which op makes, to fail.
func CheckView(op string) error {
	if isMadeToFail() {
		return status.Memoryf("%s: a view was made to fail", op)
	}
	return nil
}

// isMadeToFail reports whether tests made this allocation fail.
func isMadeToFail() bool { return memory.failing.Load() > 0 && memory.failing.Add(-1) == 0 }

// Reserve counts memory outside of storages as in use, such as that of a file's directory while it is read: the limit holds for it.
func Reserve(op string, bytes int64) error {
	err := countInUse(op, bytes)
	if err == nil {
		raisePeak()
	}
	return err
}

// Unreserve undoes Reserve.
func Unreserve(bytes int64) { memory.inUse.Add(-bytes) }

// badLimit is an invalid value of LimitVariable. Every allocation then fails with that error: a program that requests a limit must not run
// without one.
var badLimit string

func init() {
	text := os.Getenv(LimitVariable)
	if text == "" {
		return
	}
	bytes, ok := parseBytes(text)
	if !ok {
		badLimit, bytes = text, 1
	}
	memory.limit.Store(bytes)
}

func parseBytes(text string) (int64, bool) {
	digits, shift := text, 0
	if at := strings.IndexAny(strings.ToUpper(text), "KMGT"); at >= 0 && at == len(text)-1 {
		digits = text[:at]
		shift = 10 * (1 + strings.IndexByte("KMGT", strings.ToUpper(text)[at]))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n << shift, err == nil && n >= 0 && n <= 1<<62>>shift
}

// limitError returns the error of an allocation that would exceed the memory limit.
func limitError(op string, size, limit, inUse int64) error {
	if badLimit != "" {
		return status.Memoryf("%s: the environment variable %s is '%s'; expected bytes, such as 1000000, 512M or 4G", op, LimitVariable, badLimit)
	}
	return status.Memoryf("%s: allocating %d bytes would exceed the memory limit of %d bytes (%d in use)", op, size, limit, inUse)
}
