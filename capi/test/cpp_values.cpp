// tensor.hpp: values in and out, operators, arguments, views.
#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <set>
#include <sstream>

#include "check.hpp"

using namespace tensor;
using Doubles_ = std::vector<double>;
using Complex = std::complex<float>;

static void dtypes() {
  static_assert(dtype_of<bool>() == bool_ && dtype_of<int8_t>() == int8 &&
                dtype_of<uint16_t>() == uint16);
  static_assert(dtype_of<long>() == int64 && dtype_of<long long>() == int64 &&
                dtype_of<uint64_t>() == uint64);
  static_assert(dtype_of<float>() == float32 && dtype_of<std::complex<double>>() == complex128);
  CHECK(has<int32_t>(from({1, 2, 3}), {3}, {1, 2, 3}));
  CHECK(has<bool>(from({true, false}), {2}, {true, false}));
  CHECK(has<Complex>(from({Complex(1, 2)}), {1}, {Complex(1, 2)}));
  CHECK(has<double>(from({{1., 2.}, {3., 4.}}), {2, 2}, {1, 2, 3, 4}));
  CHECK(has<float>(from({1, 2}, float32), {2}, {1, 2}));
  const float plain[] = {1, 2};
  CHECK(has<float>(from(plain), {2}, {1, 2}) &&
        has<int32_t>(from(std::list<int>{1, 2}, {2, 1}), {2, 1}, {1, 2}));
  CHECK(has<double>(from(std::array<short, 2>{1, 2}, {}, float64), {2}, {1, 2}));
  CHECK(has<uint8_t>(from(std::vector<uint8_t>{1, 2, 3, 4}, {2, 2}), {2, 2}, {1, 2, 3, 4}));
  CHECK(from(std::vector<float>()).sizes() == std::vector<int64_t>{0});
  CHECK(from(std::vector<float>{3}, std::vector<int>()).sizes().empty());
  CHECK(has<int64_t>(arange(4), {4}, {0, 1, 2, 3}) && has<int64_t>(arange(1, 3), {2}, {1, 2}));
  CHECK(has<int64_t>(arange(1, 6, 2), {3}, {1, 3, 5}) && arange(2, float64).dtype() == float64);
  CHECK(zeros({}).dim() == 0 && zeros(3).sizes() == std::vector<int64_t>{3});
  CHECK(has<int64_t>(full({2}, 7), {2}, {7, 7}) && has<bool>(full({1}, true), {1}, {true}));
  const Tensor made = ones({2}, Options(float64).with(Device(TENSOR_META)).requires_grad());
  CHECK(made.dtype() == float64 && made.device().type == TENSOR_META && made.requires_grad());
  const Tensor small = from({1, 2}, float8_e5m2);
  CHECK(small.dtype() == TENSOR_FLOAT8_E5M2 && has<float>(small.to(float32), {2}, {1, 2}));
  THROWS(from({{1, 2}, {3}}), TENSOR_ERROR_VALUE, "a row of 1 values among rows of 2");
  THROWS(from(std::vector<int>{1, 2, 3}, {2, 2}), TENSOR_ERROR_RUNTIME,
         "3 values do not fill the shape [2, 2]");
  // A product that wraps around to the number of values.
  THROWS(from(std::vector<int>{1, 2}, {INT64_MAX, INT64_MAX, 2}), TENSOR_ERROR_RUNTIME,
         "9223372036854775807");
}

static void items() {
  CHECK(from({2.5}).item<double>() == 2.5 && from({2.5}).item<float>() == 2.5f &&
        from({7}).item<uint8_t>() == 7);
  CHECK(full({}, UINT64_MAX, uint64).item<uint64_t>() == UINT64_MAX);
  CHECK(full({}, INT64_MIN).item<int64_t>() == INT64_MIN &&
        full({}, INT64_MAX).item<uint64_t>() == INT64_MAX);
  CHECK(from({Complex(1, 2)}).item<std::complex<double>>() == std::complex<double>(1, 2));
  CHECK(from({Complex(3, 0)}).item<int>() == 3 && std::isnan(from({NAN}).item<double>()));
  const char *lost = "without losing its value";
  THROWS(from({300}).item<uint8_t>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({-1}).item<uint64_t>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({2}).item<bool>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({2.5}).item<int>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({NAN}).item<int64_t>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({9223372036854775808.0}).item<int64_t>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({Complex(1, 2)}).item<float>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({1e300}).item<float>(), TENSOR_ERROR_VALUE, lost);
  THROWS(from({std::complex<double>(1, -1e300)}).item<std::complex<float>>(), TENSOR_ERROR_VALUE,
         lost);
  CHECK(std::isinf(from({INFINITY}).item<float>()) && from({1e-300}).item<float>() == 0);
  THROWS(from({1, 2}).item<int>(), TENSOR_ERROR_RUNTIME, "item");
}

