"""Calls by ATen's names: the table against the schemas of PyTorch 2.15 (golden/aten_schemas.txt.gz), the results of overloads against
PyTorch's (golden/aten_calls.json.gz), and torch.ops.aten over it."""

import gzip
import json
import re
import warnings
from pathlib import Path

import pytest

import libtensor as torch
from libtensor.library import calls
from libtensor.library.aten import find_function
from libtensor.utils._pytree import tree_leaves

HERE = Path(__file__).parent
aten = torch.ops.aten


def recorded():
    """The schemas by name, and the names of Core ATen IR."""
    lines = gzip.decompress((HERE / "golden/aten_schemas.txt.gz").read_bytes()).decode().splitlines()
    schemas = {line.split("(")[0]: line.split("\t")[0] for line in lines}
    return schemas, {line.split("(")[0] for line in lines if line.endswith("\tcore")}


SCHEMAS, CORE = recorded()
HAVE = [name.removeprefix("aten::") for name in calls.list_operators() if name.startswith("aten::")]


def with_overload(name):
    return f"aten::{name}" if "." in name else f"aten::{name}.default"


def test_schemas_are_those_of_pytorch():
    assert len(HAVE) > 2300
    differing = [name for name in HAVE if calls.find_schema(with_overload(name)) != f"aten::{SCHEMAS.get(name)}"]
    assert differing == []


def test_core_operators_can_be_called():
    assert len(CORE) == 193 and CORE.issubset(HAVE)


def test_other_overloads_are_listed():
    page = set(re.findall(r"[\w.]+", (HERE / "../../../docs/gen_aten.md").read_text()))
    assert [name for name in SCHEMAS if name not in HAVE and name not in page and name.split(".")[0] not in page] == []


def read(value):
    """A recorded value: a tensor {"t": [dtype, sizes, elements]}, complex ones as pairs, a list {"l": items}, a dtype {"d": name}, {"v":
    number}."""
    if value is None:
        return None
    if "l" in value:
        return [read(item) for item in value["l"]]
    if "d" in value:
        return getattr(torch, value["d"])
    if "v" in value:
        return float(value["v"]) if value["v"] in ("inf", "-inf", "nan") else value["v"]
    dtype, sizes, elements = value["t"]
    if dtype.startswith("complex"):
        real = {"complex64": torch.float32, "complex128": torch.float64}[dtype]
        return torch.view_as_complex(torch.tensor(elements, dtype=real).reshape(*sizes, 2))
    return torch.tensor(elements, dtype=getattr(torch, dtype)).reshape(sizes)


def recorded_calls():
    lines = gzip.decompress((HERE / "golden/aten_calls.json.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


CALLS = recorded_calls()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call["name"])
def test_results_are_those_of_pytorch(call):
    args, kwargs = [read(a) for a in call["args"]], {k: read(v) for k, v in call["kw"].items()}
    results = calls.call_operator(with_overload(call["name"]), args, kwargs)
    expected = [read(value) for value in call["out"]]
    if not results and expected:
        (info,) = calls.describe(with_overload(call["name"]))
        names = [info.parameters[info.results[i].parameter].name.decode() for i in range(info.result_count)]
        results = [kwargs[name] if name in kwargs else args[0] for name in names]
    if len(results) == 1 and isinstance(results[0], list):
        results = results[0]
    assert len(results) == len(expected)
    for got, wanted in zip(results, expected, strict=True):
        if isinstance(wanted, torch.Tensor):
            torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5, equal_nan=True)
        else:
            assert got == wanted
    for got, wanted in zip(args, call.get("after", ()), strict=False):
        if wanted is not None:
            torch.testing.assert_close(got, read(wanted), rtol=2e-5, atol=2e-5)


PACKETS = [name for name in dir(aten) if calls.describe(f"aten::{name}")]


def test_every_packet_can_be_called():
    assert len(PACKETS) > 1100
    for name in PACKETS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                getattr(aten, name)()
            except (TypeError, RuntimeError) as error:  # for the missing arguments
                assert not isinstance(error, NotImplementedError), name


WITHOUT_FUNCTION = [call for call in CALLS if find_function(call["name"].partition(".")[0]) is None]


