"""Prepare the digits, or compare what the three languages learned.

report.py prepare FOLDER   writes scikit-learn's bundled digits as .npy files, a fifth of them held out
report.py compare FOLDER   compares python.bin, c.bin and node.bin to the last bit, and draws the learning curve, curve.png
"""

import sys
from pathlib import Path

import numpy as np

NAMES = ("python", "c", "node")


def prepare(folder: Path) -> None:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    held_out = np.random.default_rng(0).permutation(len(x)) % 5 == 0
    for name, rows in (("train", ~held_out), ("test", held_out)):
        np.save(folder / f"{name}_x.npy", (x[rows] / 16).astype(np.float32))
        np.save(folder / f"{name}_y.npy", y[rows].astype(np.int64))


def draw(path: Path, losses: np.ndarray, accuracy: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5), dpi=100)
    axes.semilogy(np.arange(1, len(losses) + 1), losses)
    axes.set(xlabel="epoch", ylabel="mean cross entropy", title=f"{accuracy:.1%} of the held-out digits are read right")
    figure.tight_layout()
    figure.savefig(path)


def compare(folder: Path) -> None:
    raw = {name: (folder / f"{name}.bin").read_bytes() for name in NAMES}
    numbers = {name: np.frombuffer(data) for name, data in raw.items()}
    for name, values in numbers.items():
        print(f"{name:7} last loss {values[-2]:.17g}, held-out accuracy {values[-1]:.4f}")
    agree = len(set(raw.values())) == 1
    print("Python, C and Node agree to the last bit." if agree else "The languages DISAGREE.")
    *losses, accuracy = numbers["python"]
    draw(folder / "curve.png", np.array(losses), accuracy)
    print(f"learning curve: {folder / 'curve.png'}")
    if not agree or accuracy < 0.97:
        raise SystemExit(1)


def main() -> None:
    actions = {"prepare": prepare, "compare": compare}
    if len(sys.argv) != 3 or sys.argv[1] not in actions:
        print(__doc__)
        raise SystemExit(0 if "--help" in sys.argv else 2)
    actions[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    main()
