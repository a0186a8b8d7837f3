"""Pictures of tensors of any strides and back: Image.fromarray, frombytes, frombuffer, tensor(image)."""

import io

import numpy as np
import pytest
from PIL import Image

import libtensor as torch

COLOURS = torch.arange(24, dtype=torch.uint8).view(2, 4, 3) * 10


@pytest.mark.parametrize(
    ("picture", "mode"),
    [
        (COLOURS, "RGB"),
        (COLOURS.transpose(0, 1), "RGB"),
        (COLOURS[:, ::2], "RGB"),
        (COLOURS[:1].expand(2, 4, 3), "RGB"),
        (COLOURS.permute(2, 0, 1).contiguous().permute(1, 2, 0), "RGB"),
        (COLOURS[..., 0], "L"),
        (torch.arange(32, dtype=torch.uint8).view(2, 4, 4), "RGBA"),
        (COLOURS[..., 0] > 100, "1"),
        (COLOURS[..., 0].float() / 255, "F"),
        (COLOURS[..., 0].to(torch.int32), "I"),
        (COLOURS[..., 0].to(torch.uint16) * 256, "I;16"),
    ],
)
def test_there_and_back(picture, mode):
    image = Image.fromarray(picture)
    assert image.mode == mode and image.size == (picture.shape[1], picture.shape[0])
    for back in (torch.tensor(image), torch.as_tensor(image), torch.tensor(np.asarray(image)), torch.from_numpy(np.array(image))):
        assert back.tolist() == picture.tolist()


def test_bytes():
    for data in (COLOURS, COLOURS.tobytes(), bytes(COLOURS), memoryview(COLOURS)):
        assert torch.tensor(Image.frombytes("RGB", (4, 2), data)).equal(COLOURS)
    assert torch.tensor(Image.frombuffer("RGB", (4, 2), COLOURS, "raw", "RGB", 0, 1)).equal(COLOURS)
    assert torch.frombuffer(Image.fromarray(COLOURS).tobytes(), dtype=torch.uint8).view(2, 4, 3).equal(COLOURS)


def test_files():
    file = io.BytesIO()
    Image.fromarray(COLOURS).save(file, "PNG")
    assert torch.tensor(Image.open(file)).equal(COLOURS)


def test_a_tensor_of_a_picture_is_a_copy_that_can_be_written():
    image = Image.fromarray(COLOURS)
    made = torch.tensor(image)
    made.zero_()
    assert torch.tensor(image).equal(COLOURS)


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: COLOURS.float(), "f4"),
        (lambda: torch.ones(2, 2, dtype=torch.int64), "i8"),
        (lambda: torch.ones(2, 2, requires_grad=True), "detach"),
        (lambda: torch.ones(2, 2, dtype=torch.bfloat16), "bfloat16|no attribute '__array_interface__'"),
    ],
)
def test_tensors_that_are_no_pictures(make, fact):
    with pytest.raises((RuntimeError, TypeError, AttributeError), match=fact):
        Image.fromarray(make())


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "HSV", "F", "I"])
def test_modes(mode):
    image = Image.fromarray(COLOURS).convert(mode)
    assert torch.tensor(image).tolist() == np.asarray(image).tolist() and torch.is_read_only(torch.as_tensor(image))
