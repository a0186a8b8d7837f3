package random_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
)

// span allocates n zeroed elements.
func span(d dtype.DType, n int) random.Span {
	b := make([]float64, int64(n)*d.Size()/8+2)
	return random.Span{DType: d, Data: unsafe.Pointer(&b[0]), Len: n}
}

func of(d dtype.DType, values ...float64) random.Span {
	s := span(d, len(values))
	for i, v := range values {
		switch d {
		case dtype.Float32:
			at[float32](s)[i] = float32(v)
		case dtype.Float64:
			at[float64](s)[i] = v
		}
	}
	return s
}

func at[T any](s random.Span) []T { return unsafe.Slice((*T)(s.Data), s.Len) }

// read lists a span's elements, the parts of complex ones one after the other.
func read(s random.Span) []float64 {
	if s.DType.IsComplex() {
		return read(random.Span{DType: s.DType.ToReal(), Data: s.Data, Len: 2 * s.Len})
	}
	v := make([]float64, s.Len)
	for i := range v {
		switch s.DType {
		case dtype.Bool, dtype.Uint8:
			v[i] = float64(at[uint8](s)[i])
		case dtype.Int8:
			v[i] = float64(at[int8](s)[i])
		case dtype.Int16:
			v[i] = float64(at[int16](s)[i])
		case dtype.Int32:
			v[i] = float64(at[int32](s)[i])
		case dtype.Int64:
			v[i] = float64(at[int64](s)[i])
		case dtype.Uint16:
			v[i] = float64(at[uint16](s)[i])
		case dtype.Uint32:
			v[i] = float64(at[uint32](s)[i])
		case dtype.Uint64:
			v[i] = float64(at[uint64](s)[i])
		case dtype.Float16:
			v[i] = float64(dtype.Float16ToFloat32(at[uint16](s)[i]))
		case dtype.BFloat16:
			v[i] = float64(dtype.BFloat16ToFloat32(at[uint16](s)[i]))
		case dtype.Float32:
			v[i] = float64(at[float32](s)[i])
		case dtype.Float64:
			v[i] = at[float64](s)[i]
		}
	}
	return v
}

// assertStream allows a difference in the last bit, from another libm, and nothing else.
func assertStream(t *testing.T, want, got []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		assert.InDelta(t, want[i], got[i], 4e-16*math.Abs(want[i]), "element %d", i)
	}
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, into))
}

type fill func(g *random.Generator) (random.Span, error)

// draw fills a contiguous tensor's elements.
func draw(g *random.Generator, s random.Span, d random.Distribution) error {
	return g.Fill(s, random.Span{}, d, true)
}

func filled(d dtype.DType, n int, from random.Distribution) fill {
	return filledEach(d, n, from, random.Span{})
}

func filledEach(d dtype.DType, n int, from random.Distribution, each random.Span) fill {
	return func(g *random.Generator) (random.Span, error) {
		s := span(d, n)
		return s, g.Fill(s, each, from, true)
	}
}

func multinomial(samples int, replacement bool) fill {
	from := random.Multinomial{Categories: 3, Samples: int64(samples), Replacement: replacement}
	return filledEach(dtype.Int64, samples, from, of(dtype.Float32, 0.1, 0.2, 0.7))
}

var (
	rand  = random.Uniform{To: 1}
	randn = random.Normal{Std: 1}
)

