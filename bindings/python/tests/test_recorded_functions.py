"""Programs of torch.export.export and graphs of make_fx return what the function returns, for other sizes and elements, or their creation
raises."""

import copy
import gc
import io
import threading
from collections import OrderedDict, defaultdict

import numpy as np
import pytest

import libtensor as torch
from libtensor import nn
from libtensor._base.library import live_handles
from libtensor.export import Dim, export, load, save
from libtensor.fx.experimental.proxy_tensor import make_fx
from libtensor.utils import _pytree as pytree

F = nn.functional


def saved(program):
    file = io.BytesIO()
    save(program, file)
    return load(io.BytesIO(file.getvalue())).module()


def copied(tree):
    return pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, tree)


def assert_same(found, expected):
    (a, one), (b, two) = pytree.tree_flatten(found), pytree.tree_flatten(expected)
    assert one == two
    for x, y in zip(a, b, strict=True):
        if isinstance(y, torch.Tensor):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5, equal_nan=True)
        else:
            assert type(x) is type(y) and x == y


torch.manual_seed(0)
Y, W, T, K = torch.randn(3, 4), torch.rand(3, 4), torch.tensor([1, 0, 2]), torch.tensor([1, 0, 3])

CALLS = {
    "hardtanh by names": lambda x: F.hardtanh(x, max_val=0.2, min_val=-0.1),
    "hardtanh max": lambda x: F.hardtanh(x, max_val=0.2),
    "elu": lambda x: F.elu(x, 0.3, True),
    "mse size_average": lambda x: F.mse_loss(x, Y, size_average=False),
    "l1 reduce": lambda x: F.l1_loss(x, Y, reduce=False),
    "nll size_average": lambda x: F.nll_loss(x, K, size_average=False),
    "cross entropy reduce": lambda x: F.cross_entropy(x, K, reduce=False),
    "cross entropy of sequences": lambda x: F.cross_entropy(x[None], torch.tensor([[2, 0, 1, 1]]), reduction="none"),
    "bce size_average": lambda x: F.binary_cross_entropy(x.sigmoid(), W, size_average=False),
    "bce logits reduce": lambda x: F.binary_cross_entropy_with_logits(x, W, pos_weight=W, reduce=False),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, Y, reduction="sum", beta=2.0),
    "huber": lambda x: F.huber_loss(x, Y, delta=0.3),
    "dropout of all": lambda x: F.dropout(x, 1.0),
    "embedding max_norm": lambda x: F.embedding(T, x, max_norm=0.5),
    "cosine of broadcast": lambda x: F.cosine_similarity(x[:, None], Y[None], dim=-2),
    "norm dtype": lambda x: torch.norm(x, dtype=torch.float64),
    "norm nuc": lambda x: x.norm(p="nuc"),
    "linalg.norm": lambda x: torch.linalg.norm(x, 2),
    "linalg.norm by names": lambda x: torch.linalg.norm(x, ord="fro", dim=(0, 1)),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.round()),
    "unique": lambda x: torch.unique(x.round(), return_counts=True),
    "unique of rows": lambda x: torch.unique(x.round(), dim=0),
    "where of integers": lambda x: torch.where(x > 0, 1, 0),
    "where of bools": lambda x: torch.where(x > 0, True, False),
    "where of a condition": lambda x: torch.where(x > 0),
    "nonzero tuple": lambda x: (x > 0).nonzero(as_tuple=True),
    "meshgrid": lambda x: torch.meshgrid(x[0], Y[1, :3], indexing="xy"),
    "broadcast": lambda x: torch.broadcast_tensors(x, x[0]),
    "arange by names": lambda x: (x, torch.arange(1, end=6), torch.arange(start=0, end=6, step=2), torch.arange(end=3)),
    "H": lambda x: x.H @ x,
    "adjoint": lambda x: torch.complex(x, Y).mH,
    "assignment of itself": lambda x: (x.__setitem__(torch.tensor(1), x[0]), x)[1],
}


