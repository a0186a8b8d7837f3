"""nn.utils, nn.attention and func.functional_call: gradient clipping, parametrizations, pruning, fusion, modules called with given
parameters.
"""

import copy
import math

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.func import functional_call, grad, stack_module_state, vmap
from libtensor.nn.attention import SDPBackend, bias, sdpa_kernel
from libtensor.nn.attention.flex_attention import BlockMask, and_masks, create_block_mask, create_mask, flex_attention, or_masks
from libtensor.nn.utils import parametrizations, parametrize, prune, stateless

U = nn.utils
F = nn.functional


def error(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
def test_gradients_are_clipped_by_the_norm_of_all(norm_type):
    params = [torch.zeros(2, 3, requires_grad=True), torch.zeros(4, requires_grad=True), torch.zeros(1, requires_grad=True)]
    params[0].grad, params[1].grad = torch.arange(6.0).view(2, 3), torch.full((4,), -2.0)
    before = torch.cat([params[0].grad.flatten(), params[1].grad])
    norm = U.clip_grad_norm_(params, 1.5, norm_type)
    after = torch.cat([params[0].grad.flatten(), params[1].grad])
    assert torch.allclose(norm, torch.linalg.vector_norm(before, norm_type)) and params[2].grad is None
    assert torch.allclose(after, before * (1.5 / (norm + 1e-6)))
    again = after.clone()
    U.clip_grad_norm_(params, 100.0, norm_type)
    assert torch.equal(torch.cat([params[0].grad.flatten(), params[1].grad]), again)
    U.clip_grad_value_(params[1], 0.1)
    assert params[1].grad.abs().max() <= 0.1
    params[1].grad.fill_(math.nan)
    assert "non-finite" in error(RuntimeError, lambda: U.clip_grad_norm_(params, 1.0, error_if_nonfinite=True))
    assert U.clip_grad_norm_([], 1.0) == 0


def test_parameters_as_a_vector():
    net = nn.Linear(3, 2)
    vector = U.parameters_to_vector(net.parameters())
    U.vector_to_parameters(torch.arange(8.0), net.parameters())
    assert vector.shape == (8,) and net.bias.tolist() == [6, 7] and net.weight[1].tolist() == [3, 4, 5]
    error(TypeError, lambda: U.vector_to_parameters([1.0], net.parameters()))


# ----------------------------------------------------------------------------------------------------- parametrizations


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


class Sum(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, x):
        return x / 2, x / 2


def test_a_parametrized_tensor_follows_its_original():
    net = nn.Linear(2, 2)
    net.weight.data.fill_(2.0)
    weight = net.weight
    parametrize.register_parametrization(net, "weight", Exp())
    assert type(net).__name__ == "ParametrizedLinear" and parametrize.is_parametrized(net, "weight") and isinstance(net, nn.Linear)
    assert net.parametrizations.weight.original is weight and torch.allclose(net.weight, torch.full((2, 2), 2.0))
    assert sorted(net.state_dict()) == ["bias", "parametrizations.weight.original"]
    net.weight = torch.full((2, 2), 3.0)
    assert torch.allclose(weight, torch.full((2, 2), math.log(3)))
    net(torch.ones(1, 2)).sum().backward()
    assert torch.allclose(weight.grad, torch.full((2, 2), 3.0))
    made = copy.deepcopy(net)
    made.weight = torch.ones(2, 2)
    assert torch.allclose(net.weight, torch.full((2, 2), 3.0))
    with parametrize.cached():
        assert net.weight is net.weight
    assert net.weight is not net.weight
    parametrize.remove_parametrizations(net, "weight")
    assert type(net) is nn.Linear and isinstance(net.weight, nn.Parameter) and torch.allclose(net.weight, torch.full((2, 2), 3.0))


def test_parametrizations_of_several_originals_and_of_several_steps():
    net = nn.Linear(2, 2)
    before = net.weight.detach().clone().abs() + 1
    net.weight.data.copy_(before)
    parametrize.register_parametrization(net, "weight", Sum())
    parametrize.register_parametrization(net, "weight", Exp())
    assert torch.allclose(net.weight, before.exp())
    assert [name for name, _ in net.parametrizations.weight.named_parameters()] == ["original0", "original1"]
    net.weight = before
    assert torch.allclose(net.weight, before, atol=1e-6)
    assert "leave_parametrized=False" in error(ValueError, lambda: parametrize.remove_parametrizations(net, "weight", False))


def test_errors_of_parametrizations():
    class Half(nn.Module):
        def forward(self, x):
            return x[:1]

    net = nn.Linear(2, 2)
    assert "may not change the shape" in error(ValueError, lambda: parametrize.register_parametrization(net, "weight", Half()))
    assert type(net) is nn.Linear and isinstance(net.weight, nn.Parameter)
    assert parametrize.register_parametrization(net, "weight", Half(), unsafe=True).weight.shape == (1, 2)
    assert "does not have a parameter" in error(ValueError, lambda: parametrize.register_parametrization(net, "no", Half()))


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5)])
@pytest.mark.parametrize("name", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights_stay_orthogonal(shape, name, trivial):
    torch.manual_seed(0)
    net = nn.Linear(*reversed(shape)).double()
    parametrizations.orthogonal(net, "weight", name, use_trivialization=trivial)

    def orthonormal(w):
        w = w if w.size(0) >= w.size(1) else w.mT
        return torch.allclose(w.mT @ w, torch.eye(w.size(1), dtype=w.dtype), atol=1e-9)

    assert orthonormal(net.weight)
    net(torch.ones(1, shape[1], dtype=torch.float64)).square().sum().backward()
    original = net.parametrizations.weight.original
    original.data -= 0.1 * original.grad
    assert orthonormal(net.weight)
    if trivial:
        net.weight = torch.eye(*shape, dtype=torch.float64)
        assert torch.allclose(net.weight, torch.eye(*shape, dtype=torch.float64), atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(5,), (5, 4), (5, 4, 3)])
