"""Trains the classifier of the serverless functions, on two spirals in the plane, and exports it with the probabilities of the classes as
result: train.py MODEL.pt2."""

import math
import sys

import libtensor as torch
from libtensor import nn
from libtensor.nn import functional as F

WIDTH, STEPS, MAX_POINTS = 32, 600, 10_000


def draw_spirals(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns `count` points of each spiral, (2 * count, 2), and their classes, (2 * count)."""
    angle = torch.rand(2, count).sqrt() * 2.5 * math.pi
    turn = angle + torch.tensor([[0.0], [math.pi]])
    points = torch.stack((angle * turn.cos(), angle * turn.sin()), -1) / 8
    return (points + 0.02 * torch.randn(2, count, 2)).flatten(0, 1), torch.arange(2).repeat_interleave(count)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    torch.manual_seed(0)
    points, classes = draw_spirals(500)
    model = nn.Sequential(nn.Linear(2, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.cross_entropy(model(points), classes).backward()
        optimizer.step()
    points, classes = draw_spirals(500)
    print(f"{(model(points).argmax(1) == classes).double().mean().item():.1%} of new points are classified correctly")
    count = torch.export.Dim("count", min=1, max=MAX_POINTS)
    program = torch.export.export(nn.Sequential(*model, nn.Softmax(1)).eval(), (points,), dynamic_shapes=({0: count},))
    torch.export.save(program, sys.argv[1])


main()
