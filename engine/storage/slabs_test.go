package storage

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
)

func TestClassesFitTheirSizes(t *testing.T) {
	last, lastSize := 0, int64(0)
	for size := int64(1); size <= largeLimit; size += 1 + size/500 {
		number, blockSize := classOf(size)
		require.GreaterOrEqual(t, blockSize, size)
		require.Zero(t, blockSize%alignment)
		require.Less(t, number, len(sizeClasses))
		if size > fineLimit {
			require.LessOrEqual(t, blockSize-size, size/perDoubled)
		} else {
			require.Less(t, blockSize-size, int64(alignment))
		}
		if number == last {
			require.True(t, lastSize == blockSize || lastSize == 0)
		} else {
			require.Equal(t, last+1, number)
			require.Greater(t, blockSize, lastSize)
		}
		last, lastSize = number, blockSize
	}
	number, blockSize := classOf(largeLimit)
	require.Equal(t, len(sizeClasses)-1, number)
	require.EqualValues(t, largeLimit, blockSize)
}

// Blocks of all sizes, taken and released in random order, are aligned and never overlap.
func TestBlocksKeepTheirBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type held struct {
		s    *Storage
		mark byte
	}
	var live []held
	check := func(h held) {
		require.Equal(t, int(h.s.Nbytes()), bytes.Count(h.s.Bytes(), []byte{h.mark}))
	}
	before := MemoryStats()
	for i := range 10000 {
		if len(live) > 200 || len(live) > 0 && random.IntN(3) == 0 {
			k := random.IntN(len(live))
			check(live[k])
			live[k].s.Release()
			live[k] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		size := int64(1) << random.IntN(18)
		s, err := New("test", size+random.Int64N(size), device.Host, i%2 == 0)
		require.NoError(t, err)
		require.Zero(t, uintptr(s.Data())%alignment)
		if i%2 == 0 {
			check(held{s, 0})
		}
		mark := byte(random.IntN(256))
		for k := range s.Bytes() {
			s.Bytes()[k] = mark
		}
		live = append(live, held{s, mark})
		if i%5000 == 0 {
			EmptyCache()
		}
	}
	for _, h := range live {
		check(h)
		h.s.Release()
	}
	require.Equal(t, before.InUse, MemoryStats().InUse)
	EmptyCache()
	for i := range sizeClasses {
		require.Empty(t, sizeClasses[i].slabs, "slabs without blocks go")
	}
	require.Zero(t, warmBytes.Load())
}

func TestPagesInsideFreeBlocksGo(t *testing.T) {
	const n, size = 64, 40000
	var all [n]*Storage
	for i := range all {
		var err error
		all[i], err = New("test", size, device.Host, false)
		require.NoError(t, err)
		all[i].Bytes()[size/2] = 1
	}
	for i, s := range all {
		if i%4 != 0 {
			s.Release()
		}
	}
	require.NotZero(t, warmBytes.Load())
	EmptyCache()
	require.Zero(t, warmBytes.Load())
	for i := 0; i < n; i += 4 {
		require.Equal(t, byte(1), all[i].Bytes()[size/2])
		all[i].Release()
	}
	EmptyCache()
}
