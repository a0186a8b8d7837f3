// tensor.hpp: calls as programs write them, in every standard and compiler.
#include <array>
#include <cmath>
#include <string_view>

#include "check.hpp"

using namespace tensor;
using Sizes = std::vector<int64_t>;

// A small network of convolutions, its loss and its gradients.
static void network() {
  manual_seed(1);
  const Options learned = Options(float32).requires_grad();
  const Tensor x = randn({2, 3, 8, 8}), target = from(std::vector<int64_t>{1, 3});
  const Tensor w1 = randn({4, 3, 3, 3}, learned), b1 = zeros({4}, learned);
  const Tensor w2 = randn({8, 4, 3, 3}, learned), b2 = zeros({8}, learned);
  const Tensor w3 = randn({5, 8}, learned), b3 = zeros({5}, learned);
  const Tensor mean = zeros({4}), variance = ones({4});
  Tensor h = conv2d(x, w1, b1, {1}, {1});
  h = nn::batch_norm(h, mean, variance, {}, {}, true, 0.1, 1e-5);
  h = max_pool2d(relu(h), {2});
  h = max_pool2d(relu(conv2d(h, w2, b2, {1, 1}, {1, 1})), 2, 2);
  h = nn::dropout(h, 0.25, false);
  h = nn::adaptive_avg_pool2d(h, {1, 1}).flatten(1);
  const Tensor logits = nn::linear(h, w3, b3);
  CHECK(logits.sizes() == (Sizes{2, 5}));
  const Tensor loss = nn::cross_entropy(logits, target);
  backward({loss});
  for (const Tensor &p : {w1, b1, w2, b2, w3, b3})
    CHECK(p.grad() && p.grad()->sizes() == p.sizes());
  const NoGrad guard;
  for (const Tensor &p : {w1, b1, w2, b2, w3, b3}) p.sub_(*p.grad(), 0.1);
  CHECK(w1.is_leaf() && softmax(logits, 1).sum(1).sizes() == Sizes{2});
}

static Sizes shape(const Tensor &t) { return t.sizes(); }

static void convolutions() {
  const Tensor x = ones({1, 2, 5, 5}), w = ones({3, 2, 3, 3}), b = zeros({3});
  const Sizes same{1, 3, 5, 5}, valid{1, 3, 3, 3};
  for (const Tensor &y :
       {conv2d(x, w, b, {1}, {1}), conv2d(x, w, b, {1, 1}, {1, 1}), conv2d(x, w, {}, 1, 1),
        conv2d(x, w, b, 1, {1}), conv2d(x, w, std::nullopt, {1}, 1), conv2d(x, w, b, {1}, {1}, {1}),
        conv2d(x, w, b, {1}, {1}, {1}, 1), conv2d(x, w, b, std::array<int, 2>{1, 1}, Sizes{1, 1}),
        conv2d_padding(x, w, b, {1}, "same"), conv2d_padding(x, w, {}, 1, std::string("same")),
        conv2d_padding(x, w, b, {1, 1}, std::string_view("same"), {1}, 1)})
    CHECK(shape(y) == same);
  for (const Tensor &y :
       {conv2d(x, w), conv2d(x, w, b), conv2d(x, w, {}), conv2d(x, w, {}, 1, 0),
        conv2d(x, w, b, {1}, {0}), conv2d_padding(x, w), conv2d_padding(x, w, b, 1, "valid")})
    CHECK(shape(y) == valid);
  CHECK(shape(conv2d(x, w, b, 2, 1)) == (Sizes{1, 3, 3, 3}) &&
        shape(conv2d(x, w, b, {2, 1})) == (Sizes{1, 3, 2, 3}));
  CHECK(shape(conv1d(ones({1, 2, 5}), ones({3, 2, 3}), {}, 1, {1})) == (Sizes{1, 3, 5}) &&
        shape(conv3d(ones({1, 1, 3, 3, 3}), ones({1, 1, 1, 1, 1}), {}, {1}, {0, 0, 0})) ==
            (Sizes{1, 1, 3, 3, 3}));
  CHECK(shape(conv_transpose2d(x, ones({2, 3, 3, 3}), b, {2}, {1}, {1})) == (Sizes{1, 3, 10, 10}));
  CHECK(shape(max_pool2d(x, 2)) == (Sizes{1, 2, 2, 2}) &&
        shape(max_pool2d(x, {3, 3}, {1}, {1})) == shape(x) &&
        shape(nn::avg_pool2d(x, {2}, {})) == (Sizes{1, 2, 2, 2}));
  CHECK(shape(nn::pad(x, {1, 1})) == (Sizes{1, 2, 5, 7}) &&
        shape(nn::pad(x, {1, 1, 2, 2}, "reflect")) == (Sizes{1, 2, 9, 7}));
  CHECK(shape(nn::unfold(x, {3}, {1}, {1}, {2})) == (Sizes{1, 18, 9}) &&
        shape(nn::layer_norm(x, {5, 5})) == shape(x));
}