@pytest.mark.parametrize("name", CALLS)
def test_operators_of_a_function(name):
    function = CALLS[name]
    x, other = torch.randn(3, 4), torch.randn(3, 4)
    expected = [pytree.tree_leaves(function(v.clone())) for v in (x, other)]
    graph = make_fx(lambda v: pytree.tree_leaves(function(v)))(x.clone())
    program = saved(export(lambda v: pytree.tree_leaves(function(v)), (x,)))
    for run in (graph, program):
        for v, wanted in zip((x, other), expected, strict=True):
            if "unique" not in name or v is x:
                assert_same(list(run(v.clone())), wanted)


@pytest.mark.parametrize("function", [F.mse_loss, F.l1_loss, F.huber_loss])
def test_weights_of_losses_are_not_ignored(function):
    with pytest.raises(NotImplementedError, match="weight"):
        make_fx(lambda x: function(x, Y, weight=W))(torch.randn(3, 4))


# -------------------------------------------------------------------------------------------------- sizes

SIZES = {
    "min": lambda x: x[: min(x.size(0), 10)],
    "min as a number": lambda x: x.sum() + min(x.size(0), 100),
    "max": lambda x: x.sum() + max(x.size(0), 3),
    "large": lambda x: x * 2 if x.size(0) > 50 else x,
    "small": lambda x: x * 2 if x.size(0) < 3 else x,
    "one": lambda x: x * 2 if x.size(0) == 1 else x,
    "comparison": lambda x: (x, x.size(0) > 100),
    "tensor of a size": lambda x: torch.tensor(x.size(0)) + x,
    "tensor of sizes": lambda x: torch.tensor([x.size(0), 3]) + x.sum(),
    "topk": lambda x: x.topk(min(5, x.size(0)), 0).values,
    "slice": lambda x: x[:10],
    "negative slice": lambda x: x[-10:],
    "squeeze": lambda x: x.squeeze(),
    "transposed": lambda x: x.t().contiguous().view(-1),
    "square": lambda x: torch.arange(x.size(0) ** 2),
    "remainder": lambda x: torch.ones(x.size(0) % 3),
    "pooled": lambda x: F.max_pool1d(x.t(), 2, ceil_mode=True).reshape(-1),
    "tiles": lambda x: torch.ones((x.size(0) + 3) // 4),
    "fill": lambda x: x.fill_(x.size(0)),
    "spectrum": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=0), n=x.size(0), dim=0),
    "table": lambda x: x + torch.ones(32, 3)[: x.size(0)],
}


@pytest.mark.parametrize("name", SIZES)
def test_programs_hold_for_every_size_or_raise(name):
    function = SIZES[name]
    try:
        run = saved(export(function, (torch.randn(5, 3),), dynamic_shapes=({0: Dim("n", min=1)},)))
    except NotImplementedError as error:
        assert "size" in str(error)
        return
    for n in (5, 1, 2, 3, 7, 8, 16, 33, 64, 150, 1000):
        x = torch.randn(n, 3)
        try:
            found = run(x.clone())
        except RuntimeError:
            assert n == 1 or name == "table"
            continue
        assert_same(found, function(x.clone()))


