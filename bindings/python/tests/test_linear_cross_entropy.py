"""Cross entropies of linear layers, whole and in parts; samples of classes."""

import math

import pytest

import libtensor as torch

F = torch.nn.functional
Options = torch.nn.LinearCrossEntropyOptions


def values(*sizes, dtype=torch.float64, start=0.0):
    return ((torch.arange(math.prod(sizes), dtype=torch.float64) * 0.7 + start).sin() * 2).reshape(sizes).to(dtype)


TARGETS = {"classes": lambda: torch.tensor([0, 3, -100, 4, 1, 2, 2]), "probabilities": lambda: torch.softmax(values(7, 5), 1)}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("rows", [None, 1, 3, 7, 100])
def test_blocks_return_the_result_of_the_whole(target, reduction, bias, weight, rows):
    operands = [values(7, 3).requires_grad_(), values(5, 3, start=1).requires_grad_()]
    t = TARGETS[target]()
    if bias:
        operands.append(values(5, start=2).requires_grad_())
    if target == "probabilities":
        operands.append(t.requires_grad_())
    how = {"weight": values(5).abs() if weight else None, "reduction": reduction}
    b = operands[2] if bias else None
    want = F.cross_entropy(F.linear(operands[0], operands[1], b), t, **how)
    options = rows and Options(batch_chunk_size=rows)
    got = F.linear_cross_entropy(operands[0], operands[1], t, linear_bias=b, options=options, **how)
    assert torch.allclose(got, want, rtol=1e-12)
    given = values(*want.shape) if want.dim() else None
    for x, y in zip(torch.autograd.grad(got, operands, given), torch.autograd.grad(want, operands, given), strict=True):
        assert torch.allclose(x, y, rtol=1e-11, atol=1e-12)


def test_parts_have_second_derivatives():
    operands = [values(5, 3).requires_grad_(), values(4, 3).requires_grad_(), values(4).requires_grad_()]
    t = torch.tensor([0, 3, 2, 1, 1])
    f = lambda x, w, b: F.linear_cross_entropy(x, w, t, linear_bias=b, options=Options(batch_chunk_size=2))  # noqa: E731
    assert torch.autograd.gradcheck(f, operands)
    assert torch.autograd.gradgradcheck(f, operands)


def test_the_logits_of_all_are_not_in_memory():
    x, w, t = torch.zeros(512, 8).requires_grad_(), torch.zeros(2048, 8).requires_grad_(), torch.zeros(512, dtype=torch.int64)
    torch.empty_cache()
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    loss = F.linear_cross_entropy(x, w, t, options=Options(batch_chunk_size=16))
    loss.backward()
    assert torch.memory_stats().peak - before < 4 * 512 * 2048 / 2
    assert abs(loss.item() - math.log(2048)) < 1e-5


def test_parts_that_options_choose():
    assert Options().rows(1024, 64, 1024) == 64
    assert Options(chunking_method="aspect_ratio:4").rows(1024, 64, 1024) == 16
    assert Options(chunking_method=None).rows(1024, 64, 1024) == 1024
    assert Options(batch_chunk_size=3).rows(1024, 64, 1024) == 3
    for wrong in ({"batch_chunk_size": 0}, {"acc_policy": "fast"}, {"chunking_method": "rows"}, {"chunking_method": "aspect_ratio:0"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Options(**wrong)


def test_losses_of_several_dimensions_and_of_one_example():
    x, w, t = values(4, 3), values(5, 2, 3), torch.tensor([[0, 1], [4, 2], [3, 3], [1, 0]])
    want = F.cross_entropy((x @ w.reshape(10, 3).mT).reshape(4, 5, 2), t)
    assert torch.allclose(F.linear_cross_entropy(x, w, t), want)
    assert torch.allclose(F.linear_cross_entropy(x[0], w[:, 0], t[0, 0]), F.cross_entropy(w[:, 0] @ x[0], t[0, 0]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: F.linear_cross_entropy(values(2, 3, 3), values(2, 3), torch.tensor([0])),
            r"input must have shape \(features\) or \(N, features\)",
        ),
        (
            lambda: F.linear_cross_entropy(values(2, 3), values(2), torch.tensor([0])),
            r"linear_weight must have shape \(classes, ..., features\)",
        ),
        (lambda: F.linear_cross_entropy(values(2, 3), values(2, 4), torch.tensor([0])), "the same number of features"),
        (lambda: F.linear_cross_entropy(values(3), values(2, 4, 3), torch.tensor([0])), "require a batch dimension"),
        (
            lambda: F.linear_cross_entropy(values(2, 3), values(2, 3), torch.tensor([0, 1]), linear_bias=values(3)),
            r"linear_bias must have sizes \[2\]",
        ),
        (
            lambda: F.linear_cross_entropy(values(2, 3), values(2, 3), values(2, 2), ignore_index=0),
            "ignore_index is only supported for targets of class indices",
        ),
        (
            lambda: F.linear_cross_entropy(values(4, 3), values(2, 3), torch.tensor([0]), options=Options()),
            "target must have one element for each of the 4 rows",
        ),
    ],
)
def test_mismatches_are_rejected(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_samples_of_classes():
    logits = values(4, 5).requires_grad_()
    torch.manual_seed(3)
    soft = F.gumbel_softmax(logits, tau=0.5)
    torch.manual_seed(3)
    noise = -torch.empty(4, 5, dtype=torch.float64).exponential_().log()
    assert torch.equal(soft, torch.softmax((logits + noise) / 0.5, -1))
    torch.manual_seed(3)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert torch.allclose(hard.detach(), torch.nn.functional.one_hot(soft.argmax(-1), 5).double())
    given = values(4, 5)
    assert torch.equal(*(torch.autograd.grad(t, logits, given)[0] for t in (soft, hard)))
    with pytest.raises(RuntimeError, match="int64"):
        F.gumbel_softmax(torch.zeros(3, dtype=torch.int64))
