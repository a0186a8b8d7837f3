"""Tensors that a cell of a notebook ends with: a table or a picture, and text."""

from IPython.core.interactiveshell import InteractiveShell

import libtensor as torch


def shown(t):
    data, _ = InteractiveShell.instance().display_formatter.format(t)
    return data


def test_tables():
    data = shown(torch.tensor([[1, 2], [3, 4]]))
    assert data["text/plain"] == "tensor([[1, 2],\n        [3, 4]])" and "<td>4</td>" in data["text/html"]


def test_pictures():
    assert "data:image/png;base64," in shown(torch.zeros(8, 8, 3, dtype=torch.uint8))["text/html"]
