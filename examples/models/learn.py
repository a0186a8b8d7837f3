"""Teach a model, with Adam written out: learn.py letters|prose FOLDER [--steps N].

letters   a convolutional network, which learns to read capital letters in fonts of matplotlib's; letters in other fonts go to
          held-out.safetensors
prose     a small transformer, which learns to write from the pages of the documentation

Writes the weights to MODEL.safetensors, and the loss of every step to MODEL.losses.npy.
"""

import argparse
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import glyphs
import letters
import prose

import libtensor as torch
from libtensor import safetensors
from libtensor.nn import functional as F

DOCS = Path(__file__).resolve().parents[2] / "docs"
Weights = dict[str, torch.Tensor]


class Adam:
    """Steps along the mean gradient, each weight's by the root of its mean square."""

    def __init__(self, weights: list[torch.Tensor], rate: float, decays: tuple[float, float] = (0.9, 0.99)):
        self.weights, self.rate, self.decays, self.steps = weights, rate, decays, 0
        self.means = [torch.zeros_like(w) for w in weights]
        self.squares = [torch.zeros_like(w) for w in weights]

    @torch.no_grad()
    def step(self, loss: torch.Tensor, part: float) -> None:
        """A step of `part` of the rate."""
        self.steps += 1
        a, b = self.decays
        short, long = 1 - a**self.steps, 1 - b**self.steps  # bias corrections of the means
        gradients = torch.autograd.grad(loss, self.weights)
        for w, gradient, mean, square in zip(self.weights, gradients, self.means, self.squares, strict=True):
            mean.mul_(a).add_(gradient, alpha=1 - a)
            square.mul_(b).addcmul_(gradient, gradient, value=1 - b)
            w.addcdiv_(mean, (square / long).sqrt_().add_(1e-8), value=-self.rate * part / short)


def drawn(*sizes: int) -> torch.Tensor:
    """Weights that keep the variance of what passes through them."""
    return torch.randn(*sizes) / math.sqrt(math.prod(sizes[1:]))


def of_letters() -> Weights:
    w, channels = {}, (1, 16, 32, 64)
    for i, (given, made) in enumerate(zip(channels, channels[1:]), 1):
        w[f"conv{i}.weight"] = drawn(made, given, 3, 3)
        w |= {f"bn{i}.weight": torch.ones(made), f"bn{i}.bias": torch.zeros(made)}
        w |= {f"bn{i}.running_mean": torch.zeros(made), f"bn{i}.running_var": torch.ones(made)}
    side = glyphs.SIDE // 2**letters.STAGES
    return w | {"fc.weight": drawn(len(glyphs.LETTERS), channels[-1] * side * side), "fc.bias": torch.zeros(len(glyphs.LETTERS))}


def of_prose() -> Weights:
    width = prose.WIDTH
    w = {"letters.weight": torch.randn(prose.LETTERS, width) / 10, "places.weight": torch.randn(prose.CONTEXT, width) / 10}
    for name in [*(f"blocks.{i}.ln{k}" for i in range(prose.BLOCKS) for k in (1, 2)), "ln"]:
        w |= {f"{name}.weight": torch.ones(width), f"{name}.bias": torch.zeros(width)}
    for i in range(prose.BLOCKS):
        for name, made, given in (("qkv", 3 * width, width), ("proj", width, width), ("up", 4 * width, width), ("down", width, 4 * width)):
            w |= {f"blocks.{i}.{name}.weight": drawn(made, given), f"blocks.{i}.{name}.bias": torch.zeros(made)}
    return w


def letters_losses(w: Weights, folder: Path) -> Iterator[torch.Tensor]:
    """The loss of one batch after the other."""
    images, wanted = glyphs.drawn(glyphs.HELD_OUT, 4, seed=1)
    safetensors.save_file({"images": images, "letters": wanted}, folder / "held-out.safetensors")
    images, wanted = glyphs.drawn(glyphs.LEARNED, 12, seed=0)
    while True:
        for batch in torch.randperm(len(images)).split(64):
            yield F.cross_entropy(letters.scores(images[batch], w, training=True), wanted[batch])


def prose_losses(w: Weights, folder: Path) -> Iterator[torch.Tensor]:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("**/*.md")) if not page.name.startswith("gen_"))
    no_prose = re.compile(r"^```.*?^```\n|^\|.*?\n|^<.*?\n", re.MULTILINE | re.DOTALL)  # programs, tables
    text = torch.tensor(list(no_prose.sub("", pages).encode("ascii", "ignore")))
    windows = text.unfold(0, prose.CONTEXT + 1, 1)
    while True:
        some = windows[torch.randint(len(windows), (24,))]
        yield F.cross_entropy(prose.scores(some[:, :-1], w).flatten(0, 1), some[:, 1:].flatten())


MODELS = {"letters": (of_letters, letters_losses, 0.003, 500), "prose": (of_prose, prose_losses, 0.003, 1200)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, help="rather than as many as it takes to learn well")
    options = parser.parse_args()
    made, losses, rate, steps = MODELS[options.model]
    steps = options.steps or steps
    torch.manual_seed(0)
    w = made()
    adam = Adam([t.requires_grad_() for name, t in w.items() if ".running_" not in name], rate)
    seen = []
    for step, loss in zip(range(1, steps + 1), losses(w, options.folder)):
        adam.step(loss, min(1, step / 50) * (1 - (step - 1) / steps))
        seen.append(loss.item())
        if sys.stderr.isatty():
            bar = "#" * (30 * step // steps)
            print(f"\r[{bar:30}] {step}/{steps}  loss {seen[-1]:.3f}", end="" if step < steps else "\n", file=sys.stderr, flush=True)
    print(
        f"{options.model}: {steps} steps, the loss from {seen[0]:.3f} to {seen[-1]:.3f}, {sum(t.numel() for t in adam.weights):,} weights"
    )
    safetensors.save_file({name: t.detach() for name, t in w.items()}, options.folder / f"{options.model}.safetensors")
    torch.save_npy(torch.tensor(seen), options.folder / f"{options.model}.losses.npy")


if __name__ == "__main__":
    main()
