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

// chunkBytes is how much is moved at a time: little enough to be summed up while it is in the processor's cache.
const chunkBytes = 1 << 20

// serialBytes is the amount up to which more threads do not pay.
const serialBytes = 4 << 20

// chunk is at most chunkBytes of a part.
type chunk struct {
	part  int
	begin int64
	bytes []byte
}

// Read fills the parts from r, and returns the CRC-32 of each when sums is set.
func Read(r io.ReaderAt, parts []Part, sums bool) ([]uint32, error) {
	return transferParts(parts, sums, func(offset int64, data []byte) error {
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

// Write writes the parts to w, and returns the CRC-32 of each when sums is set. The system writes a file for one thread at a time: more of
// them help with the checksums alone.
func Write(w io.WriterAt, parts []Part, sums bool) ([]uint32, error) {
	if !sums {
		for _, p := range parts {
			if _, err := w.WriteAt(p.Data, p.Offset); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return transferParts(parts, sums, func(offset int64, data []byte) error {
		_, err := w.WriteAt(data, offset)
		return err
	})
}

// transferParts transfers the parts in chunks, in parallel, and returns the CRC-32 of each part when sums is set.
func transferParts(parts []Part, sums bool, transfer func(offset int64, data []byte) error) ([]uint32, error) {
	var pieces []chunk
	var total int64
	for i, p := range parts {
		n := int64(len(p.Data))
		total += n
		for begin := int64(0); begin < n; begin += chunkBytes {
			pieces = append(pieces, chunk{i, begin, p.Data[begin:min(begin+chunkBytes, n)]})
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
	return combineChecksums(len(parts), pieces, checks), nil
}

// combineChecksums combines the checksums of chunks to those of the parts.
func combineChecksums(parts int, pieces []chunk, checks []uint32) []uint32 {
	if checks == nil {
		return nil
	}
	sums := make([]uint32, parts)
	whole := powerOfX(chunkBytes)
	for i, p := range pieces {
		shift := whole
		if len(p.bytes) < chunkBytes {
			shift = powerOfX(int64(len(p.bytes)))
		}
		sums[p.part] = multiplyPolynomials(shift, sums[p.part]) ^ checks[i]
	}
	return sums
}
