package random_test

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/random"
)

// The known answers that Random123 publishes for philox4x32 of 10 rounds.
func TestPhiloxReferenceValues(t *testing.T) {
	for _, c := range []struct {
		seed, block, round uint64
		want               [4]uint32
	}{
		{0, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{math.MaxUint64, math.MaxUint64, math.MaxUint64, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		assert.Equal(t, c.want, random.Block(c.seed, c.block, c.round))
		assert.Equal(t, c.want, [4]uint32(random.Blocks(c.seed, c.block, c.round, 1)))
	}
}

// Many at once are the same blocks one by one, also where the counter carries.
func TestPhiloxBlocks(t *testing.T) {
	const seed, round = 0x123456789abcdef0, 5
	for _, n := range []int{1, 7, 8, 9, 16, 17, 31, 32, 33, 100, 156} {
		for _, block := range []uint64{0, 1<<32 - 3, math.MaxUint64 - 20} {
			var want []uint32
			for i := range uint64(n) {
				want = append(want, slices.Collect(values(random.Block(seed, block+i, round)))...)
			}
			require.Equal(t, want, random.Blocks(seed, block, round, n), "%d blocks from %d", n, block)
		}
	}
}

func values(block [4]uint32) func(func(uint32) bool) { return slices.Values(block[:]) }

// drawings are fills of n elements by each distribution whose elements are drawn one by one.
func drawings(n int) map[string]fill {
	rates, chances := span(dtype.Float32, n), span(dtype.Float64, n)
	for i := range n {
		at[float32](rates)[i] = float32(i%40) / 2
		at[float64](chances)[i] = float64(i%5) / 4
	}
	return map[string]fill{
		"rand":                filled(dtype.Float32, n, rand),
		"rand float64":        filled(dtype.Float64, n, rand),
		"rand bfloat16":       filled(dtype.BFloat16, n, rand),
		"rand complex128":     filled(dtype.Complex128, n, rand),
		"uniform":             filled(dtype.Float32, n, random.Uniform{From: -3, To: 5}),
		"randn":               filled(dtype.Float32, n, randn),
		"randn float64":       filled(dtype.Float64, n, random.Normal{Mean: 1, Std: 3}),
		"randn float16":       filled(dtype.Float16, n, randn),
		"randn complex64":     filled(dtype.Complex64, n, randn),
		"randint int8":        filled(dtype.Int8, n, random.Integers{From: -100, To: 100}),
		"randint int64":       filled(dtype.Int64, n, random.Integers{From: 0, To: 1 << 40}),
		"random":              filled(dtype.Int32, n, random.AllIntegers{}),
		"random from":         filled(dtype.Int64, n, random.IntegersFrom{From: math.MinInt64}),
		"bernoulli":           filled(dtype.Bool, n, random.Bernoulli{P: 0.3}),
		"bernoulli each":      filledEach(dtype.Float32, n, random.BernoulliEach{}, chances),
		"exponential":         filled(dtype.Float32, n, random.Exponential{Lambda: 2}),
		"cauchy":              filled(dtype.Float64, n, random.Cauchy{Sigma: 1}),
		"log normal":          filled(dtype.Float64, n, random.LogNormal{Std: 1}),
		"geometric":           filled(dtype.Int64, n, random.Geometric{P: 0.1}),
		"poisson":             filledEach(dtype.Float32, n, random.Poisson{}, rates),
		"poisson of no rates": filledEach(dtype.Float32, 0, random.Poisson{}, span(dtype.Float32, 0)),
	}
}

func drawn(t *testing.T, g *random.Generator, f fill) []float64 {
	s, err := f(g)
	require.NoError(t, err)
	return read(s)
}

// digest returns a hash over all bits of the values.
func digest(values []float64) uint64 {
	hash := crc64.New(crc64.MakeTable(crc64.ECMA))
	_ = binary.Write(hash, binary.LittleEndian, values)
	return hash.Sum64()
}

func TestPhiloxDoesNotDependOnThreads(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	for name, f := range drawings(50_001) {
		parallel.SetThreads(1)
		want := drawn(t, random.New(random.Philox, 3), f)
		for _, threads := range []int{2, 3, 7} {
			parallel.SetThreads(threads)
			assert.Equal(t, digest(want), digest(drawn(t, random.New(random.Philox, 3), f)), "%s on %d threads", name, threads)
		}
	}
}

// Element i is the same in a fill of any length, and in one that begins at the offset of its words.
func TestPhiloxElementsFollowFromTheirIndex(t *testing.T) {
	const n, cut = 20_000, 8192
	whole := drawings(n)
	for _, short := range []int{1, 2, 5, 15, 16, 17, 257, 8193} {
		for name, f := range drawings(short) {
			want, got := drawn(t, random.New(random.Philox, 3), whole[name]), drawn(t, random.New(random.Philox, 3), f)
			assert.Equal(t, want[:len(got)], got, "%d of %s", short, name)
		}
	}
	for name, words := range map[string]int64{"rand": 1, "rand float64": 2, "randn": 1, "randn float64": 2, "randint int64": 2,
		"exponential": 2} {
		g := random.New(random.Philox, 3)
		want := drawn(t, g, whole[name])
		offset, err := g.Offset()
		require.NoError(t, err)
		assert.Equal(t, n*words, offset, name)
		require.NoError(t, g.SetOffset(cut*words))
		assert.Equal(t, want[cut:], drawn(t, g, drawings(n - cut)[name]), name)
	}
}

func TestPhiloxFillsFollowOneAnother(t *testing.T) {
	g := random.New(random.Philox, 3)
	seen := map[float64]bool{}
	for _, n := range []int{0, 1, 3, 31, 32, 33} {
		for _, v := range drawn(t, g, filled(dtype.Float64, n, rand)) {
			assert.False(t, seen[v], "%v was drawn before", v)
			seen[v] = true
		}
		at, err := g.Offset()
		require.NoError(t, err)
		assert.Zero(t, at%32)
	}
	for _, f := range []fill{multinomial(2, false), filled(dtype.Int64, 9, random.Permutation{N: 9})} {
		before, err := g.Offset()
		require.NoError(t, err)
		drawn(t, g, f)
		after, err := g.Offset()
		require.NoError(t, err)
		assert.Greater(t, after, before)
		assert.LessOrEqual(t, after, before+12)
	}
}

// Every number of a few that are drawn together, by threads that share a generator, is one that a single thread draws.
func TestPhiloxFillsOfThreadsAreWhole(t *testing.T) {
	const workers, n = 8, 1000
	want := map[uint64]bool{}
	one := random.New(random.Philox, 1)
	for range workers {
		want[digest(drawn(t, one, filled(dtype.Float32, n, randn)))] = true
	}
	g := random.New(random.Philox, 1)
	var group sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		group.Go(func() {
			s := span(dtype.Float32, n)
			assert.NoError(t, draw(g, s, randn))
			mu.Lock()
			defer mu.Unlock()
			assert.True(t, want[digest(read(s))])
			delete(want, digest(read(s)))
		})
	}
	group.Wait()
	assert.Empty(t, want)
}

func TestPhiloxStates(t *testing.T) {
	g := random.New(random.Philox, 1<<63+7)
	drawn(t, g, filled(dtype.Float32, 40, rand))
	state := g.State()
	assert.Equal(t, []byte{7, 0, 0, 0, 0, 0, 0, 128, 64, 0, 0, 0, 0, 0, 0, 0}, state)
	clone, err := g.Clone()
	require.NoError(t, err)
	other := random.New(random.Philox, 0)
	require.NoError(t, other.SetState(state))
	want := drawn(t, g, filled(dtype.Float32, 40, randn))
	for _, h := range []*random.Generator{clone, other} {
		assert.Equal(t, random.Philox, h.Kind())
		assert.Equal(t, uint64(1<<63+7), h.InitialSeed())
		assert.Equal(t, want, drawn(t, h, filled(dtype.Float32, 40, randn)))
	}
	g.ManualSeed(g.InitialSeed())
	offset, err := g.Offset()
	require.NoError(t, err)
	assert.Zero(t, offset)

	before := g.State()
	assert.ErrorContains(t, g.SetState(random.New(random.MT19937, 1).State()), "a state of philox, 16 bytes, but found 5056")
	assert.ErrorContains(t, g.SetState([]byte{8: 1, 15: 0}), "from 0 to 2^62 that is a multiple of 4, but got 1")
	assert.ErrorContains(t, g.SetOffset(-4), "but got -4")
	assert.ErrorContains(t, draw(g, span(dtype.Float32, 1), random.Normal{Std: -1}), "std=-1")
	_, err = filledEach(dtype.Float32, 9000, random.Poisson{}, of(dtype.Float32, make([]float64, 9000)...))(g)
	require.NoError(t, err)
	require.NoError(t, g.SetState(before))
	rates := of(dtype.Float32, make([]float64, 9000)...)
	at[float32](rates)[8999] = -1
	_, err = filledEach(dtype.Float32, 9000, random.Poisson{}, rates)(g)
	assert.ErrorContains(t, err, "element 8999 is -1")
	assert.Equal(t, before, g.State(), "a rejected call draws nothing")

	twister := random.New(random.MT19937, 1)
	_, err = twister.Offset()
	assert.ErrorContains(t, err, "mt19937 generators have no offset")
	assert.ErrorContains(t, twister.SetOffset(0), "mt19937")
	assert.ErrorContains(t, twister.SetState(before), "a state of mt19937, 5056 bytes, but found 16")
}

// recorded are digests of 1000 numbers of seed 3, the same on every processor.
var recorded = map[string]uint64{
	"bernoulli each":  0x4369cfa956632063,
	"bernoulli":       0x684483aee9abbccf,
	"cauchy":          0x3c67f0026d85a91e,
	"exponential":     0x9f5bcdc11ac3730c,
	"geometric":       0x996a431396d290b8,
	"log normal":      0x5f9994d7c04b2223,
	"poisson":         0x87505fc8209fdb74,
	"rand bfloat16":   0xbec50c4cf46fb2f3,
	"rand complex128": 0x38a54f7d31d142f1,
	"rand float64":    0xb065f8afc4097126,
	"rand":            0x50373893379840a9,
	"randint int64":   0x19092fc3c065a811,
	"randint int8":    0x61a1354d2ae74af,
	"randn complex64": 0x7d2d32ee71f35891,
	"randn float16":   0x467ca9f79d6647a6,
	"randn float64":   0xf4cc2a47703a4429,
	"randn":           0x21c81a2ffddcc23a,
	"random from":     0x1fca90abe6eafd81,
	"random":          0xde4e6d3416aab376,
	"uniform":         0xb1f2703c8157f9f0,
}

func TestPhiloxTiers(t *testing.T) {
	for name, f := range drawings(1000) {
		assert.Equal(t, recorded[name], digest(drawn(t, random.New(random.Philox, 3), f)), "%q: %#x,", name,
			digest(drawn(t, random.New(random.Philox, 3), f)))
	}
	if os.Getenv("LIBTENSOR_CPU") != "" {
		return
	}
	for _, tier := range []string{"baseline", "avx2", "avx512"} {
		run := exec.Command(os.Args[0], "-test.run=^TestPhilox(Tiers|Blocks|KnownAnswers)$")
		run.Env = append(os.Environ(), "LIBTENSOR_CPU="+tier)
		text, err := run.CombinedOutput()
		assert.NoError(t, err, "%s: %s", tier, text)
	}
}

// The numbers follow from the words as documented.
func TestPhiloxConvertsWordsToNumbers(t *testing.T) {
	const n, seed = 3000, 11
	word := func(i int) uint32 { return random.Block(seed, uint64(i/4), 0)[i%4] }
	single := func(i int) float64 { return float64(word(i)&(1<<24-1)) * 0x1p-24 }
	double := func(i int) float64 {
		return float64((uint64(word(2*i))<<32|uint64(word(2*i+1)))&(1<<53-1)) * 0x1p-53
	}
	// Box-Muller in blocks of 16: 8 radii, then 8 angles.
	normal := func(u func(int) float64) func(int) float64 {
		return func(i int) float64 {
			radius, angle := math.Sqrt(-2*math.Log1p(-u(i&^8))), 2*math.Pi*u(i|8)
			if i&8 == 0 {
				return radius * math.Cos(angle)
			}
			return radius * math.Sin(angle)
		}
	}
	for name, c := range map[string]struct {
		f      fill
		want   func(i int) float64
		within float64
	}{
		"rand":          {filled(dtype.Float32, n, rand), single, 0},
		"rand float64":  {filled(dtype.Float64, n, rand), double, 0},
		"randint":       {filled(dtype.Int64, n, random.Integers{From: -5, To: 95}), func(i int) float64 { return float64(word(i)%100) - 5 }, 0},
		"randn float64": {filled(dtype.Float64, n, randn), normal(double), 0x1p-47},
		"randn":         {filled(dtype.Float32, n, randn), normal(single), 0x1p-20},
		"bernoulli":     {filled(dtype.Float64, n, random.Bernoulli{P: 0.25}), func(i int) float64 { return math.Trunc(1.25 - double(i)) }, 0},
		"exponential": {filled(dtype.Float64, n, random.Exponential{Lambda: 2}), func(i int) float64 { return -math.Log1p(-double(i)) / 2 },
			0x1p-51},
		"cauchy": {filled(dtype.Float64, n, random.Cauchy{Sigma: 1}), func(i int) float64 { return -1 / math.Tan(math.Pi*double(i)) },
			0x1p-40},
		"log normal": {filled(dtype.Float64, n, random.LogNormal{Std: 0.5}), func(i int) float64 { return math.Exp(normal(double)(i) / 2) },
			0x1p-49},
		"geometric": {filled(dtype.Float64, n, random.Geometric{P: 0.25}), func(i int) float64 {
			return math.Ceil(math.Log(double(i)) / math.Log(0.75))
		}, 0},
	} {
		for i, got := range drawn(t, random.New(random.Philox, seed), c.f) {
			if want := c.want(i); !assert.InDelta(t, want, got, c.within*max(math.Abs(want), 1), "%s: element %d", name, i) {
				break
			}
		}
	}
}

// Moments of a distribution, each within 5 standard errors.
func TestPhiloxMoments(t *testing.T) {
	const n = 200_000
	for name, c := range map[string]struct {
		f              fill
		mean, variance float64
		kurtosis       float64 // the fourth central moment over the squared variance
	}{
		"uniform":          {filled(dtype.Float32, n, random.Uniform{From: -1, To: 3}), 1, 16.0 / 12, 1.8},
		"uniform float64":  {filled(dtype.Float64, n, rand), 0.5, 1.0 / 12, 1.8},
		"normal":           {filled(dtype.Float32, n, random.Normal{Mean: 2, Std: 3}), 2, 9, 3},
		"normal float64":   {filled(dtype.Float64, n, random.Normal{Mean: 2, Std: 3}), 2, 9, 3},
		"normal complex64": {filled(dtype.Complex64, n/2, randn), 0, 0.5, 3},
		"exponential":      {filled(dtype.Float64, n, random.Exponential{Lambda: 2}), 0.5, 0.25, 9},
		"log of normal":    {logs(filled(dtype.Float64, n, random.LogNormal{Mean: 1, Std: 2})), 1, 4, 3},
		"bernoulli":        {filled(dtype.Float32, n, random.Bernoulli{P: 0.3}), 0.3, 0.21, 1/0.21 - 3},
		"geometric":        {filled(dtype.Float32, n, random.Geometric{P: 0.25}), 4, 12, 9 + 0.0625/0.75},
		"integers":         {filled(dtype.Int64, n, random.Integers{From: -50, To: 51}), 0, (101*101 - 1) / 12.0, 1.8},
		"poisson 3":        {filledEach(dtype.Float32, n, random.Poisson{}, constant(n, 3)), 3, 3, 3 + 1.0/3},
		"poisson 50":       {filledEach(dtype.Float32, n, random.Poisson{}, constant(n, 50)), 50, 50, 3 + 1.0/50},
	} {
		v := drawn(t, random.New(random.Philox, 17), c.f)
		mean, variance := 0.0, 0.0
		for _, x := range v {
			mean += x / n
		}
		for _, x := range v {
			variance += (x - mean) * (x - mean) / n
		}
		assert.InDelta(t, c.mean, mean, 5*math.Sqrt(c.variance/n), "%s: mean", name)
		assert.InDelta(t, c.variance, variance, 5*c.variance*math.Sqrt((c.kurtosis-1)/n), "%s: variance", name)
		lag := 0.0
		for i := 1; i < n; i++ {
			lag += (v[i-1] - mean) * (v[i] - mean) / (variance * n)
		}
		assert.InDelta(t, 0, lag, 5/math.Sqrt(n), "%s: adjacent numbers are correlated", name)
	}
}

func constant(n int, v float32) random.Span {
	s := span(dtype.Float32, n)
	for i := range n {
		at[float32](s)[i] = v
	}
	return s
}

func logs(f fill) fill {
	return func(g *random.Generator) (random.Span, error) {
		s, err := f(g)
		for i, v := range at[float64](s) {
			at[float64](s)[i] = math.Log(v)
		}
		return s, err
	}
}

// chiSquare returns the statistic of counts with equal expectation, and the limit that one of a million draws exceeds, by Wilson and
// Hilferty's approximation.
func chiSquare(counts []int) (found, limit float64) {
	total := 0
	for _, c := range counts {
		total += c
	}
	want := float64(total) / float64(len(counts))
	for _, c := range counts {
		found += (float64(c) - want) * (float64(c) - want) / want
	}
	k := float64(len(counts) - 1)
	return found, k * math.Pow(1-2/(9*k)+4.75*math.Sqrt(2/(9*k)), 3)
}

// Values in equally likely bins, pairs of adjacent values, and the bits of words.
func TestPhiloxIsUniform(t *testing.T) {
	const n, bins = 1 << 18, 64
	cumulative := map[string]func(x float64) float64{
		"rand":          func(x float64) float64 { return x },
		"rand float64":  func(x float64) float64 { return x },
		"randn":         func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 },
		"randn float64": func(x float64) float64 { return math.Erfc(-(x-1)/3/math.Sqrt2) / 2 },
		"exponential":   func(x float64) float64 { return -math.Expm1(-2 * x) },
		"cauchy":        func(x float64) float64 { return math.Atan(x)/math.Pi + 0.5 },
		"log normal":    func(x float64) float64 { return math.Erfc(-math.Log(x)/math.Sqrt2) / 2 },
		"randint int64": func(x float64) float64 { return x / (1 << 40) },
		"randint int8":  func(x float64) float64 { return math.Floor(x/200*8+4) / 8 },
	}
	for name, f := range drawings(n) {
		at := cumulative[name]
		if at == nil {
			continue
		}
		for seed := range uint64(3) {
			v := drawn(t, random.New(random.Philox, seed), f)
			alone, pairs := make([]int, bins), make([]int, bins)
			bin := func(x float64, n int) int { return min(max(int(at(x)*float64(n)), 0), n-1) }
			for i, x := range v {
				if name != "randint int8" {
					alone[bin(x, bins)]++
				}
				if i%2 == 1 {
					pairs[8*bin(v[i-1], 8)+bin(x, 8)]++
				}
			}
			if name != "randint int8" {
				found, limit := chiSquare(alone)
				assert.Less(t, found, limit, "%s, seed %d", name, seed)
			}
			found, limit := chiSquare(pairs)
			assert.Less(t, found, limit, "pairs of %s, seed %d", name, seed)
		}
	}
}