def test_a_bound_admits_a_function_that_differs_beyond_it():
    function = SIZES["large"]
    with pytest.raises(
        NotImplementedError, match=r"an operator \(.* instead of .*\) for size \d+ differs from .* bound it with min and max"
    ):
        export(function, (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))
    run = export(function, (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n", max=50)},)).module()
    assert run(torch.ones(50, 3)).sum() == 150


def test_a_program_that_differs_for_size_1_rejects_it():
    program = export(SIZES["one"], (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))
    assert program.range_constraints == {"s0": (2, None)}
    with pytest.raises(RuntimeError, match="2 <= s0"):
        program.module()(torch.ones(1, 3))


def test_sizes_of_two_symbols():
    shapes = ({0: Dim("a", min=1), 1: Dim("b", min=1)},)
    with pytest.raises(NotImplementedError, match="variable size"):
        export(lambda x: torch.arange(max(x.shape)), (torch.ones(5, 3),), dynamic_shapes=shapes)


# -------------------------------------------------------------------------------------------------- elements

ELEMENTS = {
    "equal": lambda x: x * 2 if torch.equal(x, x.abs()) else x,
    "allclose": lambda x: x * 2 if torch.allclose(x, torch.zeros(3)) else x,
    "is_nonzero": lambda x: x * 2 if torch.is_nonzero(x.sum() > 0) else x,
    "numpy": lambda x: torch.from_numpy(x.numpy() * 2) + x,
    "asarray": lambda x: torch.tensor(np.asarray(x)) + x,
    "tolist": lambda x: torch.tensor(x.tolist()) + x,
    "python random numbers": lambda x: x + torch.tensor(np.random.rand(3)),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_are_not_constants(name):
    with pytest.raises((RuntimeError, NotImplementedError), match=r"value out of a tracing tensor|constant tensor|must return the same"):
        export(ELEMENTS[name], (torch.randn(3),))


@pytest.mark.parametrize("name", ["numpy", "equal"])
def test_elements_are_no_constants_of_graphs(name):
    with pytest.raises(RuntimeError, match="value out of a tracing tensor"):
        make_fx(ELEMENTS[name])(torch.randn(3))


def test_autocast_is_not_recorded():
    def function(x):
        with torch.autocast("cpu"):
            return x @ x

    for record in (lambda: export(function, (torch.ones(2, 2),)), lambda: make_fx(function)(torch.ones(2, 2))):
        with pytest.raises(NotImplementedError, match="autocast is not recorded"):
            record()


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "bool", "complex64", "int8", "bfloat16"])
def test_dtypes(dtype):
    x = torch.ones(2).to(getattr(torch, dtype))
    found = saved(export(lambda x: x.clone(), (x,)))(x)
    assert found.dtype == x.dtype and found.float().tolist() == [1, 1]


# -------------------------------------------------------------------------------------------------- state


class Stateful(nn.Module):
    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x):
        return self.function(self, x)


def assign(module, x):
    module.a = module.a + 1
    return module.a + x


