package file

import (
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

const (
	// costPerByte and costAtLeast bound the memory for reading a file, without its tensors' bytes. Pickles of empty containers come close to
	// the first.
	costPerByte = 512
	costAtLeast = 4 << 20
	// reserveBytes is how much is reserved at a time.
	reserveBytes = 1 << 16
)

// Budget limits the memory for reading a file, without the bytes of its tensors, which the allocator counts: the directory, the pickle, the
// structure, and the objects of the calling language. It is a multiple of the file's size, and counts as memory in use until it is closed,
// so that the memory limit includes it.
type Budget struct {
	op                     string
	size, spent, allowance int64
	reserved               int64
}

// Budget is what reading the source may cost.
func (s *Source) Budget(op string) *Budget { return s.BudgetOf(op, costPerByte) }

// BudgetOf is a budget of a number of bytes for each byte of the source.
func (s *Source) BudgetOf(op string, perByte int64) *Budget {
	return &Budget{op: op, size: s.Size, allowance: costAtLeast + perByte*min(s.Size, 1<<50)}
}

// Spend charges n bytes to the budget. Call it before the allocation.
func (b *Budget) Spend(n int64) error {
	if n > b.allowance-b.spent {
		return status.Runtimef("%s: the file expands too much: its %d bytes require more than %d bytes of memory", b.op, b.size, b.allowance)
	}
	b.spent += n
	if b.spent <= b.reserved {
		return nil
	}
	more := (b.spent - b.reserved + reserveBytes - 1) &^ (reserveBytes - 1)
	if err := storage.Reserve(b.op, more); err != nil {
		return err
	}
	b.reserved += more
	return nil
}

// Close returns the reserved memory.
func (b *Budget) Close() {
	storage.Unreserve(b.reserved)
	b.reserved = 0
}