var expressions = map[string][]fill{
	"torch.rand(5)":                                                         {filled(dtype.Float32, 5, rand)},
	"torch.rand(20)":                                                        {filled(dtype.Float32, 20, rand)},
	"torch.rand(5, dtype=torch.float64)":                                    {filled(dtype.Float64, 5, rand)},
	"torch.rand(5, dtype=torch.float16)":                                    {filled(dtype.Float16, 5, rand)},
	"torch.rand(5, dtype=torch.bfloat16)":                                   {filled(dtype.BFloat16, 5, rand)},
	"torch.randn(5)":                                                        {filled(dtype.Float32, 5, randn)},
	"torch.randn(15)":                                                       {filled(dtype.Float32, 15, randn)},
	"torch.randn(16)":                                                       {filled(dtype.Float32, 16, randn)},
	"torch.randn(17)":                                                       {filled(dtype.Float32, 17, randn)},
	"torch.randn(40)":                                                       {filled(dtype.Float32, 40, randn)},
	"torch.randn(5, dtype=torch.float64)":                                   {filled(dtype.Float64, 5, randn)},
	"torch.randn(20, dtype=torch.float64)":                                  {filled(dtype.Float64, 20, randn)},
	"torch.randn(2, 3, dtype=torch.complex64)":                              {filled(dtype.Complex64, 6, randn)},
	"torch.randint(0, 10, (8,))":                                            {filled(dtype.Int64, 8, random.Integers{From: 0, To: 10})},
	"torch.randint(-3, 3, (8,), dtype=torch.int8)":                          {filled(dtype.Int8, 8, random.Integers{From: -3, To: 3})},
	"torch.randint(0, 2**40, (4,))":                                         {filled(dtype.Int64, 4, random.Integers{From: 0, To: 1 << 40})},
	"torch.randperm(10)":                                                    {filled(dtype.Int64, 10, random.Permutation{N: 10})},
	"torch.randperm(10, dtype=torch.int32)":                                 {filled(dtype.Int32, 10, random.Permutation{N: 10})},
	"torch.empty(6).uniform_(-1, 1)":                                        {filled(dtype.Float32, 6, random.Uniform{From: -1, To: 1})},
	"torch.empty(6).normal_(2, 3)":                                          {filled(dtype.Float32, 6, random.Normal{Mean: 2, Std: 3})},
	"torch.normal(torch.zeros(4), torch.ones(4))":                           {filled(dtype.Float32, 4, randn)},
	"torch.empty(6, dtype=torch.int64).random_()":                           {filled(dtype.Int64, 6, random.AllIntegers{})},
	"torch.empty(6).random_(0, 100)":                                        {filled(dtype.Float32, 6, random.Integers{From: 0, To: 100})},
	"torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2)":                   {multinomial(2, false)},
	"torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 6, replacement=True)": {multinomial(6, true)},
	"torch.empty(6).cauchy_()":                                              {filled(dtype.Float32, 6, random.Cauchy{Sigma: 1})},
	"torch.empty(6).log_normal_()":                                          {filled(dtype.Float32, 6, random.LogNormal{Mean: 1, Std: 2})},
	"torch.empty(6).geometric_(0.3)":                                        {filled(dtype.Float32, 6, random.Geometric{P: 0.3})},
	"torch.empty(8).bernoulli_(0.25)":                                       {filled(dtype.Float32, 8, random.Bernoulli{P: 0.25})},
	"torch.bernoulli(torch.full((8,), 0.5))": {filledEach(dtype.Float32, 8, random.BernoulliEach{},
		of(dtype.Float32, .5, .5, .5, .5, .5, .5, .5, .5))},
	"torch.poisson(torch.tensor([1., 5., 20.]))": {filledEach(dtype.Float32, 3, random.Poisson{}, of(dtype.Float32, 1, 5, 20))},
	// The transposition happens after the fill.
	"torch.rand(2, 3).t().contiguous()": {func(g *random.Generator) (random.Span, error) {
		s, out := span(dtype.Float32, 6), span(dtype.Float32, 6)
		err := draw(g, s, rand)
		for i, v := range at[float32](s) {
			at[float32](out)[i%3*2+i/3] = v
		}
		return out, err
	}},
	"[torch.rand(3), torch.randn(3), torch.rand(2), torch.randn(16), torch.randint(5, (2,))]": {
		filled(dtype.Float32, 3, rand), filled(dtype.Float32, 3, randn), filled(dtype.Float32, 2, rand),
		filled(dtype.Float32, 16, randn), filled(dtype.Int64, 2, random.Integers{From: 0, To: 5}),
	},
}

func TestRecordedStreams(t *testing.T) {
	var rows []struct {
		Seed   json.Number
		Expr   string
		Values [][3]any
	}
	load(t, "random.json", &rows)
	for _, row := range rows {
		t.Run(row.Seed.String()+" "+row.Expr, func(t *testing.T) {
			seed, err := strconv.ParseInt(row.Seed.String(), 10, 64)
			require.NoError(t, err)
			require.Contains(t, expressions, row.Expr)
			g := random.New(random.MT19937, uint64(seed))
			for i, f := range expressions[row.Expr] {
				s, err := f(g)
				require.NoError(t, err)
				require.Equal(t, row.Values[i][0], s.DType.String())
				var want []float64
				for _, v := range row.Values[i][2].([]any) {
					if s.DType.IsComplex() {
						c, err := strconv.ParseComplex(strings.Replace(v.(string), "j", "i", 1), 128)
						require.NoError(t, err)
						want = append(want, real(c), imag(c))
						continue
					}
					x, err := strconv.ParseFloat(v.(string), 64)
					require.NoError(t, err)
					want = append(want, x)
				}
				assertStream(t, want, read(s))
			}
		})
	}
}

