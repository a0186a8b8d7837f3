"""Lines, fields and pictures of tensors, as the figures that a browser is given."""

import json
from base64 import b64decode

import numpy as np
import plotly.express as px
import plotly.graph_objects as go
from layouts import MATRICES, VECTORS, of_all, values

import libtensor as torch


def sent(figure, name):
    """The numbers of a figure's first trace that a browser is sent."""
    found = json.loads(figure.to_json())["data"][0][name]
    if not isinstance(found, dict):
        return values(found)
    shape = [int(n) for n in found["shape"].split(",")] if "shape" in found else [-1]
    return values(np.frombuffer(b64decode(found["bdata"]), found["dtype"]).reshape(shape))


@of_all(VECTORS, without=("half", "uint64", "empty"))
def test_lines(t):
    assert sent(go.Figure(go.Scatter(x=t, y=t)), "y") == values(t) == sent(go.Figure(go.Bar(y=t)), "y")


@of_all(MATRICES, without=("half", "uint64"))
def test_fields(t):
    assert sent(go.Figure(go.Heatmap(z=t)), "z") == values(t)


def test_pictures():
    assert px.imshow(torch.zeros(4, 5, 3, dtype=torch.uint8)).to_dict()["data"][0]["source"].startswith("data:image/png")