@pytest.mark.parametrize("call", WITHOUT_FUNCTION, ids=lambda call: call["name"])
def test_packets_call_the_overload_that_arguments_fit(call):
    name, _, overload = call["name"].partition(".")
    made = []
    for operator in (getattr(aten, name), getattr(getattr(aten, name), overload or "default")):
        torch.manual_seed(0)
        made.append(tree_leaves(operator(*[read(a) for a in call["args"]], **{k: read(v) for k, v in call["kw"].items()})))
    for one, two in zip(*made, strict=True):
        assert one is two is None or torch.equal(torch.as_tensor(one).nan_to_num(), torch.as_tensor(two).nan_to_num())


def test_integers_can_be_bools():
    x = torch.arange(6).reshape(2, 3)
    assert aten.select.int(x, True, 0).tolist() == [0, 3] and aten.select.int(x, 0, index=True).tolist() == [3, 4, 5]
    assert aten.sum.dim_IntList(x, [True], True).tolist() == [[3], [12]]


def test_arguments_that_no_value_represents_raise():
    x = torch.ones(2)
    with pytest.raises(TypeError, match=r"aten::threshold_backward.default: arguments can be tensors"):
        aten.threshold_backward(x, x, object())
    assert aten.threshold_backward(grad_output=x, self=x, threshold=0.5).tolist() == [1, 1]


def test_parameters_are_described():
    (info,) = calls.describe("aten::add_.Tensor")
    parameters = [info.parameters[i] for i in range(info.parameter_count)]
    assert [(p.name, p.type, p.is_keyword_only, p.has_default, p.is_written) for p in parameters] == [
        (b"self", b"Tensor", False, False, True),
        (b"other", b"Tensor", False, False, False),
        (b"alpha", b"Scalar", True, True, False),
    ]
    assert info.result_count == 1 and info.results[0].parameter == 0
    assert len(calls.describe("aten::max")) > 3 and calls.describe("aten::maxx") == []


def test_schemas_of_overloads():
    schema = aten.add.Tensor._schema
    assert str(schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("aten::add", "Tensor", False)
    assert [(a.name, a.kwarg_only, a.has_default_value()) for a in schema.arguments] == [
        ("self", False, False),
        ("other", False, False),
        ("alpha", True, True),
    ]
    assert aten.add_.Tensor._schema.is_mutable and aten.relu.default._schema.overload_name == ""
    with pytest.raises(NotImplementedError, match=r"aten::_flash_attention_backward.default: libtensor does not have this overload"):
        _ = aten._flash_attention_backward.default._schema


def test_overloads_are_those_of_libtensor():
    count = 0
    for name in dir(aten):
        packet = getattr(aten, name)
        for overload in packet.overloads():
            op = getattr(packet, overload)
            qualified = f"aten::{name}" + ("" if overload == "default" else f".{overload}")
            assert (op.name(), op._name, op._opname, op._overloadname) == (qualified, qualified, name, overload)
            assert op.namespace == op._namespace == "aten" and op.overloadpacket is packet and not op._defined_in_python
            assert op._schema.name == f"aten::{name}" and op._schema.overload_name == ("" if overload == "default" else overload)
            assert op.is_view == any(a.alias_info for a in op._schema.arguments) and not op._schema.is_mutable or not op.is_view
            count += 1
        assert packet._overload_names == ["" if overload == "default" else overload for overload in packet.overloads()]
    assert count > 2000 and aten._flash_attention_backward.overloads() == []
    assert {"Tensor", "Scalar", "out"} <= set(aten.add.overloads()) and "int_float" not in aten.add.overloads()
    views = [aten.view.default, aten.split.Tensor, aten.reshape.default, aten.add.Tensor, aten.add_.Tensor, aten.relu.default]
    assert [op.is_view for op in views] == [True, True, True, False, False, False]


def test_all_operators_are_attributes():
    for name in HAVE:
        base, _, overload = name.partition(".")
        assert getattr(getattr(aten, base), overload or "default").name() in (f"aten::{name}", f"aten::{base}")
    x = torch.tensor([0.14, -3.0])
    assert torch.equal(aten.fake_quantize_per_tensor_affine.default(x, 0.1, 0, -10, 10), torch.tensor([0.1, -1.0]))


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 1.0, 2.0])])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 2, 2)])
def test_gradients_of_nll_loss(shape, weight, reduction):
    x = torch.randn(shape, requires_grad=True)
    target = torch.randint(0, 3, shape[:1] + shape[2:])
    target.view(-1)[0] = -100
    name = "nll_loss" if len(shape) == 2 else "nll_loss2d"
    loss, total = getattr(aten, f"{name}_forward").default(x, target, weight, reduction, -100)
    grad = torch.randn(loss.shape)
    (expected,) = torch.autograd.grad(loss, x, grad)
    backward = getattr(aten, f"{name}_backward")
    result = backward.default(grad, x.detach(), target, weight, reduction, -100, total.detach())
    torch.testing.assert_close(result, expected)
    out = torch.empty(0)
    assert backward.grad_input(grad, x.detach(), target, weight, reduction, -100, total.detach(), grad_input=out) is out and torch.equal(
        out, result
    )
    with pytest.raises(ValueError, match="argument 'reduction' is 3"):
        backward.default(grad, x.detach(), target, weight, 3, -100, total.detach())


