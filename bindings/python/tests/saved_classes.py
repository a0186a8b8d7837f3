"""Classes whose objects test_saved_objects.py saves: pickles name them by this module."""

import dataclasses
import enum

import libtensor as torch
from libtensor import nn


class Kind(enum.Enum):
    ADAM, SGD = "adam", "sgd"


@dataclasses.dataclass
class Arguments:
    lr: float
    kind: Kind
    steps: list = dataclasses.field(default_factory=list)
    weights: object = None


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Points(torch.Tensor):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.drop, self.norm = nn.Linear(2, 3), nn.Dropout(0.5), nn.BatchNorm1d(3)
        self.register_buffer("kept", torch.ones(1))
        self.register_buffer("left", torch.full((1,), 2.0), persistent=False)
        self.register_forward_hook(double)

    def forward(self, x):
        return self.norm(self.drop(self.hidden(x))) + self.kept + self.left


def double(module, args, output):
    return 2 * output


class Hostile:
    """Whose pickle calls a function."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")
