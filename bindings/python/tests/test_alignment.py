"""Connectionist temporal classification, compared with a sum over all alignments of labels and time steps."""

import itertools
import math

import pytest

import libtensor as torch

F = torch.nn.functional


def merged(way, blank):
    """The labels of a way along steps."""
    return [k for k, _ in itertools.groupby(way) if k != blank]


def summed(logs, labels, blank):
    """The loss of one example (steps, classes)."""
    steps, classes = logs.shape
    ways = [w for w in itertools.product(range(classes), repeat=steps) if merged(w, blank) == labels]
    if not ways:
        return torch.tensor(math.inf, dtype=logs.dtype)
    return -torch.stack([logs[torch.arange(steps), torch.tensor(w)].sum() for w in ways]).logsumexp(0)


def some(steps, examples, classes, dtype=torch.float64):
    torch.manual_seed(steps * classes)
    return torch.randn(steps, examples, classes, dtype=torch.float64).to(dtype).requires_grad_()


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("labels", [[1], [1, 1], [1, 1, 1], []], ids=str)
def test_losses_are_sums_over_all_ways(blank, labels):
    x = some(4, 2, 3)
    logs = x.log_softmax(2)
    target = torch.tensor([*labels, 1])
    each = F.ctc_loss(logs, target, (4, 2), (len(labels), 1), blank=blank, reduction="none")
    expected = torch.stack([summed(logs[:, 0], labels, blank), summed(logs[:2, 1], [1], blank)])
    assert torch.allclose(each, expected)
    weights = torch.tensor([1.0, -2.0], dtype=torch.float64)
    if each.isfinite().all():
        mine, other = (torch.autograd.grad((t * weights).sum(), x, retain_graph=True)[0] for t in (each, expected))
        assert torch.allclose(mine, other)


def walked(logs, labels):
    """The loss of one example, state by state; class 0 is blank."""
    states, at = [0, *(k for label in labels for k in (label, 0))], None
    for row in logs:
        before, at = at, []
        for s, k in enumerate(states):
            if before is None:
                ways = [torch.zeros((), dtype=logs.dtype)] if s < 2 else []
            else:
                from_two = s >= 2 and k not in (0, states[s - 2])
                ways = [before[r] for r in (s, s - 1, s - 2)[: 3 if from_two else 2] if r >= 0 and before[r] is not None]
            at.append(torch.stack(ways).logsumexp(0) + row[k] if ways else None)
    return -torch.stack([x for x in at[-2:] if x is not None]).logsumexp(0)


@pytest.mark.parametrize("classes", [3, 8, 9, 16, 17, 40])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_any_number_of_states_and_classes(classes, dtype):  # either side of vectors
    counts = [0, 1, 2, 3, 4, 7, 8, 9]
    x = some(12, len(counts), classes, dtype)
    logs = (x * 3).log_softmax(2)
    labels = [[1 + (i * i + n) % (classes - 1) for i in range(n)] for n in counts]
    target = torch.tensor([k for row in labels for k in row])
    each = F.ctc_loss(logs, target, (12,) * len(counts), counts, reduction="none")
    expected = torch.stack([walked(logs[:, i].double(), row) for i, row in enumerate(labels)])
    close = {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-12}
    assert torch.allclose(each.double(), expected, **close)
    fits = each.isfinite()
    assert fits.sum() > 6
    weights = torch.linspace(-2, 1, len(counts), dtype=dtype)
    mine = torch.autograd.grad((each * weights)[fits].sum(), x, retain_graph=True)[0]
    other = torch.autograd.grad((expected * weights)[fits].sum(), x)[0]
    assert torch.allclose(mine[:, fits], other[:, fits], **close)


def test_logarithms_with_a_large_difference():
    logs = torch.full((3, 1, 4), -2000.0, dtype=torch.float64)
    logs[:, :, 1] = -1e-3
    assert F.ctc_loss(logs, torch.tensor([[1]]), (3,), (1,)).item() == pytest.approx(3e-3, rel=1e-12)
    assert F.ctc_loss(logs, torch.tensor([[2, 3]]), (3,), (2,), reduction="sum").item() == pytest.approx(6000 - math.log(5))


def test_classes_that_cannot_be_have_no_gradient():
    logs = torch.full((3, 1, 4), math.log(1 / 3))
    logs[:, :, 3] = -math.inf
    logs.requires_grad_()
    loss = F.ctc_loss(logs, torch.tensor([[1]]), (3,), (1,))
    (grad,) = torch.autograd.grad(loss, logs)
    assert loss.item() == pytest.approx(-math.log(6 / 27)) and grad[:, :, 3].isnan().all() and grad[:, :, :3].isfinite().all()


