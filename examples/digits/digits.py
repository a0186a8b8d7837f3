"""A small network learns to read digits, in Python: digits.py FOLDER.

Two layers and cross entropy are written out in operators; the optimizer updates all parameters by one of them. Reads train_x.npy,
train_y.npy, test_x.npy and test_y.npy from FOLDER; prints the mean loss of each epoch and the part of the held-out digits that is read
right, and writes these numbers to python.bin."""

import argparse
import sys
from pathlib import Path

import libtensor as torch

HIDDEN, EPOCHS, BATCH, RATE, MOMENTUM, DECAY = 128, 30, 64, 0.1, 0.9, 0.003


def scores(x: torch.Tensor, parameters: list[torch.Tensor]) -> torch.Tensor:
    w1, b1, w2, b2 = parameters
    return (x @ w1 + b1).relu() @ w2 + b2


def cross_entropy(scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns the mean cross entropy of logits and class indices."""
    shifted = scores - scores.detach().amax(1, keepdim=True)
    right = shifted.gather(1, y.unsqueeze(1)).squeeze(1)
    return (shifted.exp().sum(1).log() - right).mean()


def learn(x: torch.Tensor, y: torch.Tensor, progress: bool) -> tuple[list[torch.Tensor], list[float]]:
    torch.manual_seed(0)
    parameters = [
        torch.randn(64, HIDDEN) / 6,
        torch.zeros(HIDDEN),
        torch.randn(HIDDEN, 10) / 7,
        torch.zeros(10),
    ]
    for parameter in parameters:
        parameter.requires_grad_()
    optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
    losses = []
    for epoch in range(EPOCHS):
        order, total = torch.randperm(len(x)), 0.0
        for start in range(0, len(x), BATCH):
            batch = order[start : start + BATCH]
            loss = cross_entropy(scores(x[batch], parameters), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(x))
        print(f"epoch {epoch + 1:2}  loss {losses[-1]:.17g}")
        if progress:
            bar = "#" * (30 * (epoch + 1) // EPOCHS)
            print(
                f"\r[{bar:30}] {epoch + 1}/{EPOCHS}",
                end="" if epoch + 1 < EPOCHS else "\n",
                file=sys.stderr,
                flush=True,
            )
    return parameters, losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    x, y, test_x, test_y = (torch.load_npy(options.folder / f"{name}.npy") for name in ("train_x", "train_y", "test_x", "test_y"))
    parameters, losses = learn(x, y, sys.stderr.isatty())
    with torch.no_grad():
        accuracy = (scores(test_x, parameters).argmax(1) == test_y).to(torch.float64).mean().item()
    print(f"held-out accuracy {accuracy:.17g}")
    (options.folder / "python.bin").write_bytes(torch.tensor([*losses, accuracy], dtype=torch.float64).numpy().tobytes())


if __name__ == "__main__":
    main()