def test_weight_norms_are_those_of_the_operator(shape, dtype):
    """The operator computes in float32 for 16-bit floats."""
    v = torch.randn(shape).to(dtype)
    for dim in range(-1, len(shape)):
        g = torch.rand([n if i == dim else 1 for i, n in enumerate(shape)] if dim >= 0 else []).to(dtype)
        made = torch._weight_norm(v, g, dim)
        assert made.dtype is dtype and torch.equal(made, torch.ops.aten._weight_norm(v, g, dim))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_weight_norms_of_large_16_bit_floats(dim):
    v = torch.full((2, 64), 30000.0, dtype=torch.float16)
    g = torch.ones((2, 1) if dim == 0 else (1, 64) if dim == 1 else (), dtype=torch.float16)
    made = torch._weight_norm(v, g, dim)
    assert torch.equal(made, torch.full_like(v, {0: 0.125, 1: 0.5**0.5, -1: 0.0884}[dim]))
    parametrized = nn.utils.parametrizations.weight_norm(nn.Linear(64, 2, dtype=torch.bfloat16))
    made = parametrized.weight.double()
    v, g = parametrized.parametrizations.weight.original1, parametrized.parametrizations.weight.original0
    expected = v.double() * g.double() / v.double().norm(2, 1, True)
    assert v.dtype is torch.bfloat16 and ((made - expected).abs() <= expected.abs() * (2**-8 + 1e-6)).all()


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("dim", [0, 1, None])
def test_both_weight_norms_are_one_function(dim):
    torch.manual_seed(0)
    one, two = nn.Conv1d(2, 3, 2), nn.Conv1d(2, 3, 2)
    two.load_state_dict(one.state_dict())
    weight = one.weight.detach().clone()
    U.weight_norm(one, dim=dim)
    parametrizations.weight_norm(two, dim=dim)
    assert torch.allclose(one.weight, weight, atol=1e-6) and torch.allclose(two.weight, weight, atol=1e-6)
    one.weight_g.data *= 2
    two.load_state_dict(one.state_dict())
    x = torch.ones(1, 2, 3)
    assert torch.allclose(one(x), two(x), atol=1e-6) and torch.allclose(two.weight, 2 * weight, atol=1e-6)
    U.remove_weight_norm(one)
    assert isinstance(one.weight, nn.Parameter) and list(one.state_dict()) == ["bias", "weight"]


