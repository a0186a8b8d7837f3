"""Losses."""

import math

import pytest

import libtensor as torch

F = torch.nn.functional
inf = float("inf")
X, Y = torch.tensor([0.5, 4.0], dtype=torch.float64), torch.tensor([1.0, 1.0], dtype=torch.float64)
A = torch.tensor([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], dtype=torch.float64)
B = A.flip(1)
C = torch.tensor([2, 0])


def close(value):
    return pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "arguments", "options", "each"),
    [
        ("l1_loss", (X, Y), {}, [0.5, 3]),
        ("mse_loss", (X, Y), {}, [0.25, 9]),
        ("smooth_l1_loss", (X, Y), {"beta": 2.0}, [0.0625, 2]),
        ("smooth_l1_loss", (X, Y), {"beta": 0.0}, [0.5, 3]),
        ("huber_loss", (X, Y), {"delta": 2.0}, [0.125, 4]),
        ("kl_div", (X, Y), {}, [-0.5, -4]),
        ("kl_div", (X, Y), {"log_target": True}, [math.e * 0.5, math.e * -3]),
        ("poisson_nll_loss", (X, Y), {}, [math.exp(0.5) - 0.5, math.exp(4) - 4]),
        ("poisson_nll_loss", (X, Y), {"log_input": False, "eps": 0.5}, [0.5, 4 - math.log(4.5)]),
        ("gaussian_nll_loss", (X, Y, 2.0), {}, [0.5 * (math.log(2) + 0.125), 0.5 * (math.log(2) + 4.5)]),
        ("hinge_embedding_loss", (X, torch.tensor([-1, 1])), {}, [0.5, 4]),
        ("margin_ranking_loss", (X, Y, torch.tensor([1, -1])), {"margin": 1.0}, [1.5, 4]),
        ("soft_margin_loss", (X, torch.tensor([-1, 1])), {}, [math.log1p(math.exp(0.5)), math.log1p(math.exp(-4))]),
        ("binary_cross_entropy", (X / 8, Y), {}, [math.log(16), math.log(2)]),
        ("binary_cross_entropy_with_logits", (X, Y), {}, [math.log1p(math.exp(-0.5)), math.log1p(math.exp(-4))]),
        ("multi_margin_loss", (A, C), {}, [0.3, 0.7]),
        ("multilabel_margin_loss", (A, torch.tensor([[2, 0, -1], [1, -1, 0]])), {}, [1.6 / 3, 0.7]),
        ("triplet_margin_loss", (A, B, A + 0.1), {"p": 1.0, "eps": 0.0}, [1.9, 0.9]),
        ("nll_loss", (A, C), {}, [-0.7, -0.3]),
        ("cross_entropy", (A, C), {}, [0.7679495811462402, 1.1330687999725342]),
        ("cosine_embedding_loss", (A, B, torch.tensor([1, -1])), {"margin": 0.9}, [2 / 3, 0.07058829069137573]),
    ],
    ids=str,
)
def test_values_and_reductions(name, arguments, options, each):
    loss = getattr(F, name)
    assert loss(*arguments, **options, reduction="none").tolist() == close(each)
    assert loss(*arguments, **options, reduction="sum").item() == close(sum(each))
    assert loss(*arguments, **options).item() == close(sum(each) / 2)
    with pytest.raises(ValueError, match="reduction"):
        loss(*arguments, **options, reduction="median")
    x = arguments[0].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: loss(t, *arguments[1:], **options), (x,))
    meta = [t.to("meta") if isinstance(t, torch.Tensor) else t for t in arguments]
    assert loss(*meta, **options, reduction="none").shape == (2,)


def test_the_older_arguments():
    with pytest.warns(UserWarning, match="reduction"):
        assert F.mse_loss(X, Y, size_average=False).item() == 9.25
    assert F.mse_loss(X, Y, None, False).tolist() == [0.25, 9]
    assert F.mse_loss(X, Y, True).item() == 4.625
    assert F.mse_loss(X, Y, size_average=True, reduction="none").item() == 4.625