static void reductions() {
  const Tensor x = from({{1., 2.}, {3., 4.}});
  const double all = std::sqrt(30.);
  const Sizes two{2}, kept{2, 1};
  CHECK(x.norm().item<double>() == all && x.norm({}).item<double>() == all &&
        x.norm("fro").item<double>() == all && x.norm(2, {0, 1}).item<double>() == all);
  for (const Tensor &t : {x.norm({}, {1}),
                          x.norm(2, 1),
                          x.norm(std::nullopt, {1}),
                          x.norm(1., {0}),
                          x.norm("fro", {1}),
                          x.norm(2, Sizes{1}),
                          linalg::norm(x, {}, {1}),
                          linalg::vector_norm(x, 2, {1}),
                          x.sum({1}),
                          x.sum(1),
                          x.mean({0}),
                          x.mean(0),
                          x.std({0}),
                          x.std(0),
                          x.var({1}, true),
                          x.amax({0}),
                          x.logsumexp({1}),
                          x.argmax(1),
                          x.argmax({1}),
                          x.cumsum({0})[0],
                          x.prod(0),
                          x.any(1),
                          x.all({1})})
    CHECK(shape(t) == two);
  CHECK(shape(x.sum({1}, true)) == kept && shape(x.norm({}, {1}, true)) == kept &&
        shape(x.mean(1, true)) == kept && shape(x.std({1}, true, true)) == kept &&
        x.sum({0, 1}, false, float32).dtype() == float32);
  CHECK(x.max().item<double>() == 4 && x.max({0}).values[1].item<double>() == 4 &&
        shape(x.max(0, true).indices) == (Sizes{1, 2}) &&
        x.max({1}, true).values[0].item<int>() == 2);
}

static void shapes() {
  const Tensor x = arange(6, float32).reshape({2, 3}), one = ones({1});
  const Tensor none = one.view({});
  CHECK(none.dim() == 0 && none.dtype() == float32 && one.view(int32).item<int>() == 0x3f800000);
  CHECK(shape(x.view({-1})) == Sizes{6} && shape(x.view(6)) == Sizes{6} &&
        shape(x.reshape(-1)) == Sizes{6} && shape(x.reshape({3, -1})) == (Sizes{3, 2}));
  CHECK(shape(x.permute({1, 0})) == (Sizes{3, 2}) && shape(x.transpose(0, 1)) == (Sizes{3, 2}) &&
        shape(x.unsqueeze(0).squeeze()) == (Sizes{2, 3}) &&
        shape(x.unsqueeze({0}).squeeze({0})) == (Sizes{2, 3}));
  CHECK(shape(x.expand({4, 2, 3})) == (Sizes{4, 2, 3}) &&
        shape(x.repeat({2, 1})) == (Sizes{4, 3}) && shape(x.flip({0})) == (Sizes{2, 3}) &&
        shape(x.roll({1}, {0})) == (Sizes{2, 3}));
  CHECK(x.chunk(2).size() == 2 && x.split(1).size() == 2 && split_sizes(x, {1, 2}, 1).size() == 2 &&
        x.unbind().size() == 2 && tensor_split(x, {3}, 1).size() == 3);
  CHECK(shape(x.narrow(1, {0}, 2)) == (Sizes{2, 2}) && shape(x.select(0, {1})) == Sizes{3} &&
        shape(repeat_interleave(x, {2}, {0})) == (Sizes{4, 3}));
  CHECK(shape(x.index_select({1}, from({0, 2}))) == (Sizes{2, 2}) &&
        shape(cat({x, x})) == (Sizes{4, 3}) && shape(stack({x, x}, {1})) == (Sizes{2, 2, 3}) &&
        shape(tril(ones({3, 3}), {1})) == (Sizes{3, 3}));
  CHECK(shape(x.flatten({0}, {1})) == Sizes{6} && shape(x.movedim({0}, {1})) == (Sizes{3, 2}));
}

