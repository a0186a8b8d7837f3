"""Invalid arguments of functions of torch.nn, with PyTorch's classes of exceptions."""

import pytest

import libtensor as torch

F = torch.nn.functional
X, Y, CLASSES, SIGNS = torch.ones(2, 3), torch.ones(2, 3), torch.tensor([0, 1]), torch.ones(2)
LOSSES = {
    **dict.fromkeys(
        ["l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits"],
        (X, Y),
    ),
    **dict.fromkeys(["poisson_nll_loss", "soft_margin_loss", "hinge_embedding_loss", "multilabel_soft_margin_loss"], (X, Y)),
    **dict.fromkeys(["nll_loss", "cross_entropy", "multi_margin_loss"], (X, CLASSES)),
    **dict.fromkeys(["gaussian_nll_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"], (X, Y, Y)),
    "margin_ranking_loss": (SIGNS, SIGNS, SIGNS),
    "cosine_embedding_loss": (X, Y, SIGNS),
    "multilabel_margin_loss": (X, torch.zeros(2, 3, dtype=torch.int64)),
    "linear_cross_entropy": (X, torch.ones(4, 3), CLASSES),
}


@pytest.mark.parametrize("reduction", [None, 1, "some", "MEAN"])
@pytest.mark.parametrize("loss", LOSSES)
def test_reduction_that_is_none_of_the_accepted_values(loss, reduction):
    with pytest.raises(ValueError, match=f"{reduction} is not a valid value for reduction"):
        getattr(F, loss)(*LOSSES[loss], reduction=reduction)


@pytest.mark.parametrize("padding", [-5, 4, 2**40])
def test_padding_outside_of_the_embeddings(padding):
    weight, indices = torch.ones(4, 3), torch.tensor([0, 1])
    for call in (lambda: F.embedding(indices, weight, padding_idx=padding), lambda: torch.nn.Embedding(4, 3, padding_idx=padding)):
        with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
            call()
    with pytest.raises(RuntimeError, match="padding_idx must be"):
        F.embedding_bag(indices[None], weight, padding_idx=padding)


@pytest.mark.parametrize("padding", [-4, -1, 0, 3, None])
def test_padding_inside(padding):
    assert F.embedding(torch.tensor([0, 1]), torch.ones(4, 3), padding_idx=padding).tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("size", [(), (2,), [2], (2, 2, 2), torch.Size([2])])
@pytest.mark.parametrize("argument", ["kernel_size", "dilation", "padding", "stride", "output_size"])
def test_sizes_of_unfold_and_fold_are_one_number_or_two(argument, size):
    given = {"kernel_size": 2, "dilation": 1, "padding": 0, "stride": 1}
    calls = [lambda: F.fold(torch.ones(1, 8, 9), **({"output_size": 4} | given | {argument: size}))]
    if argument != "output_size":
        calls.append(lambda: F.unfold(torch.ones(1, 2, 4, 4), **(given | {argument: size})))
    for call in calls:
        with pytest.raises(RuntimeError, match=f"{argument} must either be a single Int or tuple of 2 Ints"):
            call()


@pytest.mark.parametrize("n", [2, 3])
def test_kernel_of_lp_pool_is_one_number_or_one_per_dimension(n):
    pool, images = getattr(F, f"lp_pool{n}d"), torch.ones(1, 1, *[4] * n)
    for size in [(), (2,), (2,) * (n + 1)]:
        with pytest.raises(ValueError, match="kernel_size must either be a single Int"):
            pool(images, 2, size)
    want = pool(images, 2, 2)
    assert torch.equal(pool(images, 2, (2,) * n), want) and torch.equal(pool(images, 2, 2, (2,)), want)