@pytest.mark.parametrize("call", ["default", "out", "in place"])
def test_rrelu_writes_its_slopes_to_the_noise(call):
    x, noise = torch.tensor([[-1.0, 2.0], [-3.0, 4.0]]), torch.full((2, 2), 7.0)
    given, out = x.clone(), torch.empty(2, 2)
    if call == "default":
        y = aten.rrelu_with_noise.default(given, noise, 0.1, 0.3, True)
    elif call == "out":
        y = aten.rrelu_with_noise.out(given, noise, 0.1, 0.3, True, out=out)
    else:
        y = aten.rrelu_with_noise_.default(given, noise, 0.1, 0.3, True)
    assert y is {"default": y, "out": out, "in place": given}[call]
    assert torch.equal(y, x * noise) and ((noise == 1) == (x > 0)).all() and ((noise >= 0.1) & ((noise <= 0.3) | (x > 0))).all()
    before = noise.clone()
    torch.testing.assert_close(aten.rrelu_with_noise.default(x, noise, 0.1, 0.3, False), torch.where(x > 0, x, x * 0.2))
    assert torch.equal(noise, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("eps", [None, 0.5])
def test_fused_rms_norm_returns_the_scale(dtype, eps):
    x, weight = torch.randn(4, 2, 3, dtype=dtype), torch.randn(2, 3, dtype=dtype)
    y, rstd = aten._fused_rms_norm.default(x, [2, 3], weight, eps)
    assert torch.equal(y, torch.rms_norm(x, [2, 3], weight, eps)) and rstd.shape == (4, 1, 1)
    wide = x.float() if dtype is torch.bfloat16 else x
    assert rstd.dtype is wide.dtype
    least = torch.finfo(wide.dtype).eps if eps is None else eps
    torch.testing.assert_close(rstd, (wide.square().mean((1, 2), keepdim=True) + least).rsqrt())


@pytest.mark.parametrize("is_result", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_gradients_of_rrelu(training, is_result):
    x, grad = torch.randn(3, 4, dtype=torch.float64, requires_grad=True), torch.randn(3, 4, dtype=torch.float64)
    noise = torch.where(x > 0, 1.0, torch.rand(3, 4, dtype=torch.float64)).detach()
    y = x * noise if training else torch.nn.functional.leaky_relu(x, 0.2)
    (expected,) = torch.autograd.grad(y, x, grad)
    arguments = grad, (y if is_result else x).detach(), noise, 0.1, 0.3, training, is_result
    torch.testing.assert_close(aten.rrelu_with_noise_backward.default(*arguments), expected)
    out = torch.empty(0, dtype=torch.float64)
    assert aten.rrelu_with_noise_backward.out(*arguments, out=out) is out
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("mask", [[True, True], [True, False], [False, True], [False, False]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape, count", [((4, 2, 3), 2), ((4, 5), 1), ((3,), 1)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_gradients_of_fused_rms_norm(dtype, shape, count, weighted, mask):
    x, normalized = torch.randn(shape, dtype=dtype), list(shape[-count:])
    weight, grad = torch.randn(normalized, dtype=dtype) if weighted else None, torch.randn(shape, dtype=dtype)
    _, rstd = aten._fused_rms_norm.default(x, normalized, weight, 0.1)
    found = aten._fused_rms_norm_backward.default(grad, x, normalized, rstd, weight, mask)
    leaves = [None if t is None else t.to(rstd.dtype).requires_grad_() for t in (x, weight)]
    torch.rms_norm(leaves[0], normalized, leaves[1], 0.1).backward(grad.to(rstd.dtype))
    for given, leaf, wanted in zip(found, leaves, mask, strict=True):
        assert (given is None) == (not wanted or leaf is None)
        if given is not None:
            torch.testing.assert_close(given, leaf.grad.to(dtype))


def test_results_and_written_arguments():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert aten.add.Tensor(x, x, alpha=2).tolist() == [3, 6, 9]
    assert aten.add_.Scalar(x, 1) is x and x.tolist() == [2, 3, 4]
    values, indices = aten.max.dim(x, 0)
    assert (values.item(), indices.item()) == (4, 2)
    out = torch.empty(0)
    assert aten.mul.out(x, x, out=out) is out and out.tolist() == [4, 9, 16]
    assert [t.tolist() for t in aten.split.Tensor(x, 2)] == [[2, 3], [4]]
    assert aten._to_copy.default(x, dtype=torch.int64).dtype == torch.int64
    assert aten.sym_size.int(x, 0) == 3 and aten._local_scalar_dense.default(x[0]) == 2.0
    assert aten._softmax.default(x, 0, False).tolist() == torch.softmax(x, 0).tolist()
    assert aten.index.Tensor(torch.arange(6).reshape(2, 3), [None, torch.tensor([2])]).tolist() == [[2], [5]]


def test_autograd_and_vmap_see_the_call():
    x = torch.ones(2, 3, requires_grad=True)
    aten.mul.Tensor(x, 3).sum().backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2
    batched = torch.func.vmap(lambda t: aten.sum.dim_IntList(t, [0]))(torch.ones(2, 3))
    assert batched.tolist() == [3.0, 3.0]


def test_composites_pass_gradients():
    x, w = torch.rand(1, 2, 5, 5, requires_grad=True), torch.rand(3, 2, 3, 3, requires_grad=True)
    aten.convolution.default(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1).sum().backward()
    ones = torch.ones(1, 3, 5, 5)
    by_x, by_w, by_bias = aten.convolution_backward.default(
        ones, x.detach(), w.detach(), [3], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3
    )
    assert torch.equal(by_x, x.grad) and torch.equal(by_w, w.grad) and by_bias.tolist() == [25.0] * 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: aten._softmax.default(x, 0), TypeError, "aten::_softmax: argument 'half_to_float' of type bool is missing"),
        (lambda x: aten._softmax.default(x, "a", False), TypeError, "aten::_softmax: argument 'dim' is the str \"a\""),
        (lambda x: aten._to_copy.default(x, dtipe=1), TypeError, "did you mean 'dtype'"),
        (lambda x: aten._unsafe_view.default(x, [3]), RuntimeError, "aten::_unsafe_view"),
        (lambda x: aten._assert_scalar.default(False, "sizes differ"), RuntimeError, "sizes differ"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=re.escape(text)):
        call(torch.ones(2))


def sample_arguments(info):
    """Returns an argument for each parameter without a default; None if there is a type without a sample."""
    samples = {"Scalar": 0.25, "float": 0.25, "int": 0, "SymInt": 0, "bool": False}
    made = []
    for i in range(info.parameter_count):
        kind = info.parameters[i].type.decode()
        if info.parameters[i].has_default:
            break
        if kind not in ("Tensor", "Tensor[]", *samples):
            return None
        made.append(torch.full((3,), 0.5) if kind == "Tensor" else [torch.full((3,), 0.5)] if kind == "Tensor[]" else samples[kind])
    return made


def test_operators_in_place_return_nothing():
    accepted = set()
    for name in calls.list_operators():
        if not name.startswith("aten::") or not name.partition(".")[0].endswith("_"):
            continue
        args = sample_arguments(calls.describe(name)[0])
        try:
            results = None if args is None else calls.call_operator(name, args, {})
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue
        if results is not None:
            assert results == [], name
            accepted.add(name)
    assert len(accepted) > 120


@pytest.mark.parametrize(
    "name, args", [("bernoulli_.float", (0.0,)), ("normal_.default", (2.0, 0.0)), ("set_.source_Tensor", (torch.zeros(2),))]
)
def test_operators_in_place_write_to_the_first_argument(name, args):
    x = torch.ones(2)
    name, _, overload = name.partition(".")
    assert getattr(getattr(aten, name), overload)(x, *args) is x
    assert x.tolist() == [2, 2] if name == "normal_" else x.tolist() == [0, 0]
    y = torch.ones(2, requires_grad=True) * 2
    assert aten.detach_.default(y) is y and not y.requires_grad
    assert aten.resize_as_.default(torch.ones(3), torch.ones(2)).shape == (2,)
    assert aten.requires_grad_.default(x, True) is x and x.requires_grad


def pairs_of_overloads():
    """Returns overloads that write to `out`, each with the function of the same parameters, and arguments for tensors and numbers."""
    found = []
    for name in HAVE:
        if "out" not in name.partition(".")[2]:
            continue
        packet = getattr(aten, name.partition(".")[0], None)
        if packet is None or "sparse" in name:  # of quantized tensors, or with another layout than that of out
            continue
        parameters = getattr(packet, name.partition(".")[2])._schema.arguments
        given = [a for a in parameters if not a.is_write and not a.has_default_value()]
        known = {"Tensor": torch.ones(3, 3) / 2, "float": 0.5, "Scalar": 0.5, "number": 0.5, "int": 1, "SymInt": 1}
        if sum(a.is_write for a in parameters) == 1 and all(a.kind in known for a in given):
            base = name.partition(".")[0]
            overload = name.partition(".")[2].removesuffix("out").removesuffix("_") or "default"
            if f"{base}.{overload}".removesuffix(".default") in HAVE:
                out = next(a for a in parameters if a.is_write)
                if not out.kind.endswith("[]"):
                    found.append((name, f"{base}.{overload}", [known[a.kind] for a in given], out.name))
    return found


PAIRS = pairs_of_overloads()


def test_overloads_with_out_are_many():
    assert len(PAIRS) > 300


@pytest.mark.parametrize("writing, plain, args, out", PAIRS, ids=lambda x: x if isinstance(x, str) else "")
def test_overloads_with_out_write_the_result_of_the_function(writing, plain, args, out):
    if "empty" in plain:
        pytest.skip("the elements are arbitrary")

    def call(name, **kwargs):
        torch.manual_seed(1)
        copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        return calls.call_operator(with_overload(name), copies, kwargs)

    try:
        (expected,) = call(plain)
    except (RuntimeError, ValueError, TypeError, NotImplementedError, IndexError) as error:
        pytest.skip(str(error))
    result = torch.empty(0, dtype=expected.dtype)
    call(writing, **{out: result})
    torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", ["full_like.out", "new_full.out"])
def test_filled_results_have_the_dtype_of_out(name):
    base, _, overload = name.partition(".")
    sizes, out = [] if base == "full_like" else [[2]], torch.empty(0)
    getattr(getattr(aten, base), overload)(torch.ones(2) > 0, *sizes, 2.5, out=out)
    assert out.tolist() == [2.5, 2.5]


def test_in_place_overloads_write_to_self_where_it_is_not_the_first_parameter():
    x = torch.tensor([0.5, 0.7])
    expected = torch.polygamma(1, x)
    assert aten.polygamma_.default(x, 1) is x and torch.equal(x, expected)


def test_scales_that_do_not_lead_to_the_size_are_rejected():
    x = torch.arange(8.0).reshape(1, 1, 8)
    assert torch.equal(aten.upsample_nearest1d.default(x, [10], 1.3), torch.nn.functional.interpolate(x, scale_factor=1.3))
    assert torch.equal(aten.upsample_nearest1d.default(x, [16], 2.0), x.repeat_interleave(2, 2))
    with pytest.raises(NotImplementedError, match=r"size 8 times the scale 1.3 is not 11"):
        aten.upsample_nearest1d.default(x, [11], 1.3)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (0, 2)])
def test_factors_that_are_not_computed_are_empty(shape, full):
    a = torch.randn(shape, dtype=torch.float64)
    u, s, vh = torch.ops.aten._linalg_svd(a, full)
    k = min(shape[-2:])
    assert torch.allclose(u[..., :k] @ s.diag_embed() @ vh[..., :k, :], a)
    assert [u.shape[-1], vh.shape[-2]] == (list(shape[-2:]) if full else [k, k])
    none, only, other = torch.ops.aten._linalg_svd(a, full, False)
    assert none.shape == other.shape == (0,) and torch.allclose(only, s)
    square = a @ a.mT
    values, vectors = torch.ops.aten._linalg_eigh(square)
    assert torch.allclose(vectors @ values.diag_embed() @ vectors.mT, square)
    only, none = torch.ops.aten._linalg_eigh(square, "U", False)
    assert none.shape == (0,) and torch.allclose(only, values)


def test_trilinear_is_a_sum_of_products_of_expanded_tensors():
    x, w, y = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3), (4, 3, 5), (2, 5)))
    made = torch.ops.aten._trilinear(x, w, y, [1, 3], [0], [1, 2], [2, 3])
    assert torch.allclose(made, torch.einsum("bi,oij,bj->bo", x, w, y))
    assert torch.equal(torch.ops.aten._trilinear(x, x, x, [], [], [], []), x * x * x)
    assert torch.autograd.gradcheck(lambda *xs: torch.ops.aten._trilinear(*xs, [1, 3], [0], [1, 2], [2, 3]), (x, w, y))
    with pytest.raises(IndexError):
        torch.ops.aten._trilinear(x, w, y, [1, 30], [0], [1, 2], [2, 3])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 4, 5)])