// Operators on lists return a list, or write to the tensors of the first one.
static void lists() {
  const std::vector<Tensor> list{zeros({2}), zeros({3})};
  foreach_add_(list, {ones({2}), ones({3})}, 2);
  foreach_neg_({list[0], list[1]});
  const std::vector<Tensor> halves = foreach_div(list, 2);
  CHECK(list[0].sum().item<float>() == -4 && halves[1].sum().item<float>() == -3);
  fused_sgd_(list, halves, {}, 0, 0, 1, 0, false, false, true);
  CHECK(list[1].sum().item<float>() == -3);
}

static void makers() {
  CHECK(zeros({}).dim() == 0 && ones({0}).numel() == 0 && shape(empty({2, 0})) == (Sizes{2, 0}) &&
        full({}, 3).item<int>() == 3 && full({2}, {7}).sum().item<int>() == 14);
  CHECK(shape(randint(10, {2})) == Sizes{2} && shape(randint(5, 10, {2, 3})) == (Sizes{2, 3}) &&
        shape(randint({0}, {10}, {4})) == Sizes{4} && shape(normal(0, 1, {2, 3})) == (Sizes{2, 3}));
  CHECK(shape(arange(0, 10, 2)) == Sizes{5} && arange({0}, {4}).dtype() == int64 &&
        shape(linspace(0, 1, 5)) == Sizes{5} && shape(eye({2}, {3})) == (Sizes{2, 3}));
  CHECK(zeros({2}, {float64}).dtype() == float64 && rand({2}, {}).dtype() == float32);
}

static void values() {
  const Tensor x = from({{4., 1.}, {1., 3.}});
  CHECK(clamp(x, {}, 2).max().item<double>() == 2 && x.clamp({2}).min().item<double>() == 2 &&
        clamp(x, 2, {}).min().item<double>() == 2);
  CHECK(x.sort({1}).values[0][0].item<double>() == 1 &&
        x.topk(1, {1}).indices[0][0].item<int>() == 0 && x.argsort({0}, true).dim() == 2 &&
        x.median({0}).indices.dim() == 1 && x.kthvalue(1, {0}).values.dim() == 1);
  CHECK(x.gather({1}, zeros({2, 1}, int64)).sum().item<double>() == 5 &&
        where(x > 2, x, {0}).sum().item<double>() == 7 &&
        x.masked_fill(x > 2, {0}).sum().item<double>() == 2);
  CHECK(std::abs(linalg::det(x).item<double>() - 11) < 1e-12 &&
        linalg::matrix_norm(x, "nuc").dim() == 0 &&
        linalg::matrix_norm(x, {1}).item<double>() == 5 && linalg::cond(x, {}).item<double>() > 1 &&
        linalg::pinv(x, {0.}, {0.}).dim() == 2);
  CHECK(tensordot(x, x, {1}).dim() == 2 && tensordot(x, x, {0}, {0}).dim() == 2 &&
        addmm(x, x, x, {1}, {0}).equal(x) && add(x, x, {2}).sum().item<double>() == 27);
  CHECK(div(x, 2, "floor").sum().item<double>() == 3 && div(x, 2, {}).sum().item<double>() == 4.5 &&
        x.quantile({0.5}).item<double>() == 2);
  static_assert(!std::is_convertible_v<int, Text> && !std::is_convertible_v<std::nullptr_t, Text> &&
                std::is_convertible_v<const char *, Text> &&
                std::is_convertible_v<std::string, Text>);
  static_assert(!std::is_constructible_v<Tensor, int> &&
                !std::is_constructible_v<Tensor, std::nullptr_t>);
}

static void gradients() {
  const Tensor x = from({1., 2.}, Options(float64).requires_grad());
  const Tensor y = x * x;
  backward({y}, {ones({2}, float64)}, true);
  CHECK(x.grad()->to_vector<double>() == (std::vector<double>{2, 4}));
  backward({y.sum()});
  CHECK(x.grad()->to_vector<double>() == (std::vector<double>{4, 8}));
  const auto made = autograd_grad({(x * 3).sum()}, {x});
  CHECK(made.size() == 1 && made[0]->to_vector<double>() == (std::vector<double>{3, 3}));
}

int main() {
  const int64_t before = tensor_live_handles();
  network(), convolutions(), reductions(), shapes(), lists(), makers(), values(), gradients();
  CHECK(tensor_live_handles() == before);
}