static void operators() {
  const Tensor a = from({5, -5, 7}), b = from({2, 2, 2});
  using I = std::vector<int32_t>;
  CHECK((a + b).to_vector<int32_t>() == (I{7, -3, 9}) &&
        (a - 1).to_vector<int32_t>() == (I{4, -6, 6}));
  CHECK((1 - a).to_vector<int32_t>() == (I{-4, 6, -6}) &&
        (a * b * 2).to_vector<int32_t>() == (I{20, -20, 28}));
  CHECK((a % b).to_vector<int32_t>() == (I{1, 1, 1}) &&
        (a / 2).to_vector<double>() == (Doubles_{2.5, -2.5, 3.5}));
  CHECK((10 / b).to_vector<int32_t>() == (I{5, 5, 5}) && (a + 0.5).dtype() == float32 &&
        (a + 1).dtype() == int32);
  CHECK((-a).to_vector<int32_t>() == (I{-5, 5, -7}) && (~a).to_vector<int32_t>() == (I{-6, 4, -8}));
  CHECK((b << 3).to_vector<int32_t>() == (I{16, 16, 16}) &&
        (a & 1).to_vector<int32_t>() == (I{1, 1, 1}));
  using B = std::vector<bool>;
  CHECK((a == 5).to_vector<bool>() == (B{1, 0, 0}) && (0 < a).to_vector<bool>() == (B{1, 0, 1}));
  CHECK((a != b).all().item<bool>() && (a >= -5).all().item<bool>() &&
        ((a < 6) | (a > 6)).all().item<bool>());
  CHECK((a + std::complex<double>(0, 1)).dtype() == complex64);
  Tensor c = a;
  c += 1, c *= b;
  CHECK(a.to_vector<int32_t>() == (I{12, -8, 16}) && c.is(a));  // copies are one tensor
  THROWS(c /= 2, TENSOR_ERROR_RUNTIME, "can't be cast");
  // Any combination of operands, also in C++20, which rewrites == with exchanged operands.
  const Tensor d = from({1, 2, 3});
  CHECK((d == from({1, 5, 3})).to_vector<bool>() == (B{1, 0, 1}));
  CHECK((d == Scalar(2)).to_vector<bool>() == (B{0, 1, 0}) &&
        (Scalar(2) != d).to_vector<bool>() == (B{1, 0, 1}));
  CHECK((d == Operand(d)).all().item<bool>() &&
        (Operand(3) - d).to_vector<int32_t>() == (I{2, 1, 0}));
  CHECK((d == std::complex<double>(2)).to_vector<bool>() == (B{0, 1, 0}));
}