def test_weights_of_elements():
    w = torch.tensor([3.0, 1.0], dtype=torch.float64)
    assert F.l1_loss(X, Y, weight=w).item() == 1.125
    assert F.mse_loss(X, Y, weight=w, reduction="sum").item() == 9.75
    assert F.huber_loss(X, Y, weight=w).item() == close((0.375 + 2.5) / 2)
    with pytest.raises(ValueError, match="weight"):
        F.l1_loss(X, Y, weight=torch.ones(3))


def test_classes():
    w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert F.nll_loss(A, C, weight=w).item() == close(-0.6)
    assert F.nll_loss(A, torch.tensor([2, -100])).item() == close(-0.7)
    assert F.nll_loss(A, C, ignore_index=2).item() == close(-0.3)
    assert math.isnan(F.nll_loss(A, torch.tensor([-100, -100])).item())
    assert F.nll_loss(A[0], torch.tensor(1)).item() == close(-0.2)
    assert F.nll_loss(torch.zeros(2, 3, 4), torch.zeros(2, 4, dtype=torch.uint8), reduction="none").shape == (2, 4)
    for target in (torch.tensor([2, 3]), torch.tensor([0]), C.int(), torch.zeros(2, 1, dtype=torch.int64)):
        with pytest.raises((RuntimeError, ValueError, IndexError), match="nll_loss"):
            F.nll_loss(A, target)
    for reduction in ("none", "mean", "sum"):  # a class of one example, which may have a dimension
        assert F.nll_loss(A[0], torch.tensor([1]), w, reduction=reduction).shape == ()
        assert F.nll_loss(torch.tensor([2.0]), torch.tensor([0]), reduction=reduction).item() == -2
        assert F.cross_entropy(A[0], torch.tensor([2]), reduction=reduction).item() == close(F.cross_entropy(A[:1], C[:1]).item())
    for self, target in ((A[0], C), (A, torch.tensor(1))):
        with pytest.raises(ValueError, match="target"):
            F.nll_loss(self, target)
    assert F.cross_entropy(A, C, label_smoothing=0.1).item() == close(0.9671758413314819)
    assert F.cross_entropy(A, C, weight=w, label_smoothing=0.1).item() == close(0.8791906833648682)
    assert F.cross_entropy(A, torch.tensor([2, -100]), weight=w, label_smoothing=0.1).item() == close(0.7601290345191956)
    assert F.cross_entropy(torch.tensor([[-inf, 0.0, 1.0]]), torch.tensor([1])).item() == close(1.3132617)
    for smoothing in (-0.1, 1.5):
        with pytest.raises(RuntimeError, match="label_smoothing"):
            F.cross_entropy(A, C, label_smoothing=smoothing)


def test_distributions_over_classes():
    w = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert F.cross_entropy(A, B).item() == close(1.1955091953277588)
    assert F.cross_entropy(A, B, label_smoothing=0.1).item() == close(1.187675952911377)
    assert F.cross_entropy(A, B, weight=w, reduction="none").tolist() == close([1.69512939453125, 2.062830686569214])
    assert F.cross_entropy(A[0], B[0]).item() == close(1.287949562072754)
    with pytest.raises(RuntimeError, match="ignore_index"):
        F.cross_entropy(A, B, ignore_index=1)
    with pytest.raises(RuntimeError, match="probabilities"):
        F.cross_entropy(A, B.long())


def test_probabilities():
    x = torch.tensor([0.0, 1.0, 0.5], requires_grad=True)
    y = F.binary_cross_entropy(x, torch.tensor([1.0, 0.0, 0.5]), reduction="none")
    assert y.tolist() == [100, 100, close(math.log(2))]
    y[2].backward()
    assert x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="1.5"):
        F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0]))
    for target in ([0.0, 2.0, 0.0], [0.0, -0.5, 0.0], [0.0, math.nan, 0.0]):
        with pytest.raises(RuntimeError, match="target"):
            F.binary_cross_entropy(x, torch.tensor(target))
    with pytest.raises(ValueError, match="target"):
        F.binary_cross_entropy(x, torch.tensor([1.0]))
    z = torch.tensor([200.0, -200.0])
    assert F.binary_cross_entropy_with_logits(
        z, torch.tensor([0.0, 1.0]), pos_weight=torch.tensor([1.0, 2.0]), reduction="none"
    ).tolist() == [
        200,
        400,
    ]


