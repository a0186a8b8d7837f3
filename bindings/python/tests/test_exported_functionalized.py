"""Programs of PyTorch without mutation, which call operators that write to tensors with copies of these: auto_functionalized and its
version 2."""

import io
from typing import Optional

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load

pytestmark = pytest.mark.usefixtures("evaluated_too")

V1, V2 = "torch.ops.higher_order.auto_functionalized", "torch.ops.higher_order.auto_functionalized_v2"
ROWS, VECTOR = w.meta("float32", [w.symbol("s0"), 4]), w.meta("float32", [2])


@torch.library.custom_op("tests_functionalized::scale", mutates_args=("x",))
def scale(x: torch.Tensor, k: float) -> None:
    x.mul_(k)


@torch.library.custom_op("tests_functionalized::exchange", mutates_args=("x", "y"))
def exchange(k: torch.Tensor, x: torch.Tensor, y: Optional[torch.Tensor]) -> torch.Tensor:  # noqa: UP045
    if y is not None:
        y.copy_(x * 2 + y)
    x.add_(k)
    return x.sum()


@torch.library.custom_op("tests_functionalized::fill", mutates_args=("ys",))
def fill(x: torch.Tensor, ys: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    for i, y in enumerate(ys):
        y.copy_(x + i)
    return x + 1, x * 2


def operator(name):
    return {"as_operator": f"torch.ops.tests_functionalized.{name}.default"}


def module(nodes, outputs, **inputs):
    return load(io.BytesIO(w.archive(w.model(inputs or {"x": ROWS}, nodes, outputs)))).module()


# The geometry of the copied tensor, the arguments that describe a view of it, and the view.
BASES = {
    "contiguous": lambda: torch.arange(16.0).view(4, 4),
    "transposed": lambda: torch.arange(16.0).view(4, 4).t(),
    "with an offset": lambda: torch.arange(40.0)[3:19].view(4, 4),
    "with gaps": lambda: torch.arange(64.0).view(8, 8)[2::2, 1::2],
    "without elements": lambda: torch.empty(0, 4),
}
VIEWS = {
    "the tensor": (lambda x: {}, lambda x: x),
    "an alias": (lambda x: {"alias": True}, lambda x: x),
    "a slice": (lambda x: {"slice_dim": 1, "slice_start": 1, "slice_end": 3}, lambda x: x[:, 1:3]),
    "a diagonal": (
        lambda x: {"size": (min(x.shape),), "stride": (sum(x.stride()),), "storage_offset": x.storage_offset()},
        lambda x: x.as_strided((min(x.shape),), (sum(x.stride()),), x.storage_offset()),
    ),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("base", BASES)
def test_operators_write_to_views_of_copies(base, view):
    (describe, make), x, expected = VIEWS[view], BASES[base](), BASES[base]()
    arguments = {f"_x_{key}": value for key, value in describe(x).items()}
    nodes = [w.node(V2, [w.arg(None), w.tensor("y")], operator("scale"), k=3.0, _x_base_index=0, **arguments, _all_bases=w.tensors("x"))]
    found = module(nodes, ["y"])(x)
    make(expected).mul_(3)
    assert torch.equal(found, expected) and found.stride() == expected.stride()
    assert torch.equal(x, BASES[base]())


def check(nodes, outputs, expected, *inputs):
    """Runs a program of vectors, which must not change its inputs."""
    kept = [x.clone() for x in inputs]
    names = ["x", "y", "z"][: len(inputs)]
    found = module(nodes, outputs, **dict.fromkeys(names, VECTOR))(*inputs)
    assert [x.tolist() for x in found] == expected
    assert all(torch.equal(a, b) for a, b in zip(inputs, kept, strict=True))


@pytest.mark.parametrize("version", [1, 2])
def test_copies_are_the_last_results(version):
    k, x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])
    bases = {"_all_bases": w.tensors("y", "z"), "_x_base_index": 0, "_y_base_index": 1}
    nodes = [
        w.node(
            V2 if version == 2 else V1,
            [w.tensor(n) for n in "stu"],
            operator("exchange"),
            k="x",
            **(bases if version == 2 else {"y": "z", "x": "y"}),
        )
    ]
    check(nodes, ["s", "t", "u"], [10, [4, 6], [11, 14]], k, x, y)


