// Array transforms behind the random fills. All work in place. A fused multiply-add is always
// explicit and never left to the compiler, so that every CPU returns the same bits.
#ifndef RANDOM_TRANSFORM_H
#define RANDOM_TRANSFORM_H

#include <stdint.h>

// mt19937: the next 624 words of state, and the tempering that turns a state into its 624 outputs.
void random_twist(uint32_t* state);
void random_temper(const uint32_t* state, uint32_t* out);

// Uniform values in [0, 1) of 24 bits of a word each, and of 53 bits of two words, the high one
// first.
void random_unit_f32(const uint32_t* words, float* v, int64_t n);
void random_unit_f64(const uint32_t* words, double* v, int64_t n);

// v = fma(v, to - from, from), with the rounded-up upper end folded onto from.
void random_scale_f32(float* v, int64_t n, float from, float to);
void random_scale_f64(double* v, int64_t n, double from, double to);

// Box-Muller over blocks of 16 uniforms in [0, 1): 8 radii, then 8 angles. n is a multiple of 16.
// The float32 form scales its normals; the float64 form leaves standard ones, as random_polar does.
void random_box_muller_f32(float* v, int64_t n, float mean, float std);
void random_box_muller_f64(double* v, int64_t n);

// Box-Muller over (angle, radius) pairs of uniforms: the standard normals r cos(t), r sin(t) take
// their place.
void random_polar(double* v, int64_t pairs);

void random_log(double* v, int64_t n);    // log(v)
void random_log1p(double* v, int64_t n);  // log(1 - v)
void random_exp(double* v, int64_t n);    // exp(v)
void random_tan(double* v, int64_t n);    // tan(pi (v - 1/2))
double random_pow(double x, double y);

// Makes n weights into the running fractions of their sum, the last of which is 1. The sum is NaN
// where one of them is negative or NaN.
void random_cumulate_f32(float* w, int64_t n, double* sum);
void random_cumulate_f64(double* w, int64_t n, double* sum);

// at[i]: the first of the n ascending values of c that is at least u[i], which does not exceed the
// last one.
void random_positions_f32(const float* c, int64_t n, const double* u, int64_t* at, int64_t k);
void random_positions_f64(const double* c, int64_t n, const double* u, int64_t* at, int64_t k);

#endif
