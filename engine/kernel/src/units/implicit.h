// Derivatives of gamma and Beta random numbers with respect to a parameter, at a fixed probability:
// dx/da = -(dF/da) / f with the cumulative distribution function F and its density f (Figurnov,
// Mohamed, Mnih, "Implicit reparameterization gradients", 2018). F is a series or a continued
// fraction, which is differentiated term by term.
#include "../native.h"
// Comes after native.h, which a device has in another form.
#include "../special.h"

namespace lt {
namespace {

// A number and its derivative with respect to the parameter.
struct Dual {
  double value, slope;
};
inline Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
inline Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
inline Dual operator/(Dual a, Dual b) {
  const double q = a.value / b.value;
  return {q, (a.slope - q * b.slope) / b.value};
}

inline double log_of(double x) { return double(log_fine(Pair(x))); }

// Lentz's method for first / (first_b + next(1) ...), where next(i, &b) returns the numerator a_i
// and sets the denominator b_i. Zero denominators are moved away from zero.
template <class F>
inline Dual continued_fraction(Dual b, F next) {
  constexpr double kTiny = 1e-280, kSettled = 0x1p-52;
  constexpr int kMost = 1 << 17;
  const auto apart = [](Dual d) {
    if (__builtin_fabs(d.value) < kTiny) d.value = kTiny;
    return d;
  };
  const Dual one = {1, 0};
  Dual c = {1 / kTiny, 0}, d = one / apart(b), h = d;
  for (int i = 1; i < kMost; i++) {
    const Dual a = next(i, &b);
    d = one / apart(a * d + b);
    c = apart(b + a / c);
    const Dual step = c * d;
    h = h * step;
    const double change = __builtin_fabs(step.value - 1) * __builtin_fabs(h.slope) +
                          __builtin_fabs(step.slope * h.value);
    // Of NaN too.
    if (!(__builtin_fabs(step.value - 1) > kSettled) &&
        !(change > kSettled * __builtin_fabs(h.slope)))
      break;
  }
  return h;
}

constexpr double kLargeShape = 1e5;

// Of a large shape: x as a polynomial of the standard normal quantile (Cornish and Fisher, 1938).
inline double gamma_slope_large(double a, double x) {
  const double root = __builtin_sqrt(a);
  double z = (x - a) / root;
  for (int i = 0; i < 4; i++) {
    const double miss = a + z * root + (z * z - 1) / 3 + z * (z * z - 7) / (36 * root) - x;
    z -= miss / (root + 2 * z / 3 + (3 * z * z - 7) / (36 * root));
  }
  return 1 + z / (2 * root) - z * (z * z - 7) / (72 * a * root);
}

// dx/da of x with the gamma distribution of shape a and rate 1.
inline double gamma_slope(double a, double x) {
  if (!(a > 0) || !(x >= 0) || a == __builtin_inf() || x == __builtin_inf())
    return __builtin_nan("");
  if (x == 0) return 0;
  // Farther off than 16 standard deviations, where the probability is below 1e-57, x grows as a.
  if (a > kLargeShape)
    return __builtin_fabs(x - a) < 16 * __builtin_sqrt(a) ? gamma_slope_large(a, x) : x / a;
  const double log_x = log_of(x), psi = digamma(a);
  if (x <= a + 1) {  // P = x^a e^-x sum of x^n / Gamma(a + n + 1) (DLMF 8.11.4)
    double slope = log_x - psi - 1 / a, term = 1 / a, sum = 0;
    constexpr int kMost = 1 << 17;
    for (int n = 1; n < kMost; n++) {
      sum += term * slope;
      term *= x / (a + n);
      slope -= 1 / (a + n);
      // Of NaN too.
      if (x < a + n && !(__builtin_fabs(term * slope) > 0x1p-56 * __builtin_fabs(sum))) break;
    }
    return -x * sum;
  }
  // Gamma(a, x) = x^a e^-x h (DLMF 8.9.2)
  const Dual h = continued_fraction({x + 1 - a, -1}, [=](int i, Dual *b) -> Dual {
    *b = {x + 1 - a + 2.0 * i, -1};
    return {-i * (i - a), double(i)};
  });
  return x * (h.slope + h.value * (log_x - psi));
}

// The continued fraction of the incomplete Beta function of p and q, whose derivatives with respect
// to the parameter are dp and dq: I_x(p, q) = x^p (1 - x)^q / (p B(p, q)) h (DLMF 8.17.22).
inline Dual beta_fraction(double x, double p, double dp, double q, double dq) {
  const auto at = [=](double shift) -> Dual { return {p + shift, dp}; };
  return continued_fraction({1, 0}, [=](int i, Dual *b) -> Dual {
    *b = {1, 0};
    const double m = i / 2;
    if (i % 2 == 0) return Dual{m * x, 0} * Dual{q - m, dq} / (at(2 * m - 1) * at(2 * m));
    return Dual{-x, 0} * at(m) * Dual{p + q + m, dp + dq} / (at(2 * m) * at(2 * m + 1));
  });
}

// dx/da / (1 - x) of x with the Beta distribution of a and total - a.
inline double beta_slope(double x, double a, double total) {
  const double b = total - a;
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1) || total == __builtin_inf())
    return __builtin_nan("");
  if (x == 0) return 0;
  const double log_x = log_of(x), psi = digamma(total);
  if (x <= a / total) {
    const Dual h = beta_fraction(x, a, 1, b, 0);
    return -x / a * (h.slope + h.value * (log_x + psi - digamma(a) - 1 / a));
  }
  const Dual h = beta_fraction(1 - x, b, 0, a, 1);
  return x / b * (h.slope + h.value * (log_x + psi - digamma(a)));
}

LT_BINARY(StandardGammaGrad, T(gamma_slope(double(a), double(b))))

struct DirichletGrad {
  template <class T>
  static void row(char *const *data, const int64_t *strides, int64_t n, const void *) {
    ternary_row<T, T, T, T>(data, strides, n, [](T x, T alpha, T total) -> T {
      return T(beta_slope(double(x), double(alpha), double(total)));
    });
  }
};

}  // namespace
}  // namespace lt

LT_UNIT(implicit){
    {"standard_gamma_grad", "T>TT", LT_FLOATING(StandardGammaGrad)},
    {"dirichlet_grad", "T>TTT", LT_FLOATING(DirichletGrad)},
    LT_END,
};