@pytest.mark.parametrize("spectral", [U.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm_divides_by_the_largest_singular_value(spectral):
    torch.manual_seed(0)
    net = spectral(nn.Linear(5, 4), n_power_iterations=50)
    net(torch.ones(1, 5))
    assert abs(torch.linalg.matrix_norm(net.weight, 2).item() - 1) < 1e-3
    net.eval()
    assert torch.equal(net(torch.ones(1, 5)), net(torch.ones(1, 5)))


# --------------------------------------------------------------------------------------------------------------- pruning


def test_pruning_masks_parameters():
    net = nn.Linear(4, 2)
    net.weight.data.copy_(torch.arange(8.0).view(2, 4) - 3)
    prune.l1_unstructured(net, "weight", 0.25)
    assert net.weight_mask.tolist() == [[1, 1, 1, 0], [0, 1, 1, 1]] or net.weight_mask.sum() == 6
    prune.ln_structured(net, "weight", 1, n=2, dim=0)
    assert not net.weight[0].any() and net.weight[1].any() and prune.is_pruned(net)
    assert sorted(net.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    assert torch.equal(net(torch.ones(1, 4)), F.linear(torch.ones(1, 4), net.weight_orig * net.weight_mask, net.bias))
    prune.remove(net, "weight")
    assert isinstance(net.weight, nn.Parameter) and not prune.is_pruned(net) and not net.weight[0].any()
    prune.custom_from_mask(net, "bias", torch.tensor([0, 1]))
    assert net.bias[0] == 0
    error(ValueError, lambda: prune.remove(net, "weight"))
    error(ValueError, lambda: prune.random_unstructured(net, "weight", 1.5))


def test_pruning_counts_elements():
    torch.manual_seed(0)
    for amount, left in ((3, 17), (0.5, 10), (0, 20), (20, 0)):
        net = prune.random_unstructured(nn.Linear(5, 4), "weight", amount)
        assert net.weight_mask.sum() == left
    nets = [nn.Linear(5, 4), nn.Linear(4, 5)]
    prune.global_unstructured([(net, "weight") for net in nets], prune.L1Unstructured, amount=0.5)
    assert sum(net.weight_mask.sum().item() for net in nets) == 20
    assert prune.random_structured(nn.Conv2d(2, 4, 3), "weight", 2, dim=0).weight_mask.flatten(1).sum(1).bool().sum() == 2


# ------------------------------------------------------------------------------------------------------ other conversions


def test_fused_layers_compute_the_same():
    torch.manual_seed(0)
    for layer, norm, x in (
        (nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), torch.rand(2, 3, 5, 5)),
        (nn.ConvTranspose2d(3, 4, 2, bias=False), nn.BatchNorm2d(4, affine=False), torch.rand(2, 3, 5, 5)),
        (nn.Linear(3, 4), nn.BatchNorm1d(4), torch.rand(5, 3)),
    ):
        norm(layer(x))
        layer.eval(), norm.eval()
        if isinstance(layer, nn.Linear):
            fused = U.fuse_linear_bn_eval(layer, norm)
        else:
            fused = U.fuse_conv_bn_eval(layer, norm, transpose=isinstance(layer, nn.ConvTranspose2d))
        assert torch.allclose(fused(x), norm(layer(x)), atol=1e-5)
    error(AssertionError, lambda: U.fuse_conv_bn_eval(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4)))


def test_modules_without_initial_values():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    net = U.skip_init(nn.Linear, 3, 4, dtype=torch.float64)
    assert net.weight.shape == (4, 3) and net.weight.dtype is torch.float64 and not net.weight.is_meta
    assert torch.equal(torch.get_rng_state(), before)
    error(RuntimeError, lambda: U.skip_init(nn.ReLU))
    conv = U.convert_conv2d_weight_memory_format(nn.Sequential(nn.Conv2d(3, 4, 2)), torch.channels_last)[0]
    assert conv.weight.is_contiguous(memory_format=torch.channels_last)


def test_calls_with_other_parameters():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = {name: t.clone() for name, t in net.state_dict().items()}
    given = {"0.weight": torch.eye(2, requires_grad=True), "0.bias": torch.zeros(2), "1.running_mean": torch.zeros(2)}
    out = functional_call(net, given, torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
    out.square().sum().backward()
    assert given["0.weight"].grad is not None and net[0].weight.grad is None and given["1.running_mean"].any()
    assert torch.equal(net[1].running_mean, before["1.running_mean"]) and isinstance(net[0].weight, nn.Parameter)
    assert "ambiguous" in error(ValueError, lambda: functional_call(net, [given, given], (torch.ones(2, 2),)))
    assert "Missing key(s)" in error(RuntimeError, lambda: functional_call(net, given, torch.ones(2, 2), strict=True))
    error(RuntimeError, lambda: functional_call(net, given, torch.ones(2, 3)))
    assert isinstance(net[0].weight, nn.Parameter)
    with pytest.warns(FutureWarning):
        stateless.functional_call(net, given, torch.ones(2, 2))


def test_tied_parameters_are_replaced_together():
    net = nn.Module()
    net.a = net.b = nn.Parameter(torch.zeros(1))
    net.forward = lambda: net.a + net.b
    assert functional_call(net, {"a": torch.ones(1)}, ()) == 2 and functional_call(net, {"a": torch.ones(1)}, (), tie_weights=False) == 1
    assert "tied" in error(ValueError, lambda: functional_call(net, {"a": torch.ones(1), "b": torch.zeros(1)}, ()))


def test_gradients_of_each_sample_and_of_an_ensemble():
    torch.manual_seed(0)
    nets = [nn.Linear(3, 2) for _ in range(4)]
    params, buffers = stack_module_state(nets)
    x = torch.rand(5, 3)
    made = vmap(lambda p: functional_call(nets[0], p, x))(params)
    assert torch.allclose(made, torch.stack([net(x) for net in nets]), atol=1e-6) and not buffers and params["weight"].is_leaf
    own = {name: p.detach() for name, p in nets[0].named_parameters()}
    each = vmap(grad(lambda p, row: functional_call(nets[0], p, row).square().sum()), (None, 0))(own, x)
    for i in range(5):
        nets[0].zero_grad()
        nets[0](x[i]).square().sum().backward()
        assert torch.allclose(each["weight"][i], nets[0].weight.grad, atol=1e-5)
    error(RuntimeError, lambda: stack_module_state([]))
    error(RuntimeError, lambda: stack_module_state([nets[0], nn.ReLU()]))


# -------------------------------------------------------------------------------------------------------------- attention


def test_flexible_attention_is_attention():
    torch.manual_seed(0)
    q, k, v = torch.rand(2, 4, 5, 8), torch.rand(2, 2, 7, 8), torch.rand(2, 2, 7, 3)
    mask = create_block_mask(lambda b, h, i, j: j <= i + h, None, 4, 5, 7, BLOCK_SIZE=2)
    dense = create_mask(lambda b, h, i, j: j <= i + h, None, 4, 5, 7)
    slope = torch.tensor([0.0, 1.0, 2.0, 3.0])

    def score_mod(score, b, h, i, j):
        return score + slope[h] * (j - i)

    made, lse = flex_attention(q, k, v, score_mod, mask, enable_gqa=True, return_lse=True)
    scores = q @ k.repeat_interleave(2, 1).mT / math.sqrt(8)
    scores = scores + slope.view(4, 1, 1) * (torch.arange(7) - torch.arange(5)[:, None])
    scores = scores.masked_fill(~dense, -math.inf)
    assert torch.allclose(made, scores.softmax(-1) @ v.repeat_interleave(2, 1), atol=1e-5)
    assert torch.allclose(lse, scores.logsumexp(-1), atol=1e-5)
    assert "enable_gqa" in error(ValueError, lambda: flex_attention(q, k, v))


def test_queries_without_keys_get_zeros():
    q = torch.rand(1, 1, 3, 2, requires_grad=True)
    made = flex_attention(q, q, q, block_mask=create_block_mask(lambda b, h, i, j: i > j, None, None, 3, 3))
    made.sum().backward()
    assert not made[0, 0, 0].any() and made[0, 0, 1].any() and q.grad.isfinite().all()


def test_block_masks():
    causal = create_block_mask(lambda b, h, i, j: i >= j, None, None, 6, 6, BLOCK_SIZE=2)
    assert causal.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]] and round(causal.sparsity(), 2) == 33.33
    assert causal.full_kv_num_blocks.tolist() == [[[0, 1, 2]]] and causal.kv_num_blocks.tolist() == [[[1, 1, 1]]]
    window = and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j < 2)
    either = or_masks(window, lambda b, h, i, j: j == 0)
    wanted = [[j <= i and (i - j < 2 or j == 0) for j in range(4)] for i in range(4)]
    assert create_mask(either, None, None, 4, 4)[0, 0].tolist() == wanted
    blocks = BlockMask.from_kv_blocks(torch.tensor([[[1, 1]]]), torch.tensor([[[[1, 0], [0, 1]]]]), BLOCK_SIZE=2)
    assert blocks.shape == (1, 1, 4, 4) and blocks.to_mask((1, 1, 4, 4))[0, 0, 0].tolist() == [False, False, True, True]


