"""Compare the three languages' levels and draw the spectrogram: report.py FOLDER."""

import sys
from pathlib import Path

import numpy as np
from spectrogram import HOP, POINTS, RATE


def draw(folder: Path, levels: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 4), layout="constrained")
    extent = (0, levels.shape[1] * HOP / RATE, 0, RATE / 2000)
    picture = axes.imshow(
        levels,
        origin="lower",
        aspect="auto",
        extent=extent,
        vmin=-40,
        vmax=40,
        cmap="magma",
    )
    axes.set(xlabel="seconds", ylabel="kHz", title="Chirps over a hum")
    figure.colorbar(picture, label="dB")
    figure.savefig(folder / "spectrogram.png", dpi=100)


def main() -> None:
    folder = Path(sys.argv[1])
    levels = {name: np.frombuffer((folder / f"{name}.bin").read_bytes()).reshape(POINTS // 2 + 1, -1) for name in ("python", "c", "node")}
    worst = max(float(np.abs(other - levels["python"]).max()) for other in levels.values())
    peak = int(levels["python"].max(axis=1).argmax())
    print(f"{levels['python'].shape[0]} frequencies x {levels['python'].shape[1]} times, the loudest at {peak * RATE / POINTS:.0f} Hz")
    print("Python, C and Node agree to the last bit." if worst == 0 else f"The languages differ by {worst} dB.")
    draw(folder, levels["python"])
    print(f"picture and sound: {folder}")
    if worst != 0:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