def test_weights_are_normalized_along_all_other_dimensions(shape, dtype):
    v = torch.randn(shape).to(dtype)
    for dim in (0, len(shape) - 1):
        g = torch.rand([n if i == dim else 1 for i, n in enumerate(shape)]).to(dtype)
        w, norms = torch.ops.aten._weight_norm_interface(v, g, dim)
        others = [i for i in range(len(shape)) if i != dim]
        expected = v.double().square().sum(others, keepdim=True).sqrt() if others else v.double().abs()
        assert norms.dtype is (torch.float32 if dtype is torch.bfloat16 else dtype) and norms.shape == g.shape
        assert torch.allclose(norms.double(), expected) and w.dtype is dtype
        assert torch.allclose(w.double(), v.double() * g.double() / expected, 1e-2 if dtype is torch.bfloat16 else 1e-9)
        assert torch.equal(calls.call_operator("aten::_weight_norm", (v, g, dim), {})[0], w)
    (whole,) = calls.call_operator("aten::_weight_norm", (v, torch.tensor(2.0, dtype=dtype), -1), {})
    assert abs(whole.double().square().sum().sqrt().item() - 2) < 0.02
    if dtype is torch.float64:
        inputs = v.requires_grad_(), g.requires_grad_()
        assert torch.autograd.gradcheck(lambda v, g: torch.ops.aten._weight_norm_interface(v, g, len(shape) - 1), inputs)
    with pytest.raises(
        IndexError, match=rf"^aten::_weight_norm_interface: argument 'dim' is 7; it must be from -{v.dim()} to {v.dim() - 1}$"
    ):
        torch.ops.aten._weight_norm_interface(v, v, 7)


def test_the_noise_of_rrelu_is_the_slope():
    x = torch.randn(20).index_fill_(0, torch.tensor([3]), 0).requires_grad_()
    given = torch.zeros(20)
    torch.manual_seed(4)
    expected = torch.rrelu(x, 0.2, 0.4, True)
    torch.manual_seed(4)
    made, noise = torch.ops.aten.rrelu_with_noise_functional(x, given, 0.2, 0.4, True)
    assert torch.equal(made, expected) and torch.equal(made, x * noise) and (given == 0).all()
    assert torch.equal(torch.autograd.grad(made.sum(), x)[0], noise)
    assert torch.equal(noise[x > 0], torch.ones_like(noise[x > 0])) and ((noise[x <= 0] >= 0.2) & (noise[x <= 0] <= 0.4)).all()
    made, noise = torch.ops.aten.rrelu_with_noise_functional(x, given, 0.2, 0.4, False)
    assert torch.equal(made, torch.rrelu(x, 0.2, 0.4, False)) and torch.equal(noise, given)
