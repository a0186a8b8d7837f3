"""Prepare the digits, or compare the results of the three languages.

report.py prepare FOLDER   writes scikit-learn's bundled digits as .npy files, a fifth of them held out
report.py sketch FOLDER    writes fewer digits, of seven noisy strokes, which need no scikit-learn
report.py compare FOLDER   checks that python.bin, c.bin and node.bin are bitwise identical
report.py draw FOLDER      draws the learning curve, curve.png
"""

import sys
from pathlib import Path

import numpy as np

NAMES = ("python", "c", "node")


def prepare(folder: Path) -> None:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    write(folder, x / 16, y)


def sketch(folder: Path) -> None:
    strokes = np.zeros((7, 8, 8))
    for stroke, place in enumerate(
        (np.s_[0, 2:6], np.s_[0:4, 6], np.s_[4:8, 6], np.s_[7, 2:6], np.s_[4:8, 1], np.s_[0:4, 1], np.s_[3:5, 2:6])
    ):
        strokes[stroke][place] = 1
    of_digits = ["012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356"]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 400)
    x = np.array([strokes[[int(stroke) for stroke in of_digits[digit]]].max(0).ravel() for digit in y])
    write(folder, x + 0.2 * rng.standard_normal(x.shape), y)


def write(folder: Path, x: np.ndarray, y: np.ndarray) -> None:
    held_out = np.random.default_rng(0).permutation(len(x)) % 5 == 0
    for name, rows in (("train", ~held_out), ("test", held_out)):
        np.save(folder / f"{name}_x.npy", x[rows].astype(np.float32))
        np.save(folder / f"{name}_y.npy", y[rows].astype(np.int64))


def draw(folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    *losses, accuracy = np.frombuffer((folder / "python.bin").read_bytes())
    figure, axes = pyplot.subplots(figsize=(6, 3.5), dpi=100)
    axes.semilogy(np.arange(1, len(losses) + 1), losses)
    axes.set(xlabel="epoch", ylabel="mean cross entropy", title=f"{accuracy:.1%} of the held-out digits are read right")
    figure.tight_layout()
    figure.savefig(folder / "curve.png")
    print(f"learning curve: {folder / 'curve.png'}")


def compare(folder: Path) -> None:
    raw = {name: (folder / f"{name}.bin").read_bytes() for name in NAMES}
    numbers = {name: np.frombuffer(data) for name, data in raw.items()}
    for name, values in numbers.items():
        print(f"{name:7} last loss {values[-2]:.17g}, held-out accuracy {values[-1]:.4f}")
    agree = len(set(raw.values())) == 1
    print("Python, C and Node agree to the last bit." if agree else "The languages DISAGREE.")
    if not agree or numbers["python"][-1] < 0.97:
        raise SystemExit(1)


def main() -> None:
    actions = {"prepare": prepare, "sketch": sketch, "compare": compare, "draw": draw}
    if len(sys.argv) != 3 or sys.argv[1] not in actions:
        print(__doc__)
        raise SystemExit(0 if "--help" in sys.argv else 2)
    actions[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    main()
