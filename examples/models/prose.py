"""A small transformer generates text letter by letter in Python: prose.py FOLDER.

Loads the weights from prose.safetensors, and continues BEGINNING twice by LENGTH letters: with the most probable ones, and with samples.
Writes the logits after each letter of the beginning, and both continuations, to prose.python.bin."""

import argparse
from collections.abc import Callable
from pathlib import Path

import libtensor as torch
from libtensor import safetensors
from libtensor.nn import functional as F

LETTERS, CONTEXT, WIDTH, HEADS, BLOCKS = 128, 64, 96, 4, 3
BEGINNING, LENGTH, BOLDNESS = "A tensor ", 240, 0.6


def scores(letters: torch.Tensor, w: dict[str, torch.Tensor]) -> torch.Tensor:
    """Of every letter as the next one, after each of `letters` (N, n): (N, n, LETTERS)."""

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def normed(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"])

    x = F.embedding(letters, w["letters.weight"]) + w["places.weight"][: letters.size(1)]
    for i in range(BLOCKS):
        mixed = linear(normed(x, f"blocks.{i}.ln1"), f"blocks.{i}.qkv")
        q, k, v = mixed.unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4).unbind()
        x = x + linear(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2), f"blocks.{i}.proj")
        x = x + linear(F.gelu(linear(normed(x, f"blocks.{i}.ln2"), f"blocks.{i}.up")), f"blocks.{i}.down")
    return F.linear(normed(x, "ln"), w["letters.weight"])


def likeliest(scores: torch.Tensor) -> torch.Tensor:
    return scores.argmax()


def drawn(scores: torch.Tensor) -> torch.Tensor:
    return (scores / BOLDNESS).softmax(0).multinomial(1)


def written(w: dict[str, torch.Tensor], chosen: Callable[[torch.Tensor], torch.Tensor]) -> bytes:
    torch.manual_seed(0)
    text = list(BEGINNING.encode())
    for _ in range(LENGTH):
        text.append(chosen(scores(torch.tensor([text[-CONTEXT:]]), w)[0, -1]).item())
    return bytes(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    weights = safetensors.load_file(folder / "prose.safetensors")
    first = scores(torch.tensor([list(BEGINNING.encode())]), weights)
    texts = [written(weights, chosen) for chosen in (likeliest, drawn)]
    for text in texts:
        print(text.decode())
    (folder / "prose.python.bin").write_bytes(first.numpy().tobytes() + b"".join(texts))


if __name__ == "__main__":
    main()