static void arguments() {
  const Tensor x = from({{1., 2.}, {3., 5.}});
  CHECK(x.sum().item<double>() == 11 && has<double>(x.sum(0), {2}, {4, 7}) &&
        x.sum({0, 1}, true).dim() == 2);
  CHECK(has<double>(x.sum(std::vector<int64_t>{1}), {2}, {3, 8}));
  const auto [values, indices] = x.max(1);
  CHECK(has<double>(values, {2}, {2, 5}) && has<int64_t>(indices, {2}, {1, 1}));
  CHECK(tensor::max(x, from({{2., 2.}, {2., 2.}})).sum().item<double>() == 12);
  // A number is a dimension, not a flag.
  CHECK(x.std(0).sizes() == std::vector<int64_t>{2} && x.std(true).dim() == 0);
  CHECK(has<double>(clamp(x, 2, 3), {2, 2}, {2, 2, 3, 3}) &&
        clamp(x, std::nullopt, 2).max().item<double>() == 2);
  CHECK(cat({x, x}, 1).size(-1) == 4 && stack(std::vector<Tensor>{x, x, x}).size(0) == 3);
  CHECK(einsum("ij,ij->", {x, x}).item<double>() == 39);
  CHECK(std::abs(linalg::norm(x).item<double>() - std::sqrt(39.)) < 1e-12);
  CHECK(where(x > 2, x, 0).sum().item<double>() == 8 && add(x, x, -1).sum().item<double>() == 0);
  CHECK(add(1, x).sum().item<double>() == 15 && tensor::pow(2, x).max().item<double>() == 32);
  Tensor out = empty({0}, float64);
  add_out(out, x, 1);
  CHECK(has<double>(out, {2, 2}, {2, 3, 4, 6}));
  CHECK(promote_types(int32, float32) == float32 && parse_device("cpu").type == TENSOR_CPU);
  Generator generator = generator_new();
  generator_manual_seed(generator, 3);
  const Tensor drawn = rand(3, {}, generator);
  generator_manual_seed(generator, 3);
  CHECK(tensor::equal(drawn, rand({3}, {}, generator)));
  manual_seed(5);
  const Tensor first = randn({2, 2});
  manual_seed(5);
  CHECK(tensor::equal(first, randn({2, 2})));
  const int64_t threads = get_num_threads();
  set_num_threads(1);
  CHECK(get_num_threads() == 1);
  set_num_threads(threads);
  THROWS(x.size(2), TENSOR_ERROR_INDEX, "dimension 2 of a tensor of 2 dimensions");
  THROWS(x.sum(3), TENSOR_ERROR_INDEX, "sum");
}

static void views() {
  Tensor x = arange(12, float64).reshape({3, 4});
  const Tensor row = x[1], part = x(slice(1), slice(std::nullopt, std::nullopt, 2));
  CHECK(has<double>(row, {4}, {4, 5, 6, 7}) && has<double>(part, {2, 2}, {4, 6, 8, 10}));
  CHECK(x[-1][0].item<double>() == 8 && x(ellipsis, 1).sum().item<double>() == 15 &&
        x(newaxis).dim() == 3);
  row.fill_(0);
  CHECK(x.sum().item<double>() == 44 && part[0].sum().item<double>() == 0);
  CHECK(row.data<double>() == x.data<double>() + 4 && row.storage_offset() == 4 &&
        part.strides() == (std::vector<int64_t>{4, 2}));
  CHECK(x.untyped_storage().nbytes() == 96);
  x[0].copy_(from({9., 9., 9., 9.}));
  x.set({x == 0}, -1);
  x.set({2, slice(0, 2)}, from({1., 2.}));
  CHECK(x.to_vector<double>() == (Doubles_{9, 9, 9, 9, -1, -1, -1, -1, 1, 2, 10, 11}));
  CHECK(has<double>(x[x > 9], {2}, {10, 11}) && has<double>(x(from({0, 2}), 0), {2}, {9, 1}));
  static_assert(!std::is_assignable_v<decltype(x[0]), Tensor> &&
                !std::is_assignable_v<decltype(x[0]), double>);
  CHECK(x.t().to_vector<double>()[1] == -1 && x.expand({2, 3, 4}).stride(0) == 0);
  THROWS(x[3], TENSOR_ERROR_INDEX, "3");
}

// Dtypes and fractions are not accepted as integers.
static void numbers() {
  static_assert(!std::is_convertible_v<tensor_dtype, Int> && !std::is_convertible_v<double, Int> &&
                !std::is_convertible_v<bool, Int> && std::is_convertible_v<short, Int>);
  static_assert(!std::is_convertible_v<tensor_dtype, Real> && !std::is_convertible_v<bool, Real> &&
                std::is_convertible_v<int, Real>);
  static_assert(!std::is_constructible_v<std::optional<Int>, tensor_device_type>);
  CHECK(eye(3, float64).sizes() == (std::vector<int64_t>{3, 3}) &&
        eye(3, float64).dtype() == float64);
  static_assert(!std::is_convertible_v<char, Int> && !std::is_convertible_v<char, Scalar> &&
                !std::is_invocable_v<decltype(&Tensor::size), Tensor, double>);
  THROWS(zeros(UINT64_MAX), TENSOR_ERROR_VALUE, "18446744073709551615 does not fit in int64");
  THROWS(Device(TENSOR_CUDA, int64_t(1) << 40), TENSOR_ERROR_VALUE, "1099511627776");
  CHECK(eye(2, size_t(3)).size(1) == 3 && eye(2, 3, int32).dtype() == int32);
}