def test_kernels_and_causal_biases():
    q = torch.rand(1, 1, 3, 2)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        made = F.scaled_dot_product_attention(q, q, q, attn_mask=bias.causal_upper_left(3, 3))
    assert torch.allclose(made, F.scaled_dot_product_attention(q, q, q, is_causal=True), atol=1e-6)
    assert bias.causal_lower_right(2, 3).tolist() == [[True, True, False], [True, True, True]]
    with pytest.raises(AssertionError), sdpa_kernel(3):
        pass


def test_an_encoder_leaves_padding_out_in_evaluation_mode():
    torch.manual_seed(0)
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    x, padding = torch.rand(2, 3, 4), torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        made = net(x, src_key_padding_mask=padding)
        assert not made[0, 2].any() and made[0, 1].any() and torch.allclose(made[0, :2], net(x[:1, :2])[0], atol=1e-5)
        assert net(x, src_key_padding_mask=padding.flip(1))[0, 0].any()
    assert net(x, src_key_padding_mask=padding)[0, 2].any()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(n):
    torch.manual_seed(0)
    x, w = torch.rand(2, 4, *[6] * n, requires_grad=True), torch.rand(6, 2, *[3] * n, requires_grad=True)
    convolution, options = getattr(F, f"conv{n}d"), {"stride": 2, "padding": 1, "groups": 2}
    out = convolution(x, w, **options)
    seed = torch.rand(out.shape)
    out.backward(seed)
    of_input, of_weight = (getattr(nn.grad, f"conv{n}d_{name}") for name in ("input", "weight"))
    assert torch.allclose(of_input(x.shape, w.detach(), seed, **options), x.grad, atol=1e-5)
    assert torch.allclose(of_weight(x.detach(), w.shape, seed, **options), w.grad, atol=1e-4)