func distribution(op string, n int, a []float64) random.Distribution {
	switch op {
	case "uniform_":
		return random.Uniform{From: a[0], To: a[1]}
	case "normal_":
		return random.Normal{Mean: a[0], Std: a[1]}
	case "exponential_":
		return random.Exponential{Lambda: a[0]}
	case "cauchy_":
		return random.Cauchy{Median: a[0], Sigma: a[1]}
	case "log_normal_":
		return random.LogNormal{Mean: a[0], Std: a[1]}
	case "geometric_":
		return random.Geometric{P: a[0]}
	case "bernoulli_":
		return random.Bernoulli{P: a[0]}
	case "randperm":
		return random.Permutation{N: int64(n)}
	case "random_from":
		return random.IntegersFrom{From: int64(a[0])}
	}
	if len(a) == 0 {
		return random.AllIntegers{}
	}
	return random.Integers{From: int64(a[0]), To: int64(a[1])}
}

// dtypes.json holds the draws of PyTorch 2.15 from seed 7 for every dtype, around the length at which Normal changes to blocks, and the 31
// bits that it draws next.
func TestEveryDType(t *testing.T) {
	var rows []struct {
		Op, DType string
		N         int
		Args      []float64
		Values    []float64
		Next      int32
	}
	load(t, "dtypes.json", &rows)
	for _, row := range rows {
		t.Run(row.Op+" "+row.DType+" "+strconv.Itoa(row.N), func(t *testing.T) {
			d, ok := dtype.Parse(row.DType)
			require.True(t, ok)
			g, s := random.New(random.MT19937, 7), span(d, row.N)
			require.NoError(t, draw(g, s, distribution(row.Op, row.N, row.Args)))
			assertStream(t, row.Values, read(s))
			assert.Equal(t, row.Next, int32(g.Random()&math.MaxInt32), "position of the stream")
		})
	}
}

func TestSerialNormalsKeepThePairAcrossFills(t *testing.T) {
	whole, g := span(dtype.Float64, 601), random.New(random.MT19937, 3)
	require.NoError(t, g.Fill(whole, random.Span{}, randn, false))
	g.ManualSeed(3)
	var pieces []float64
	for _, n := range []int{1, 2, 3, 0, 595} {
		s := span(dtype.Float64, n)
		require.NoError(t, g.Fill(s, random.Span{}, randn, false))
		pieces = append(pieces, read(s)...)
	}
	assert.Equal(t, read(whole), pieces)
}

func TestPairsOfDrawsSpanRefills(t *testing.T) {
	s, g, single := span(dtype.Float64, 1000), random.New(random.MT19937, 3), random.New(random.MT19937, 3)
	assert.Equal(t, g.Random(), single.Random())
	require.NoError(t, draw(g, s, rand))
	for i, v := range read(s) {
		assert.Equal(t, float64(single.Random64()&(1<<53-1))*0x1p-53, v, "element %d", i)
	}
}

func TestStateRestoresTheStream(t *testing.T) {
	next := func(g *random.Generator) []float64 {
		s := span(dtype.Float32, 700)
		require.NoError(t, g.Fill(s, random.Span{}, randn, false))
		return read(s)
	}
	for _, drawn := range []int{0, 1, 3, 623, 624, 625} {
		g := random.New(random.MT19937, 5)
		for range drawn {
			g.Random()
		}
		require.NoError(t, g.Fill(span(dtype.Float32, drawn%2), random.Span{}, randn, false))
		state := g.State()
		assert.Len(t, state, 5056)
		want := next(g)
		other := random.New(random.MT19937, 99)
		require.NoError(t, other.SetState(state))
		assert.True(t, bytes.Equal(state, other.State()))
		assert.Equal(t, uint64(5), other.InitialSeed())
		assert.Equal(t, want, next(other), "after %d draws", drawn)
	}
}

func TestSetStateRejectsInvalidStates(t *testing.T) {
	g := random.New(random.MT19937, 5)
	before := g.State()
	broken := func(at int, value byte) []byte {
		b := append([]byte(nil), before...)
		b[at] = value
		return b
	}
	for name, state := range map[string][]byte{
		"short": before[:5048], "zero": make([]byte, 5056), "left": broken(8, 77), "next": broken(16, 77),
		"next beyond the words": broken(18, 1),
	} {
		assert.Error(t, g.SetState(state), name)
		assert.True(t, bytes.Equal(before, g.State()), name)
	}
}