@pytest.mark.parametrize("version", [1, 2])
def test_a_tensor_can_be_none(version):
    k, x = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    bases = {"_all_bases": w.tensors("y"), "_x_base_index": 0, "_y_base_index": None}
    results = [w.tensor("s"), w.tensor("t"), *([w.arg(None)] if version == 1 else [])]
    nodes = [w.node(V2 if version == 2 else V1, results, operator("exchange"), k="x", **(bases if version == 2 else {"y": None, "x": "y"}))]
    check(nodes, ["s", "t"], [10, [4, 6]], k, x)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("length", [0, 1, 2])
def test_items_of_lists_are_copied(version, length):
    names = ["y", "z"][:length]
    indices = {f"_ys_{i}_base_index": i for i in range(length)}
    copies = [w.tensor(f"{n}_copy") for n in names]
    if version == 2:
        arguments = {"_ys_length": length, **indices, "_all_bases": w.tensors(*names)}
    else:
        arguments, copies = {"ys": w.tensors(*names)}, [w.tensors(*(f"{n}_copy" for n in names))]
    nodes = [w.node(V2 if version == 2 else V1, [w.tensor("s"), w.tensor("t"), *copies], operator("fill"), x="x", **arguments)]
    expected = [[2, 3], [2, 4], [1, 2], [2, 3]][: 2 + length]
    check(nodes, ["s", "t", *(f"{n}_copy" for n in names)], expected, torch.tensor([1.0, 2.0]), torch.zeros(2), torch.zeros(2))


@pytest.mark.parametrize("version", [1, 2])
def test_gradients_are_those_of_calls_with_copies(version):
    arguments = {"_x_base_index": 0, "_all_bases": w.tensors("x")} if version == 2 else {"x": "x"}
    nodes = [w.node(V2 if version == 2 else V1, [w.arg(None), w.tensor("y")], operator("scale"), k=3.0, **arguments)]
    x, other = torch.ones(2, 4, requires_grad=True), torch.ones(2, 4, requires_grad=True)
    found = module([*nodes, w.aten("mul.Tensor", "z", "y", "y")], ["z"])(x)
    scale(copy := other.clone(), 3.0)
    assert found.tolist() == (copy * copy).tolist()
    found.sum().backward(), (copy * copy).sum().backward()
    assert torch.equal(x.grad, other.grad)


SCALE, ONE = operator("scale"), [w.arg(None), w.tensor("y")]


@pytest.mark.parametrize(
    ("node", "fact"),
    [
        (w.node(V2, ONE), "calls no operator"),
        (w.node(V1, ONE, "x"), "calls no operator"),
        (w.node(V2, [], SCALE, k=3.0, _x_base_index=0, _all_bases=w.tensors("x")), "has 0 results; at least 1 are required"),
        (
            w.node(V2, ONE, SCALE, k=3.0, _x_base_index=1, _all_bases=w.tensors("x")),
            'argument "_x_base_index" is 1; it must be from 0 to 0',
        ),
        (
            w.node(V2, ONE, SCALE, k=3.0, _x_base_index=-1, _all_bases=w.tensors("x")),
            'argument "_x_base_index" is -1; it must be from 0 to 0',
        ),
        (w.node(V2, [w.arg(None)], SCALE, k=3.0, _x_base_index=0), 'argument "_x_base_index" is no index of the 0 tensors'),
        (w.node(V2, ONE, SCALE, k=3.0, _x_base_index=0, _all_bases=w.tensors("unknown")), '"unknown", which is not defined'),
        (w.node(V2, [w.arg(None), w.tensor("x")], SCALE, k=3.0, _x_base_index=0, _all_bases=w.tensors("x")), '"x" is defined twice'),
        (
            w.node(V2, ONE, operator("fill"), x="x", _ys_length=1 << 60, _ys_0_base_index=0, _all_bases=w.tensors("x")),
            'has no argument "_ys_1_base_index"',
        ),
        (w.node(V2, ONE, SCALE, k=3.0, _x_base_index=0, _x_storage_offset=0, _all_bases=w.tensors("x")), "as_strided"),
    ],
)
def test_invalid_nodes(node, fact):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=fact):
        module([node], ["y"])(torch.ones(2, 4))


@pytest.mark.parametrize("target", [V1, V2, "torch.ops.higher_order.with_effects"])
def test_other_higher_order_operators_in_it_are_not_supported(target):
    inner = {"as_operator": "torch.ops.higher_order.cond"}
    args = ["x", inner] if "with_effects" in target else [inner]
    fact = r'applies \w+ to "torch.ops.higher_order.cond", which is supported for other operators only'
    with pytest.raises(NotImplementedError, match=fact):
        module([w.node(target, ONE, *args)], ["y"])