def test_one_value_or_one_for_each_dimension():
    from libtensor.nn.common_types import _size_2_t
    from libtensor.nn.modules.utils import _ntuple, _pair, _triple

    assert _pair(3) == (3, 3) == _ntuple(2)(3) and _triple([1, 2, 3]) == (1, 2, 3) and _size_2_t is not None


class SumOfAll(nn.Module):
    """The sum of the input and of tensors of every kind of name."""

    def __init__(self):
        super().__init__()
        self.weight, self.plain, self.nothing, self.number = nn.Parameter(torch.ones(2)), torch.zeros(2), None, 5
        self.register_buffer("buffer", None)
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        names = ("weight", "plain", "nothing", "buffer", "absent")
        return sum((t for name in names if (t := getattr(self, name, None)) is not None), x)


@pytest.mark.parametrize("name", ["weight", "plain", "nothing", "buffer", "absent", "inner.absent"])
def test_functional_call_replaces_tensors_of_any_name(name):
    module, given = SumOfAll(), torch.full((2,), 7.0)
    before = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    made = torch.func.functional_call(module, {name: given}, torch.zeros(2))
    assert made.tolist() == [{"weight": 7, "inner.absent": 1}.get(name, 8)] * 2
    assert {key: value for key, value in vars(module).items() if not key.startswith("_")} == before
    assert module.weight.tolist() == [1, 1] and module.buffer is None and not hasattr(module.inner, "absent")