func TestSeeds(t *testing.T) {
	g := random.New(random.MT19937, random.DefaultSeed)
	assert.Equal(t, uint64(67280421310721), g.InitialSeed())
	seed := g.Seed()
	assert.Equal(t, seed, g.InitialSeed())
	assert.Less(t, seed, uint64(1)<<53)
	assert.NotEqual(t, seed, g.Seed())
	// Matsumoto's reference values for the engine's own default seed.
	g.ManualSeed(5489)
	assert.Equal(t, []uint32{3499211612, 581869302, 3890346734}, []uint32{g.Random(), g.Random(), g.Random()})
	g.ManualSeed(5489)
	assert.Equal(t, uint64(3499211612)<<32|581869302, g.Random64())
}

func TestConcurrentFillsShareOneStream(t *testing.T) {
	const workers, n = 8, 1000
	whole := span(dtype.Float32, workers*n)
	require.NoError(t, draw(random.New(random.MT19937, 1), whole, rand))
	want := map[float64]bool{}
	for i := 0; i < whole.Len; i += n {
		want[read(whole)[i]] = true
	}
	g := random.New(random.MT19937, 1)
	var group sync.WaitGroup
	first := make([]float64, workers)
	for i := range first {
		group.Go(func() {
			s := span(dtype.Float32, n)
			assert.NoError(t, draw(g, s, rand))
			first[i] = read(s)[0]
		})
	}
	group.Wait()
	for _, v := range first {
		assert.True(t, want[v], "a fill was torn")
	}
}

// ints are the elements of a list.
func ints(list []int64) random.Span {
	return random.Span{DType: dtype.Int64, Data: unsafe.Pointer(unsafe.SliceData(list)), Len: len(list)}
}

func TestMultinomialNeverDrawsZeroWeights(t *testing.T) {
	weights := of(dtype.Float64, 0, 3, 0, 1, 1, 0, 0, 9)
	for _, replacement := range []bool{false, true} {
		dst := make([]int64, 4)
		require.NoError(t, random.New(random.MT19937, 2).Fill(ints(dst), weights,
			random.Multinomial{Categories: 4, Samples: 2, Replacement: replacement}, true))
		for i, row := range [][]int64{{1, 3}, {0, 3}} {
			for _, index := range dst[2*i:][:2] {
				assert.Contains(t, row, index)
			}
		}
	}
}

func TestMultinomialDoesNotDependOnThreads(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	const rows, categories, samples = 40, 700, 600
	values := make([]float64, rows*categories)
	for i := range values {
		values[i] = float64(i % 13)
	}
	from := random.Multinomial{Categories: categories, Samples: samples, Replacement: true}
	var want []int64
	for threads := 1; threads <= 3; threads++ {
		parallel.SetThreads(threads)
		got := make([]int64, rows*samples)
		require.NoError(t, random.New(random.MT19937, 3).Fill(ints(got), of(dtype.Float32, values...), from, true))
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got)
	}
}

