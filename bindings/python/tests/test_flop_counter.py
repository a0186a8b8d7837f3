"""torch.utils.flop_counter: operations of forward and backward passes."""

import pytest

import libtensor as lt
from libtensor.utils.flop_counter import FlopCounterMode, register_flop_formula

aten = lt.ops.aten


def count(call, backward=False):
    with FlopCounterMode(display=False) as counter:
        made = call()
        if backward:
            made.sum().backward()
    return counter


def draw(*size):
    return lt.rand(*size, requires_grad=True)


FORWARD = {  # a call, its operations, and those of its backward pass as a multiple of them
    "mm": (lambda: lt.mm(draw(3, 4), draw(4, 5)), 120, 2),
    "matmul of a batch": (lambda: draw(2, 3, 4) @ draw(2, 4, 5), 240, 2),
    "matmul with a vector": (lambda: draw(3, 4) @ draw(4), 0, 0),
    "addmm": (lambda: lt.addmm(draw(5), draw(3, 4), draw(4, 5)), 120, 2),
    "linear": (lambda: lt.nn.functional.linear(lt.rand(2, 3, 4), draw(5, 4)), 240, 1),
    "einsum": (lambda: lt.einsum("bij,bkj->bik", draw(2, 3, 4), draw(2, 5, 4)), 240, 2),
    "conv1d": (lambda: lt.conv1d(draw(2, 3, 8), draw(4, 3, 3)), 2 * 2 * 6 * 36, 2),
    "grouped conv2d": (lambda: lt.conv2d(lt.rand(2, 4, 5, 5), draw(4, 2, 3, 3), groups=2), 2 * 2 * 9 * 72, 1),
    "conv_transpose2d": (lambda: lt.conv_transpose2d(draw(1, 2, 3, 3), draw(2, 4, 3, 3)), 2 * 9 * 72, 2),
    "attention": (lambda: lt.nn.functional.scaled_dot_product_attention(draw(1, 2, 5, 4), draw(1, 2, 6, 4), draw(1, 2, 6, 4)), 960, 2.5),
}


@pytest.mark.parametrize("name", FORWARD)
def test_operations(name):
    call, flops, multiple = FORWARD[name]
    assert count(call).get_total_flops() == flops
    assert count(call, backward=True).get_total_flops() == flops * (1 + multiple)


def test_counts_by_module():
    model = lt.nn.Sequential(lt.nn.Linear(4, 5), lt.nn.ModuleList([lt.nn.Linear(5, 6)])[0])
    counter = count(lambda: model(lt.rand(3, 4)), backward=True)
    counts = {name: sum(by.values()) for name, by in counter.get_flop_counts().items()}
    first, second = 2 * 3 * 20, 2 * 3 * 30
    assert counts == {
        "Global": 2 * first + 3 * second,
        "Sequential": 2 * first + 3 * second,
        "Sequential.0": 2 * first,
        "Sequential.1": 3 * second,
    }
    assert counter.get_flop_counts()["Sequential.1"] == {aten.addmm: second, aten.mm: 2 * second}
    table = counter.get_table(2)
    assert "Sequential.1" in table and "Sequential.1" not in counter.get_table(1)
    assert "100.00%" in table


def test_multi_head_attention_is_its_products():
    attention, x = lt.nn.MultiheadAttention(8, 2), draw(5, 2, 8)
    projections, scores = 4 * 2 * 10 * 64, 2 * 2 * 2 * 2 * 25 * 4
    assert count(lambda: attention(x, x, x)[0], backward=True).get_total_flops() == 3 * (projections + scores)


def test_counting_ends_with_the_block():
    with FlopCounterMode(display=False) as counter:
        made = draw(2, 2) @ draw(2, 2)
    made.sum().backward()
    lt.mm(draw(2, 2), draw(2, 2))
    assert counter.get_total_flops() == 16


def test_formulas_of_programs():
    def formula(shape, *args, out_shape=None, **kwargs):
        return 7 * shape.numel() + out_shape.numel()

    with FlopCounterMode(display=False, custom_mapping={aten.tanh: formula}) as counter:
        lt.tanh(lt.ones(2, 3))
    assert counter.get_flop_counts()["Global"] == {aten.tanh: 48}
    register_flop_formula(aten.erfinv, get_raw=True)(lambda x, out_val=None: out_val.numel() + int(x.sum()))
    with FlopCounterMode(display=False) as counter:
        lt.erfinv(lt.zeros(3))
    assert counter.get_total_flops() == 3


def test_the_table_is_printed(capsys):
    with FlopCounterMode():
        lt.mm(lt.ones(20, 30), lt.ones(30, 40))
    assert "48.000K" in capsys.readouterr().out