// Words of neighbouring seeds, offsets and rounds share half of their bits.
func TestPhiloxCountersAndKeysAreIndependent(t *testing.T) {
	const n = 4096
	for name, other := range map[string]func(i uint64) [4]uint32{
		"seed":   func(i uint64) [4]uint32 { return random.Block(1, i, 0) },
		"offset": func(i uint64) [4]uint32 { return random.Block(0, i+1, 0) },
		"round":  func(i uint64) [4]uint32 { return random.Block(0, i, 1) },
	} {
		for bit := range 128 {
			same := 0
			for i := range uint64(n) {
				a, b := random.Block(0, i, 0), other(i)
				same += int((a[bit/32]^b[bit/32])>>(bit%32)&1 ^ 1)
			}
			assert.InDelta(t, n/2, same, 5*math.Sqrt(n)/2, "bit %d, another %s", bit, name)
		}
	}
}

func TestPhiloxDrawsWithoutReplacement(t *testing.T) {
	g := random.New(random.Philox, 5)
	weights := of(dtype.Float64, 1, 2, 3, 4)
	first := make([]int, 4)
	const n = 20_000
	for range n {
		dst := make([]int64, 2)
		require.NoError(t, g.Fill(ints(dst), weights, random.Multinomial{Categories: 4, Samples: 2}, true))
		assert.NotEqual(t, dst[0], dst[1])
		first[dst[0]]++
	}
	for i, c := range first {
		p := float64(i+1) / 10
		assert.InDelta(t, p*n, c, 5*math.Sqrt(p*(1-p)*n), "category %d", i)
	}
	order := drawn(t, g, filled(dtype.Int64, 500, random.Permutation{N: 500}))
	slices.Sort(order)
	for i, v := range order {
		assert.Equal(t, float64(i), v)
	}
}
