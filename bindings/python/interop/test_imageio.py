"""Pictures of tensors to files and back."""

import imageio.v3 as iio
import pytest

import libtensor as torch

COLOURS = torch.arange(24, dtype=torch.uint8).view(2, 4, 3) * 10


@pytest.mark.parametrize("t", [COLOURS, COLOURS.transpose(0, 1), COLOURS[:, ::2], COLOURS[..., 0], COLOURS[:1].expand(2, 4, 3)])
def test_there_and_back(tmp_path, t):
    iio.imwrite(tmp_path / "a.png", t)
    assert torch.tensor(iio.imread(tmp_path / "a.png")).equal(t)


def test_tensors_that_are_no_pictures(tmp_path):
    with pytest.raises((RuntimeError, TypeError), match="detach"):
        iio.imwrite(tmp_path / "a.png", torch.ones(2, 2, requires_grad=True))