def test_functional_call_rejects_values_that_are_no_tensors():
    module = SumOfAll()
    for given, kind in (
        ({"inner": 1}, TypeError),
        ({"number": torch.ones(2)}, TypeError),
        ({"weight": 5}, TypeError),
        ({"a.b": torch.ones(2)}, AttributeError),
    ):
        with pytest.raises(kind):
            torch.func.functional_call(module, given, torch.zeros(2))
    assert module.weight.tolist() == [1, 1] and module.number == 5


@pytest.mark.parametrize("structured", [prune.ln_structured, prune.random_structured])
@pytest.mark.parametrize("pruned", [False, True])
def test_structured_pruning_of_a_vector_is_rejected(structured, pruned):
    module = nn.BatchNorm1d(6)
    if pruned:
        prune.l1_unstructured(module, "weight", 2)
    with pytest.raises(ValueError, match="multidimensional"):
        structured(module, "weight", 2, **({"n": 2} if structured is prune.ln_structured else {}), dim=0)


def test_norms_are_rejected_for_dimensions_that_a_weight_lacks():
    for shape, dims in (((3,), (-3, -2, 1, 2)), ((3, 4), (-3, 2, 3)), ((2, 3, 4), (-4, 3))):
        for dim in dims:
            with pytest.raises(IndexError, match="Dimension out of range"):
                torch.norm_except_dim(torch.ones(shape), 2, dim)
    convolution = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 2), dim=1)
    with pytest.raises(IndexError):
        convolution.weight = torch.ones(3)
    assert [tuple(p.shape) for p in convolution.parameters()] == [(4,), (1, 3, 1), (4, 3, 2)]


def test_tensors_and_submodules_are_exchanged_by_name():
    from libtensor.nn.utils._named_member_accessor import swap_submodule, swap_tensor

    layer, plain = torch.nn.Linear(2, 3), torch.ones(3, 2)
    weight = layer.weight
    assert swap_tensor(layer, "weight", plain) is weight and layer.weight is plain
    assert swap_tensor(layer, "weight", weight) is plain and layer.weight is weight
    with pytest.raises(AttributeError, match="Linear has no attribute `absent`"):
        swap_tensor(layer, "absent", plain)
    swap_tensor(layer, "absent", plain, allow_missing=True)
    assert layer.absent is plain
    outer, other = torch.nn.Sequential(layer), torch.nn.ReLU()
    assert swap_submodule(outer, "0", other) is layer and outer[0] is other
    with pytest.raises(KeyError):
        swap_submodule(outer, "a.b", other)


@pytest.mark.parametrize(
    ("inverse", "message"),
    [
        (lambda x: (x, x), "right_inverse must return a tensor"),
        (lambda x: x.bool(), "must have the same dtype"),
        (lambda x: x[:-1], "must have the same shape"),
    ],
    ids=["type", "dtype", "shape"],
)
def test_right_inverses_of_further_parametrizations(inverse, message):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x

    class Inverse(Same):
        def right_inverse(self, x):
            return inverse(x)

    module = torch.nn.Linear(3, 3)
    parametrize.register_parametrization(module, "weight", Same())
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(module, "weight", Inverse())
    assert len(module.parametrizations.weight) == 1
