# mypy: ignore-errors
"""The network of examples/digits learns on Dask's workers: dask_digits.py FOLDER [--workers N] [--epochs N].

Each batch is cut into parts whose gradients are tasks; their sum is a tree of fixed shape. So the weights are those of one process to the
last bit, with any number of workers, which the program shows by learning twice. FOLDER has the files of examples/digits."""

import argparse
import sys
from pathlib import Path

from distributed import Client, LocalCluster

import libtensor as torch

sys.path.append(str(Path(__file__).resolve().parents[3] / "examples" / "digits"))
from digits import BATCH, DECAY, HIDDEN, MOMENTUM, RATE, cross_entropy, scores

PARTS = 4


def first():
    """The parameters and velocities that learning begins with."""
    torch.manual_seed(0)
    parameters = [torch.randn(64, HIDDEN) / 6, torch.zeros(HIDDEN), torch.randn(HIDDEN, 10) / 7, torch.zeros(10)]
    return parameters, [torch.zeros_like(parameter) for parameter in parameters]


def gradients(state, x, y, rows):
    """The sum of the losses of some rows, and its gradients."""
    leaves = [parameter.detach().requires_grad_() for parameter in state[0]]
    loss = cross_entropy(scores(x[rows], leaves), y[rows]) * len(rows)
    return [loss.detach(), *torch.autograd.grad(loss, leaves)]


def add(a, b):
    return [p + q for p, q in zip(a, b, strict=True)]


def step(state, total, rows):
    """The parameters and velocities after a batch."""
    velocities = [v * MOMENTUM + g / rows + p * DECAY for p, v, g in zip(*state, total[1:], strict=True)]
    return [p - v * RATE for p, v in zip(state[0], velocities, strict=True)], velocities


def learn(run, x, y, rows, epochs):
    """The state and the mean losses after epochs over rows of x and y. `run` calls a function, here or on a worker."""
    generator = torch.Generator().manual_seed(0)
    state, losses = run(first), []
    for _ in range(epochs):
        order, seen = torch.randperm(rows, generator=generator), []
        for batch in order.split(BATCH):
            sums = [run(gradients, state, x, y, part) for part in batch.tensor_split(PARTS)]
            while len(sums) > 1:
                sums = [run(add, *sums[k : k + 2]) if k + 1 < len(sums) else sums[k] for k in range(0, len(sums), 2)]
            state = run(step, state, sums[0], len(batch))
            seen.append(sums[0])
        losses.append(run(lambda sums: sum(one[0] for one in sums).item() / rows, seen))
    return state, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    x, y, test_x, test_y = (torch.load_npy(options.folder / f"{name}.npy") for name in ("train_x", "train_y", "test_x", "test_y"))

    (alone, _), losses = learn(lambda function, *args: function(*args), x, y, len(x), options.epochs)
    with LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:

        def run(function, *args):
            return client.submit(function, *args, pure=False)

        state, found = learn(run, *client.scatter([x, y], broadcast=True), len(x), options.epochs)
        (parameters, _), found = client.gather([state, found])
    for epoch, loss in enumerate(found):
        print(f"epoch {epoch + 1:2}  loss {loss:.17g}")
    print(f"held-out accuracy {(scores(test_x, parameters).argmax(1) == test_y).double().mean().item():.4g}")
    same = losses == found and all(map(torch.equal, parameters, alone))
    print(f"{options.workers} workers and one process: {'the same bits' if same else 'they differ'}")
    sys.exit(not same)


if __name__ == "__main__":
    main()
