"""Errors contain the phrases of PyTorch's errors, which programs match and users search for."""

import pytest

import libtensor as torch
import libtensor.nn.functional as F
from libtensor import nn

ONES = torch.ones
IMAGE, GRID, THETA = ONES(1, 1, 2, 2), ONES(1, 1, 1, 2), ONES(1, 2, 3)
BAG, TABLE, START = torch.tensor([0, 1]), ONES(3, 2), torch.tensor([0])
CLASSES, SCORES = torch.zeros(10, dtype=torch.int64), ONES(10, 3)

RUNTIME = {
    "between 0 and 1": lambda: F.binary_cross_entropy(ONES(2) * 2, ONES(2)),
    "Expected sequence length to be larger than 0 in RNN": lambda: nn.LSTM(5, 6, bidirectional=True)(ONES(0, 10, 5)),
    "expected grid to have size 1 in last dimension": lambda: F.grid_sample(IMAGE[0], GRID, align_corners=False),
    "expected grid to have size 2 in last dimension": lambda: F.grid_sample(IMAGE, ONES(1, 1, 1, 1, 3), align_corners=False),
    "expected grid and input to have same batch size": lambda: F.grid_sample(IMAGE, ONES(2, 1, 1, 2), align_corners=False),
    "expected input to have non-empty spatial dimensions": lambda: F.grid_sample(ONES(1, 1, 0, 2), GRID, align_corners=False),
    "be divisible by the product of kernel_size": lambda: F.fold(ONES(1, 5, 9), (4, 5), (2, 3)),
    "match the calculated number of sliding blocks 3 \\* 3 = 9": lambda: F.fold(ONES(1, 6, 10), (4, 5), (2, 3)),
    r"calculated shape of the array of sliding blocks as \[-4, -3\]": lambda: F.fold(ONES(1, 12, 12), (4, 5), (2, 2), dilation=8),
    r"as \[1, 0\], but its components must be at least one": lambda: F.unfold(ONES(1, 2, 2, 2), (2, 3)),
    "Padding size should be less than the corresponding input dimension": lambda: F.pad(ONES(1, 1, 2), (2, 1), mode="reflect"),
    r"Expected 4D or 5D \(batch mode\) tensor": lambda: F.pad(ONES(3, 0, 9, 9, 9), (2,) * 6, mode="replicate"),
    "Expected 3D or 4D": lambda: F.max_pool2d(ONES(1, 0, 4, 4), 2),
    "should be defined either for all 3 classes or no classes": lambda: F.nll_loss(SCORES, CLASSES, weight=ONES(4)),
    "1D target tensor expected, multi-target not supported": lambda: F.nll_loss(SCORES, torch.zeros(10, 2, dtype=torch.int64)),
    "1D target tensor expects 2D input tensors": lambda: F.cosine_embedding_loss(ONES(10), ONES(10), ONES(10)),
    "0D target tensor expects 1D input tensors": lambda: F.cosine_embedding_loss(ONES(2, 5), ONES(2, 5), torch.tensor(1.0)),
    "0D or 1D target tensor expected, multi-target": lambda: F.cosine_embedding_loss(SCORES, SCORES, ONES(10, 1)),
    "label_smoothing must be between 0.0": lambda: F.cross_entropy(SCORES, CLASSES, label_smoothing=1.2),
    "lambda must be greater or equal to 0": lambda: F.softshrink(SCORES, -1),
    "call out-of-place version": lambda: F.elu_(ONES(2, requires_grad=True).clone(), alpha=-2).sum().backward(),
    r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d": lambda: F.conv2d(ONES(1, 10, 1, 2, 2), ONES(2, 10, 1, 1)),
    "Expected 2D or 3D input, but received a 4D input": lambda: nn.Dropout1d()(ONES(1, 1, 1, 1)),
    "'weight' must be 2-D": lambda: F.embedding(torch.tensor(0), torch.tensor(1.0)),
    r"takes value 5 which is not in the valid range \[0, 3\)": lambda: F.embedding_bag(torch.tensor([0, 5]), TABLE, START),
    "padding_idx must be within the number of embeddings, -3 through 2": lambda: F.embedding_bag(BAG, TABLE, START, padding_idx=-7),
    "You can pass `enforce_sorted=False`": lambda: nn.utils.rnn.pack_sequence([ONES(2), ONES(3)]),
    "Expected iterable for input sequences": lambda: nn.utils.rnn.pad_sequence(5),
    "stride must be greater than zero": lambda: F.max_pool2d(ONES(1, 1, 4, 4), 2, stride=0),
    "Expected non-empty vector or matrix": lambda: F.multi_margin_loss(ONES(0), torch.tensor(0)),
}
VALUE = {
    "Expected input batch_size .10. to match target batch_size": lambda: F.nll_loss(SCORES, CLASSES[:3]),
    "Using a target size": lambda: F.binary_cross_entropy(ONES(25), ONES(25, 1)),
    "var is of incorrect size": lambda: F.gaussian_nll_loss(ONES(3, 5), ONES(3, 5), ONES(3, 3)),
    "var has negative entry/entries": lambda: F.gaussian_nll_loss(ONES(3, 5), ONES(3, 5), -1.0),
    "expected mode to be .* but got: 'garbage'": lambda: F.grid_sample(IMAGE, GRID, mode="garbage", align_corners=False),
    "expected padding_mode to be .* but got: 'garbage'": lambda: F.grid_sample(IMAGE, GRID, padding_mode="garbage", align_corners=False),
    "Expected theta to have floating point type": lambda: F.affine_grid(THETA.int(), [1, 1, 2, 2], align_corners=False),
    "Expected a batch of 2D affine matrices of shape Nx2x3": lambda: F.affine_grid(THETA[0], [1, 1, 2, 2], align_corners=False),
    "Expected non-zero, positive output size": lambda: F.affine_grid(THETA, [1, 1, 0, 2], align_corners=False),
    "requires output_ratio to either be a single Int or tuple of Ints": lambda: F.fractional_max_pool2d(
        ONES(1, 1, 9, 9), 2, output_ratio=[0.5] * 3
    ),
    "must have the same shape as the input": lambda: F.embedding_bag(BAG, TABLE, START, mode="sum", per_sample_weights=ONES(3)),
    "Expected total_length to be at least the length of the longest": lambda: nn.utils.rnn.pad_packed_sequence(
        nn.utils.rnn.pack_sequence([ONES(3)]), total_length=1
    ),
}
NOT_IMPLEMENTED = {
    "affine_grid only supports 4D and 5D sizes": lambda: F.affine_grid(THETA, [1, 1, 2], align_corners=False),
    "per_sample_weights is only supported for mode='sum'": lambda: F.embedding_bag(
        BAG, TABLE, START, mode="mean", per_sample_weights=ONES(2)
    ),
}


@pytest.mark.parametrize("phrase", RUNTIME)
def test_runtime_errors(phrase):
    with pytest.raises(RuntimeError, match=phrase):
        RUNTIME[phrase]()


@pytest.mark.parametrize("phrase", VALUE)
def test_value_errors(phrase):
    with pytest.raises(ValueError, match=phrase):
        VALUE[phrase]()


@pytest.mark.parametrize("phrase", NOT_IMPLEMENTED)
def test_not_implemented_errors(phrase):
    with pytest.raises(NotImplementedError, match=phrase):
        NOT_IMPLEMENTED[phrase]()


@pytest.mark.parametrize("size", [(1, 1, 2, 1), (1, 1, 1, 2)])
def test_affine_grids_of_size_one_warn(size):
    with pytest.warns(UserWarning, match="See the documentation of affine_grid for details"):
        F.affine_grid(THETA, size, align_corners=True)
