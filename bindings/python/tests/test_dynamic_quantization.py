"""Dynamic quantization of modules, and quantized convolutions, compared with recorded results of PyTorch."""

import copy
import io
from pathlib import Path

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.ao.nn.quantized import dynamic
from libtensor.ao.quantization import default_dynamic_qconfig, per_channel_dynamic_qconfig, quantize_dynamic


@pytest.fixture(scope="module")
def recorded():
    return torch.load(Path(__file__).with_name("dynamic_quantization.pt"))


def model():
    return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 3, bias=False)))


def saved(state):
    data = io.BytesIO()
    torch.save(state, data)
    data.seek(0)
    return torch.load(data)


def same(found, expected):
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, torch.Tensor) and expected.is_quantized:
        return torch.equal(found.int_repr(), expected.int_repr()) and torch.equal(found.dequantize(), expected.dequantize())
    return torch.equal(found, expected) if isinstance(expected, torch.Tensor) else found == expected


@pytest.mark.parametrize("name", ["default", "per_channel"])
def test_linear_layers(recorded, name):
    case, source = recorded[name], model()
    source.load_state_dict(case["model"])
    made = quantize_dynamic(source, None if name == "default" else {nn.Linear: per_channel_dynamic_qconfig})
    state = made.state_dict()
    assert list(state) == list(case["quantized"]) and all(same(state[key], value) for key, value in case["quantized"].items())
    assert torch.allclose(made(case["x"]), case["y"], rtol=1e-5, atol=1e-6)
    other = quantize_dynamic(model())
    for loaded in (case["quantized"], saved(state)):
        other.load_state_dict(loaded)
        assert torch.equal(other(case["x"]), made(case["x"]))
    assert torch.equal(copy.deepcopy(made)(case["x"]), made(case["x"]))


@pytest.mark.parametrize("name", ["lstm", "deep"])
def test_recurrent_layers(recorded, name):
    case = recorded[name]
    source = nn.ModuleDict({"lstm": nn.LSTM(5, 4, **case["options"])})
    source.load_state_dict(case["model"])
    made = quantize_dynamic(source)["lstm"]
    y, (h, c) = made(case["x"])
    again, _ = made(case["x"], (h, c))
    for found, expected in zip((y, h, c, again), case["results"], strict=True):
        # a rounding of an input that differs by one is a step of about 1/127 of the largest
        assert found.shape == expected.shape and torch.allclose(found, expected, atol=2e-2)
    assert torch.allclose(y, case["results"][0], atol=1e-5)
    other = dynamic.LSTM(5, 4, **case["options"])
    other.load_state_dict(saved(made.state_dict()))
    assert torch.equal(other(case["x"])[0], y)


def test_which_modules_are_converted():
    source = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 2)), "c": nn.GRU(2, 2)})
    source.train()
    before = source["a"].weight

    def kinds(spec):
        made = quantize_dynamic(source, spec)
        assert not made.training
        return [type(m).__module__.split(".")[1] for m in (made["a"], made["b"][0], made["b"][1], made["c"])]

    assert kinds(None) == ["ao", "ao", "ao", "nn"]
    assert kinds({nn.LSTM}) == ["nn", "nn", "ao", "nn"]
    assert kinds({"b"}) == ["nn", "ao", "ao", "nn"]
    assert kinds({"b.0": default_dynamic_qconfig}) == ["nn", "ao", "nn", "nn"]
    assert kinds({nn.Linear: default_dynamic_qconfig, "b": None}) == ["ao", "ao", "nn", "nn"]
    assert kinds({nn.Linear: default_dynamic_qconfig, "a": None}) == ["nn", "ao", "nn", "nn"]
    assert source["a"].weight is before and source.training
    assert quantize_dynamic(source, inplace=True) is source and type(source["a"]) is dynamic.Linear
    root = nn.Linear(2, 2)
    assert type(quantize_dynamic(root)) is nn.Linear


def test_printed_form():
    assert (
        repr(quantize_dynamic(model())[0])
        == "DynamicQuantizedLinear(in_features=5, out_features=4, dtype=torch.qint8, qscheme=torch.per_tensor_affine)"
    )
    assert repr(dynamic.LSTM(5, 4, 2, batch_first=True)) == "DynamicQuantizedLSTM(5, 4, num_layers=2, batch_first=True)"


def test_unsupported_arguments():
    for call in (
        lambda: quantize_dynamic(model(), dtype=torch.float16),
        lambda: dynamic.LSTM.from_float(nn.LSTM(3, 4, proj_size=2)),
        lambda: dynamic.LSTM(3, 4)(torch.ones(2, 3)),
        lambda: dynamic.Linear(3, 4, dtype=torch.float16),
    ):
        with pytest.raises(NotImplementedError, match="not supported"):
            call()
    with pytest.raises(TypeError, match="not ReLU"):
        dynamic.Linear.from_float(nn.ReLU())
    with pytest.raises(RuntimeError, match="Missing key"):
        quantize_dynamic(model()).load_state_dict({})


