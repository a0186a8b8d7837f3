"""Compare the results of the models in three languages, and plot them: report.py FOLDER.

Checks that MODEL.python.bin, MODEL.c.bin and MODEL.node.bin are bitwise identical, and that the models have learned. Plots letters.png, the
loss and some letters with their predictions, and prose.png, the loss and the generated strings."""

import sys
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
import prose
from glyphs import LETTERS

from libtensor import safetensors

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

SHOWN = 8, 13  # rows and columns of letters


def agreed(folder: Path, model: str) -> bytes:
    """What the languages made, which is the same."""
    found = {language: (folder / f"{model}.{language}.bin").read_bytes() for language in ("python", "c", "node")}
    if len(set(found.values())) != 1:
        raise SystemExit(f"{model}: the languages DISAGREE.")
    print(f"{model}: Python, C and Node agree to the last bit in {len(found['c']):,} bytes.")
    return found["c"]


def draw_losses(axes: pyplot.Axes, losses: np.ndarray) -> None:
    axes.plot(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="cross entropy", ylim=(0, None))


def draw_letters(folder: Path, losses: np.ndarray, scores: np.ndarray, images: np.ndarray, wanted: np.ndarray) -> None:
    figure = pyplot.figure(figsize=(14, 6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 2))
    draw_losses(left.subplots(), losses)
    read = scores.argmax(1)
    some = np.linspace(0, len(read) - 1, SHOWN[0] * SHOWN[1]).astype(int)
    for axes, i in zip(right.subplots(*SHOWN).flat, some, strict=True):
        axes.imshow(images[i, 0], cmap="gray_r", vmin=-0.5, vmax=1)
        axes.set_title(LETTERS[read[i]], fontsize=9, color="black" if read[i] == wanted[i] else "red", pad=1)
        axes.axis("off")
    right.suptitle(f"{(read == wanted).mean():.1%} of the letters are read right, in fonts that were not learned; others in red")
    figure.savefig(folder / "letters.png", dpi=100)


def draw_prose(folder: Path, losses: np.ndarray, texts: list[str]) -> None:
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(14, 5), layout="constrained", width_ratios=(1, 2))
    draw_losses(left, losses)
    right.axis("off")
    titles = ("With the likeliest letters", "With letters drawn by how likely they are")
    said = [f"{title}\n\n" + "\n".join(textwrap.wrap(text, 80)) for title, text in zip(titles, texts, strict=True)]
    right.text(0, 1, "\n\n\n".join(said).replace("$", r"\$"), va="top", family="monospace", fontsize=10)
    figure.savefig(folder / "prose.png", dpi=100)


def main() -> None:
    if len(sys.argv) != 2 or "--help" in sys.argv:
        print(__doc__)
        raise SystemExit(0 if "--help" in sys.argv else 2)
    folder = Path(sys.argv[1])
    letters, written = agreed(folder, "letters"), agreed(folder, "prose")
    held_out = {name: t.numpy() for name, t in safetensors.load_file(folder / "held-out.safetensors").items()}
    scores = np.frombuffer(letters, np.float32).reshape(-1, len(LETTERS))
    length = len(prose.BEGINNING) + prose.LENGTH
    texts = ["".join(c if c.isprintable() else " " for c in text.decode()) for text in (written[-2 * length : -length], written[-length:])]
    losses = {model: np.load(folder / f"{model}.losses.npy") for model in ("letters", "prose")}
    draw_letters(folder, losses["letters"], scores, held_out["images"], held_out["letters"])
    draw_prose(folder, losses["prose"], texts)
    print(f"pictures: {folder / 'letters.png'}, {folder / 'prose.png'}")
    if (
        any(of_steps[-5:].mean() > 0.7 * of_steps[0] for of_steps in losses.values())
        or (scores.argmax(1) == held_out["letters"]).mean() < 0.6
    ):
        raise SystemExit("The models have learned too LITTLE.")


if __name__ == "__main__":
    main()
