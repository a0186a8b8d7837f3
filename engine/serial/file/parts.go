package file

import (
	"hash/crc32"
	"io"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/parallel"
)

// Part is a range of a file's bytes and its address in memory.
type Part struct {
	Offset int64
	Data   []byte
}

// pieceBytes is how much is moved at a time: little enough to be summed up while it is in the processor's cache.
const pieceBytes = 1 << 20

// serialBytes is the amount up to which more threads do not pay.
const serialBytes = 4 << 20

// piece is at most pieceBytes of a part.
type piece struct {
	part  int
	begin int64
	bytes []byte
}

// Read fills the parts from r, and returns the CRC-32 of each when sums is set.
func Read(r io.ReaderAt, parts []Part, sums bool) ([]uint32, error) {
	return move(parts, sums, func(offset int64, data []byte) error {
		n, err := r.ReadAt(data, offset)
		if n == len(data) {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		return err
	})
}

// Write writes the parts to w, and returns the CRC-32 of each when sums is set. The system writes a file for one thread at a time: more of them help
// with the checksums alone.
func Write(w io.WriterAt, parts []Part, sums bool) ([]uint32, error) {
	if !sums {
		for _, p := range parts {
			if _, err := w.WriteAt(p.Data, p.Offset); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return move(parts, sums, func(offset int64, data []byte) error {
		_, err := w.WriteAt(data, offset)
		return err
	})
}

func move(parts []Part, sums bool, transfer func(offset int64, data []byte) error) ([]uint32, error) {
	var pieces []piece
	var total int64
	for i, p := range parts {
		n := int64(len(p.Data))
		total += n
		for begin := int64(0); begin < n; begin += pieceBytes {
			pieces = append(pieces, piece{i, begin, p.Data[begin:min(begin+pieceBytes, n)]})
		}
	}
	var checks []uint32
	if sums {
		checks = make([]uint32, len(pieces))
	}
	var failed atomic.Pointer[error]
	grain := int64(1)
	if total <= serialBytes {
		grain = int64(len(pieces)) + 1
	}
	parallel.For(int64(len(pieces)), grain, func(begin, end int64) {
		for i := begin; i < end && failed.Load() == nil; i++ {
			p := pieces[i]
			if err := transfer(parts[p.part].Offset+p.begin, p.bytes); err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			if sums {
				checks[i] = crc32.ChecksumIEEE(p.bytes)
			}
		}
	})
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return joined(len(parts), pieces, checks), nil
}

// joined combines the checksums of blocks to those of the parts.
func joined(parts int, pieces []piece, checks []uint32) []uint32 {
	if checks == nil {
		return nil
	}
	sums := make([]uint32, parts)
	whole := power(pieceBytes)
	for i, p := range pieces {
		shift := whole
		if len(p.bytes) < pieceBytes {
			shift = power(int64(len(p.bytes)))
		}
		sums[p.part] = multiply(shift, sums[p.part]) ^ checks[i]
	}
	return sums
}