def test_convolutions(recorded):
    for case in recorded["conv2d"]:
        packed = torch.ops.quantized.conv2d_prepack(*case["arguments"])
        assert packed.stride() == list(case["arguments"][2]) and same(packed.unpack(), tuple(case["arguments"][:2]))
        for f, expected in zip((torch.ops.quantized.conv2d, torch.ops.quantized.conv2d_relu), case["results"], strict=True):
            found = f(case["x"], packed, 0.1, 100)
            assert found.dtype == expected.dtype and found.q_scale() == expected.q_scale() and found.shape == expected.shape
            difference = (found.int_repr().int() - expected.int_repr().int()).abs()
            assert difference.max() <= 1 and difference.float().mean() < 0.01


def test_convolutions_of_wrong_operands():
    x = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    w = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.qint8)
    pack = torch.ops.quantized.conv2d_prepack
    for operands, fact in (((x.dequantize(), w), "input must be a quantized"), ((x, x), "qint8"), ((x, w[0]), "four dimensions")):
        with pytest.raises(RuntimeError, match=fact):
            torch.ops.quantized.conv2d(operands[0], pack(operands[1], None, [1, 1], [0, 0], [1, 1], 1), 1.0, 0)
    with pytest.raises(TypeError, match="conv2d_prepack"):
        torch.ops.quantized.conv2d(x, w, 1.0, 0)


@pytest.mark.parametrize("inplace", [False, True])
def test_converted_layers_keep_forward_hooks(inplace):
    seen = []
    source = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.LSTM(3, 2)})
    handles = [
        source["a"].register_forward_pre_hook(lambda m, x: seen.append("pre")),
        source["a"].register_forward_pre_hook(lambda m, x, k: (seen.append("pre with kwargs"), (x, k))[1], with_kwargs=True),
        source["a"].register_forward_hook(lambda m, x, y: seen.append("post")),
        source["a"].register_forward_hook(lambda m, x, k, y: y + 100, with_kwargs=True, always_call=True),
        source["b"].register_forward_hook(lambda m, x, y: seen.append("lstm")),
    ]
    made = quantize_dynamic(source, inplace=inplace)
    assert type(made["a"]) is dynamic.Linear and type(made["b"]) is dynamic.LSTM
    y = made["a"](torch.ones(1, 3))
    made["b"](torch.ones(4, 1, 3))
    assert seen == ["pre", "pre with kwargs", "post", "lstm"] and y.min() > 50
    if inplace:
        for handle in handles:
            handle.remove()
        assert made["a"](torch.ones(1, 3)).max() < 50 and len(seen) == 4


@pytest.mark.parametrize("config", [default_dynamic_qconfig, per_channel_dynamic_qconfig])
@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_layers_without_weights(config):
    for sizes in ((0, 4), (4, 0), (0, 0)):
        source = nn.Sequential(nn.Linear(*sizes))
        made = quantize_dynamic(source, {nn.Linear: config})
        x = torch.ones(2, sizes[0])
        assert type(made[0]) is dynamic.Linear and torch.equal(made(x), source(x))


def test_wrong_specifications():
    for spec in (nn.Linear, "10", 5):
        with pytest.raises(TypeError, match="qconfig_spec must be a set or dict"):
            quantize_dynamic(model(), spec)
    for spec in ({nn.Linear: 5}, {"0": "qint8"}):
        with pytest.raises(TypeError, match="must be default_dynamic_qconfig"):
            quantize_dynamic(model(), spec)
    with pytest.raises(TypeError, match="keys of qconfig_spec"):
        quantize_dynamic(model(), {5})


def test_layers_of_other_dtypes():
    for layer in (nn.Linear(3, 4), nn.LSTM(3, 4)):
        source = nn.Sequential(layer.double())
        with pytest.raises(RuntimeError, match=r"must be float32, but are torch\.float64; call float\(\)"):
            quantize_dynamic(source, inplace=True)
        assert not hasattr(layer, "qconfig")
        quantize_dynamic(source.float())


def test_damaged_states():
    made = quantize_dynamic(nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.LSTM(3, 2)}))
    state = made.state_dict()
    weight, bias = state["a._packed_params._packed_params"]
    other = torch.quantize_per_tensor(torch.ones(5, 7), 1.0, 0, torch.qint8)
    pairs = state["b._all_weight_values.0.param"]
    for key, values in (
        (
            "a._packed_params._packed_params",
            (3, None, (weight,), (1, 2, 3), (torch.ones(2, 3), None), (weight, torch.ones(5)), (weight, 5), (other, None)),
        ),
        ("a._packed_params.dtype", (torch.float16, "x")),
        ("a.scale", ("x", None, torch.ones(2))),
        (
            "b._all_weight_values.0.param",
            (3, None, (), pairs[:1], pairs[::-1], (pairs[0], (weight, bias)), (pairs[0], (torch.ones(8, 2), None))),
        ),
    ):
        for value in values:
            with pytest.raises(RuntimeError, match=f"Error.* in loading state_dict[^$]*{key}"):
                made.load_state_dict({**state, key: value})
    made.load_state_dict(state)