BUFFERS = {
    "assigned": (assign, {"a": torch.zeros(3)}),
    "written": (lambda m, x: (m.a[0].add_(1), m.a[1:].mul_(2), m.a + x)[2], {"a": torch.ones(3)}),
    "transposed": (lambda m, x: m.a.as_strided((2,), (1,)) + x[:2], {"a": torch.randn(3, 4).t()}),
    "channels last": (lambda m, x: m.a * 2, {"a": torch.randn(1, 2, 3, 2).contiguous(memory_format=torch.channels_last)}),
    "expanded": (lambda m, x: m.a + x, {"a": torch.randn(1, 3).expand(4, 3)}),
    "empty": (lambda m, x: (m.a.sum(), x), {"a": torch.zeros(0, 3)}),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers(name):
    function, buffers = BUFFERS[name]
    module = Stateful(function, **buffers)
    eager, before = copy.deepcopy(module), copied(dict(module.named_buffers()))
    run = saved(export(module, (torch.ones(3),)))
    assert all(torch.equal(before[k], v) for k, v in module.named_buffers())
    for _ in range(2):
        x = torch.randn(3)
        found, expected = run(x), eager(x)
        assert_same(found, expected)
        if isinstance(found, torch.Tensor):
            assert found.stride() == expected.stride()


def test_export_in_inference_mode_and_of_inference_tensors():
    with torch.inference_mode():
        layer, x = nn.Linear(3, 2), torch.randn(4, 3)
        run = saved(export(layer, (x,)))
    assert_same(run(x.clone()), layer(x))


def test_export_does_not_write_to_parameters():
    module = nn.Embedding(3, 4, max_norm=0.5)
    eager, before = copy.deepcopy(module), module.weight.detach().clone()
    run = saved(export(module, (T,)))
    assert torch.equal(module.weight, before)
    with torch.no_grad():
        assert_same(run(T), eager(T))


@pytest.mark.parametrize(
    "layer, sizes", [(nn.Dropout1d, (50, 3)), (nn.Dropout1d, (4, 50, 3)), (nn.Dropout2d, (4, 50, 3, 2)), (nn.Dropout3d, (50, 2, 2, 2))]
)
def test_channels_are_dropped_whole(layer, sizes):
    y = saved(export(layer(0.5), (torch.ones(sizes),)))(torch.ones(sizes))
    kept = y.flatten(2 if sizes[0] == 4 else 1).sum(-1)
    assert y.shape == sizes and set(y.unique().tolist()) == {0, 2} and len(kept.unique()) == 2


def test_writes_that_no_program_describes_raise_and_change_nothing():
    whole, outer = torch.zeros(6), torch.zeros(3)
    module = Stateful(lambda m, x: (m.a.add_(1), m.b.sum() + x)[1], a=whole, b=whole[:2])
    with pytest.raises(NotImplementedError, match="buffer a, which shares memory with b"):
        export(module, (torch.ones(3),))
    with pytest.raises(NotImplementedError, match="neither an input nor a buffer"):
        export(lambda x: (outer[1:].add_(1), x + outer)[1], (torch.ones(3),))
    assert whole.sum() == 0 and outer.sum() == 0
    with pytest.raises(NotImplementedError, match=r"assigns a tensor of shape \[2\] .* to the buffer a"):
        export(Stateful(lambda m, x: (setattr(m, "a", torch.ones(2)), x)[1], a=torch.zeros(3)), (torch.ones(3),))


# -------------------------------------------------------------------------------------------------- results and arguments


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x, [x, {"a": x}], x + 0),
        lambda x: ("a", 1, 2.5, True, None, float("inf")),
        lambda x: OrderedDict(a=x, b=x + 1),
        lambda x: defaultdict(list, {"a": x}),
        lambda x: {1: x, 2: x + 1, None: x},
        lambda x: (),
    ],
)
def test_structures(function):
    x = torch.randn(3)
    assert_same(saved(export(function, (torch.ones(3),)))(x), function(x))


@pytest.mark.parametrize(
    "function, fact",
    [
        (lambda x: {(1, 2): x}, r"keys of dicts .*\(1, 2\)"),
        (lambda x: 2**70, "integers of 64 bits, not 1180591620717411303424"),
        (lambda x: x.dtype, "output 0 is a dtype"),
        (lambda x: [x, 1j], "output 1 is a complex"),
    ],
)
def test_results_that_files_cannot_represent(function, fact):
    with pytest.raises(NotImplementedError, match=fact):
        export(function, (torch.ones(3),))


def test_a_constant_argument_can_be_nan():
    run = export(lambda x, m: x * m, (torch.ones(2), float("nan"))).module()
    assert run(torch.ones(2), float("nan")).isnan().all()
    with pytest.raises(RuntimeError, match="exported for the float nan"):
        run(torch.ones(2), 1.0)


def test_threads_export_at_once_and_leave_nothing():
    def work(i):
        layer = nn.Linear(3, i + 1)
        run = export(layer, (torch.ones(2, 3),), dynamic_shapes=({0: Dim("n")},)).module()
        x = torch.randn(4, 3)
        with torch.no_grad():
            results[i] = torch.equal(run(x), layer(x))

    results = {}
    work(0)
    gc.collect()
    handles = live_handles()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads, thread
    gc.collect()
    assert results == dict.fromkeys(range(6), True) and live_handles() == handles