// Whether braces with two of these make a T.
template <class T, class A, class B, class = void>
struct Braces : std::false_type {};
template <class T, class A, class B>
struct Braces<T, A, B, std::void_t<decltype(T({std::declval<A>(), std::declval<B>()}))>>
    : std::true_type {};

// Lists of integers are constructed from all sequences of integers, and from nothing else.
static void lists() {
  const std::vector<int64_t> wanted{2, 3};
  const int plain[] = {2, 3};
  for (const Tensor &t :
       {zeros({size_t(2), short(3)}), zeros(std::vector<int>{2, 3}), zeros(std::vector{2ul, 3ul}),
        zeros(std::array<int, 2>{2, 3}), zeros(std::list<uint8_t>{2, 3}), zeros(std::set{3, 2}),
        zeros(plain), zeros(Ints(&plain[0], 2)), zeros(wanted)})
    CHECK(t.sizes() == wanted);
  CHECK(zeros(std::vector<int>()).dim() == 0 && zeros(std::array<long, 0>()).dim() == 0);
  const Tensor x = ones({2, 3});
  CHECK(x.sum({}).dim() == 0 && x.sum(std::vector<int>{-1}).sizes() == std::vector<int64_t>{2});
  static_assert(Braces<Ints, int, size_t>() && !Braces<Ints, double, int>() &&
                !Braces<Ints, int, float>() && !Braces<Ints, bool, int>());
  static_assert(!Braces<Ints, std::initializer_list<int>, std::initializer_list<int>>());
  static_assert(
      !std::is_convertible_v<double, Ints> && !std::is_convertible_v<std::vector<double>, Ints> &&
      !std::is_convertible_v<std::array<float, 0>, Ints> &&
      !std::is_convertible_v<std::vector<bool>, Ints> && !std::is_convertible_v<std::string, Ints>);
  // The others take any container too, of things that outlive the call.
  CHECK(cat(std::array<Tensor, 2>{x, x}).size(0) == 4 && stack(std::list<Tensor>{x, x}).dim() == 3);
  CHECK(histogram(from({1., 2.}), 2, std::vector<int>{0, 4}).bin_edges.to_vector<double>() ==
        (Doubles_{0, 2, 4}));
  CHECK(names(rename(x, std::array<std::string, 2>{"a", "b"}))[1] == "b");
  CHECK(index_get(x, std::array<Index, 2>{0, slice(1)}).numel() == 2);
}

static void texts() {
  std::ostringstream stream;
  stream << from({{1, 2}, {3, 4}});
  CHECK(stream.str() == "tensor([[1, 2],\n        [3, 4]], dtype=torch.int32)");
  const std::string path = "../../build/capi-test/cpp.pt";
  save_dict(path, {"weight", "bias"}, {from({1., 2.}), from({3})});
  const auto loaded = load_dict(path);
  CHECK(loaded.names == (std::vector<std::string>{"weight", "bias"}) &&
        has<double>(loaded.tensors[0], {2}, {1, 2}));
  std::remove(path.c_str());
  // C would see the beginning of a text with a NUL in it.
  const std::string cut("a\0b", 3);
  THROWS(npy_load(cut), TENSOR_ERROR_VALUE,
         "npy_load: path must not have NUL characters: 'a' has one at 1");
  THROWS(save_dict(path, {"weight", cut}, {ones({1}), ones({1})}), TENSOR_ERROR_VALUE,
         "save_dict: names must not have NUL characters");
  THROWS(fft::fft(ones({2}), std::nullopt, -1, cut), TENSOR_ERROR_VALUE, "fft.fft: norm");
  try {
    load_dict(path);
    CHECK(false);
  } catch (const Error &error) {
    CHECK(error.kind() == TENSOR_ERROR_IO && error.code() == ENOENT);
  }
}

int main() {
  const int64_t before = tensor_live_handles();
  dtypes(), items(), operators(), arguments(), numbers(), lists(), views(), texts();
  CHECK(tensor_live_handles() == before);
}