def test_variances():
    x, t, v = torch.zeros(2, 3), torch.ones(2, 3), torch.ones(2, 3)
    assert F.gaussian_nll_loss(x, t, v, full=True).item() == close(0.5 + 0.5 * math.log(2 * math.pi))
    for variance in (v[:, 0], v[:, :1]):
        assert F.gaussian_nll_loss(x, t, variance).item() == 0.5
    least = torch.zeros(2, 3, requires_grad=True)
    F.gaussian_nll_loss(x, t, least, eps=0.5).backward()
    assert least.grad.tolist() == [[close(-1 / 6)] * 3] * 2
    for variance in (-v, -1.0, torch.ones(3, 2)):
        with pytest.raises((ValueError, RuntimeError), match="var|size"):
            F.gaussian_nll_loss(x, t, variance)


def test_triplets_with_a_distance():
    def distance(a, b):
        return (a - b).abs().sum(-1)

    assert F.triplet_margin_with_distance_loss(A, B, A + 0.1, distance_function=distance, reduction="none").tolist() == close([1.9, 0.9])
    assert F.triplet_margin_with_distance_loss(A, B, A + 0.1, swap=True).item() == close(
        F.triplet_margin_loss(A, B, A + 0.1, swap=True).item()
    )
    for options in ({"margin": 0}, {"reduction": "x"}):
        with pytest.raises(ValueError, match="triplet"):
            F.triplet_margin_with_distance_loss(A, B, A, **options)
    with pytest.raises(RuntimeError, match="dimensions"):
        F.triplet_margin_loss(A, B[0], A)


def test_lists_of_labels():
    x = torch.linspace(-1, 1, 40, dtype=torch.float64).reshape(4, 10).sin().requires_grad_()
    lists = [[3, 1], [], [9], [1, 2, 3, 4, 5, 6]]
    target = torch.tensor([labels + [-1] * (10 - len(labels)) for labels in lists])
    each = F.multilabel_margin_loss(x, target, reduction="none")
    for loss, row, labels in zip(each, x, lists, strict=True):
        others = [c for c in range(10) if c not in labels]
        expected = (
            sum((1 - (row[label] - row[c])).relu() for label in labels for c in others) / 10 if labels else torch.zeros((), dtype=x.dtype)
        )
        torch.testing.assert_close(loss, expected)
    assert torch.autograd.gradcheck(lambda x: F.multilabel_margin_loss(x, target), (x,))
    for wrong in (-2, 10):
        with pytest.raises((RuntimeError, IndexError), match=str(wrong)):
            F.multilabel_margin_loss(
                torch.zeros(1, 10), torch.tensor([[3, -1, wrong] + [-1] * 7]) if wrong < 0 else torch.tensor([[wrong] + [-1] * 9])
            )


def test_few_labels_of_many_classes_take_little_memory():
    x, target = torch.zeros(100, 3000, requires_grad=True), torch.full((100, 3000), -1)
    target[:, 0] = torch.arange(100)
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    F.multilabel_margin_loss(x, target).backward()
    assert torch.memory_stats().peak - before < 64 * x.nbytes  # not classes by classes


def test_second_gradients_of_means_of_nothing():
    x, given = torch.zeros(0, 3, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    for loss in (x.mean(), F.mse_loss(x, torch.zeros(0, 3)), F.smooth_l1_loss(x, torch.zeros(0, 3))):
        (grad,) = torch.autograd.grad(loss, x, given, create_graph=True)
        assert torch.autograd.grad(grad, given, torch.ones_like(grad))[0].item() == 0
