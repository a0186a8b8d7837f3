// Package random draws random numbers. It has two engines.
//
// Philox is counter-based (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): word k of a fill
// is word k mod 4 of Block(seed, offset/4 + k/4, 0), and element i uses w words from word i w on, where w depends on the Distribution.
// docs/random.md describes the conversion of words to numbers. A part of a fill is a stream that starts at its first word.
//
// MT19937 draws PyTorch's CPU random streams: the same seed produces the same values, bit for bit. It is mt19937 plus one cached normal.
// Every fill writes the elements of a Span in order and consumes the stream as PyTorch 2.15 does on a CPU with AVX2 (its Intel builds draw
// bernoulli_ and exponential_ from MKL instead):
//
//	Uniform        one 32-bit draw an element for float16, bfloat16 and float32 (24 bits, computed in float32);
//	               one 64-bit draw for float64 (53 bits); complex as twice as many reals
//	Normal         in contiguous tensors from 16 elements on: Box-Muller on blocks of 16 uniforms; when the length is no
//	               multiple of 16, the last 16 elements are drawn afresh, which costs another 16 draws. Otherwise float64
//	               Box-Muller a pair at a time; the second normal of a pair waits in the generator for the next fill that
//	               wants one, whatever its dtype
//	Integers       one draw modulo the range: 32 bits below a range of 2^28, 64 bits from there on, for every dtype
//	AllIntegers    one 32-bit draw, 64-bit for int64 and float64
//	Permutation    Fisher-Yates with 32-bit draws; inside out with 64-bit draws from n = (2^32-1)/20 on
//	Bernoulli      float64 uniform < p; BernoulliEach: float32 uniforms unless the probabilities are float64
//	Exponential, Cauchy, LogNormal, Geometric, Poisson    float64, then rounded to the dtype
//	Binomial       float64 uniforms; functions of the parameters alone are computed in their dtype
//	Multinomial    with replacement a float64 uniform a sample; otherwise weights over exponentials, largest first
//
// PyTorch fills a tensor that is not contiguous in its iterator's order (memory order for a permuted dense tensor, row order for a stepped
// one) and never by blocks: fill a scratch Span and scatter.
package random