def test_forms_of_targets_and_lengths():
    logs = some(5, 2, 4).log_softmax(2)
    padded, joined = torch.tensor([[1, 2, 3], [3, 9, 9]]), torch.tensor([1, 2, 3, 3])
    loss = F.ctc_loss(logs, padded, (5, 4), (3, 1), reduction="none")
    for target, lengths in [
        (joined, ((5, 4), (3, 1))),
        (padded.int(), (torch.tensor([5, 4]), torch.tensor([3, 1], dtype=torch.int32))),
        (padded.t().contiguous().t(), ([5, 4], [3, 1])),
    ]:
        assert torch.equal(F.ctc_loss(logs, target, *lengths, reduction="none"), loss)
    alone = F.ctc_loss(logs[:, 0], torch.tensor([1, 2, 3]), torch.tensor(5), torch.tensor(3), reduction="none")
    assert alone.shape == () and torch.equal(alone, loss[0])
    assert torch.allclose(F.ctc_loss(logs, padded, (5, 4), (3, 1)), (loss / torch.tensor([3, 1])).mean())
    assert torch.equal(torch.ctc_loss(logs, padded, (5, 4), (3, 1), 0, 2), loss.sum())
    narrow = F.ctc_loss(logs.float(), padded, (5, 4), (3, 1), reduction="none")
    assert narrow.dtype == torch.float32 and torch.allclose(narrow, loss.float())


def test_infinite_losses():
    x = some(2, 2, 3)
    target = torch.tensor([[1, 1], [1, 2]])  # the first one needs a blank between its labels
    each = F.ctc_loss(x.log_softmax(2), target, (2, 2), (2, 2), reduction="none")
    assert each[0].item() == math.inf and each[1].isfinite()
    (grad,) = torch.autograd.grad(each.sum(), x)
    assert grad[:, 0].isnan().all() and grad[:, 1].isfinite().all()
    each = F.ctc_loss(x.log_softmax(2), target, (2, 2), (2, 2), reduction="none", zero_infinity=True)
    (grad,) = torch.autograd.grad(each.sum(), x)
    assert each[0].item() == 0 and grad[:, 0].eq(0).all() and grad[:, 1].ne(0).any()
    nothing = F.ctc_loss(x.log_softmax(2), target, (0, 0), (0, 1), reduction="none")
    assert nothing.tolist() == [0, math.inf]


def test_steps_behind_the_end_have_no_gradient():
    x = some(4, 1, 3)
    (grad,) = torch.autograd.grad(F.ctc_loss(x, torch.tensor([[1]]), (2,), (1,)), x)
    assert grad[2:].eq(0).all() and grad[:2].ne(0).all()


def test_the_same_bits_on_any_number_of_threads():
    threads, results = torch.get_num_threads(), []
    x = some(50, 12, 20, torch.float32)
    target = torch.arange(120).reshape(12, 10) % 19 + 1
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            loss = F.ctc_loss(x.log_softmax(2), target, (50,) * 12, (10,) * 12)
            results.append((loss, torch.autograd.grad(loss, x)[0]))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


def test_errors_and_meta_tensors():
    logs, target = torch.zeros(4, 2, 3), torch.tensor([[1, 2], [1, 1]])
    for call, text in [
        (lambda: F.ctc_loss(logs, target, (4, 5), (2, 2)), "at most 4.*5"),
        (lambda: F.ctc_loss(logs, target, (4, -1), (2, 2)), "-1"),
        (lambda: F.ctc_loss(logs, target, (4,), (2, 2)), "2 batch elements"),
        (lambda: F.ctc_loss(logs, target, (4, 4), (2, 3)), "at least 3 labels"),
        (lambda: F.ctc_loss(logs, target.flatten(), (4, 4), (2, 1)), "3 labels"),
        (lambda: F.ctc_loss(logs, target, (4, 4), (2, 2), blank=3), "blank.*3"),
        (lambda: F.ctc_loss(logs[:0], target, (0, 0), (2, 2)), "empty"),
        (lambda: torch.ctc_loss(logs, target, (4, 4), (2, 2), 0, 3), "reduction.*3"),
        (lambda: F.ctc_loss(logs, target, torch.tensor([4.0, 4.0]), torch.tensor([2, 2])), "float32"),
    ]:
        with pytest.raises((RuntimeError, ValueError), match=text):
            call()
    with pytest.raises(IndexError, match="from 0 to 2.*7"):
        F.ctc_loss(logs, torch.tensor([[1, 7], [1, 1]]), (4, 4), (2, 2))
    with pytest.raises(NotImplementedError, match="float16"):
        F.ctc_loss(logs.half(), target, (4, 4), (2, 2))
    with pytest.raises(ValueError, match="most"):
        F.ctc_loss(logs, target, (4, 4), (2, 2), reduction="most")
    meta = F.ctc_loss(logs.to("meta"), target.to("meta"), (4, 4), (2, 2), reduction="none")
    assert meta.device.type == "meta" and meta.shape == (2,)