func TestErrors(t *testing.T) {
	g := random.New(random.MT19937, 1)
	f32, f16, i8, i32 := span(dtype.Float32, 3), span(dtype.Float16, 3), span(dtype.Int8, 3), span(dtype.Int32, 3)
	b, c64 := span(dtype.Bool, 3), span(dtype.Complex64, 3)
	each := func(to random.Span, from random.Distribution, each random.Span) error {
		return g.Fill(to, each, from, true)
	}
	choose := func(samples int, replacement bool, weights ...float64) error {
		from := random.Multinomial{Categories: int64(len(weights)), Samples: int64(samples), Replacement: replacement}
		return each(span(dtype.Int64, samples), from, of(dtype.Float32, weights...))
	}
	before := g.State()
	for _, c := range []struct {
		err  error
		code status.Code
		text string
	}{
		{draw(g, f32, random.Uniform{From: 2, To: 1}), status.Runtime, "from=2 > to=1"},
		{draw(g, f32, random.Uniform{From: math.NaN(), To: 1}), status.Runtime, "from=NaN is out of bounds for float32"},
		{draw(g, f16, random.Uniform{From: 0, To: 70000}), status.Runtime, "to=70000 is out of bounds for float16"},
		{draw(g, f16, random.Uniform{From: -60000, To: 60000}), status.Runtime, "to - from is out of bounds"},
		{draw(g, i32, random.Uniform{From: 0, To: 1}), status.NotImplemented, "uniform_: not implemented for dtype int32"},
		{draw(g, f32, random.Normal{Mean: 0, Std: -1}), status.Runtime, "std=-1"},
		{draw(g, i32, random.Normal{Mean: 0, Std: 1}), status.NotImplemented, "int32"},
		{draw(g, f32, random.Exponential{Lambda: 0}), status.Runtime, "lambda=0"},
		{draw(g, c64, random.Exponential{Lambda: 1}), status.Runtime, "complex64"},
		{draw(g, f32, random.Cauchy{Median: 0, Sigma: 0}), status.Runtime, "sigma=0"},
		{draw(g, f32, random.LogNormal{Mean: 0, Std: 0}), status.Runtime, "std=0"},
		{draw(g, f32, random.Geometric{P: 1}), status.Runtime, "p=1"},
		{draw(g, b, random.Geometric{P: .5}), status.NotImplemented, "bool"},
		{draw(g, f32, random.Bernoulli{P: 1.5}), status.Runtime, "p=1.5"},
		{draw(g, c64, random.Bernoulli{P: .5}), status.NotImplemented, "complex64"},
		{each(f32, random.BernoulliEach{}, of(dtype.Float32, .5, 1.5, .5)), status.Runtime, "element 1 is 1.5"},
		{each(f32, random.BernoulliEach{}, i32), status.NotImplemented, "int32"},
		{each(f32, random.Poisson{}, of(dtype.Float32, 1, 1, -1)), status.Runtime, "element 2 is -1"},
		{draw(g, i8, random.Integers{From: 5, To: 5}), status.Runtime, "from=5 >= to=5"},
		{draw(g, i8, random.Integers{From: 0, To: 200}), status.Runtime, "to - 1 = 199 is out of bounds for int8"},
		{draw(g, b, random.Integers{From: -1, To: 1}), status.Runtime, "from=-1 is out of bounds for bool"},
		{draw(g, f16, random.Integers{From: 0, To: 70000}), status.Runtime, "out of bounds for float16"},
		{draw(g, f16, random.Integers{From: 2051, To: 2052}), status.Runtime,
			"the range [2051, 2052) contains no integer that float16 can represent"},
		{draw(g, c64, random.Integers{From: 0, To: 2}), status.NotImplemented, "complex64"},
		{draw(g, i8, random.IntegersFrom{From: 200}), status.Runtime, "from=200 exceeds 127"},
		{draw(g, i32, random.IntegersFrom{From: math.MinInt64}), status.NotImplemented, "int32"},
		{draw(g, b, random.Permutation{N: 3}), status.NotImplemented, "bool"},
		{draw(g, span(dtype.Int8, 129), random.Permutation{N: 129}), status.Runtime,
			"n=129 is too large for int8, which holds integers up to 127"},
		{draw(g, span(dtype.Float16, 2050), random.Permutation{N: 2050}), status.Runtime, "integers up to 2048"},
		{choose(1, false, 1, -1), status.Runtime, "-1"},
		{choose(3, true, 1, math.Inf(1)), status.Runtime, "infinity"},
		{choose(3, true, 0, 0), status.Runtime, "row 0 <= 0"},
		{choose(2, false, 0, 0), status.Runtime, "row 0 <= 0"},
		{choose(4, false, 1, 0, 3), status.Runtime, "n_sample=4 > prob_dist.size(-1)=3"},
		{choose(0, true, 1), status.Runtime, "n_sample=0"},
		{each(span(dtype.Int64, 1), random.Multinomial{Categories: 3, Samples: 1, Replacement: true}, i32), status.Runtime, "int32"},
	} {
		var e *status.Error
		if assert.ErrorAs(t, c.err, &e, c.text) {
			assert.Equal(t, c.code, e.Code, c.text)
			assert.Contains(t, e.Msg, c.text)
		}
	}
	assert.True(t, bytes.Equal(before, g.State()), "a rejected call draws nothing")
}

func BenchmarkFloat32(b *testing.B) {
	s, g := span(dtype.Float32, 1<<20), random.New(random.MT19937, 1)
	for name, from := range map[string]random.Distribution{"rand": rand, "randn": randn} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 << 20)
			for b.Loop() {
				require.NoError(b, draw(g, s, from))
			}
		})
	}
}
