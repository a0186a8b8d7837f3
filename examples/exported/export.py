"""Exports the trained models of examples/models as programs: export.py FOLDER.

Reads letters.safetensors, prose.safetensors and held-out.safetensors, and writes

  letters.pt2    scores (N, 26) of images (N, 1, 28, 28)
  prose.pt2      scores (128) of each letter as the next one, of a text (1, n) of at most 64 letters, as int64
  letters.npy    the images of held-out.safetensors
"""

import argparse
from pathlib import Path

import libtensor as torch
from libtensor import safetensors
from libtensor.nn import functional as F

CONTEXT, WIDTH, HEADS, BLOCKS, STAGES = 64, 96, 4, 3, 3


class Weights(torch.nn.Module):
    """A module with the tensors of a file as its parameters and buffers, under their names."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name, value in tensors.items():
            *folders, last = name.split(".")
            owner: torch.nn.Module = self
            for folder in folders:
                if folder not in owner._modules:
                    owner.add_module(folder, torch.nn.Module())
                owner = owner.get_submodule(folder)
            owner.register_buffer(last, value)

    def tensor(self, name: str) -> torch.Tensor:
        return self.get_buffer(name)


class Letters(Weights):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        w, x = self.tensor, images
        for i in range(1, STAGES + 1):
            x = F.conv2d(x, w(f"conv{i}.weight"), padding=1)
            x = F.batch_norm(x, w(f"bn{i}.running_mean"), w(f"bn{i}.running_var"), w(f"bn{i}.weight"), w(f"bn{i}.bias"))
            x = F.max_pool2d(F.relu(x), 2)
        return F.linear(x.flatten(1), w("fc.weight"), w("fc.bias"))


class Prose(Weights):
    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"))

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (WIDTH,), self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"))

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = F.embedding(text, self.tensor("letters.weight")) + self.tensor("places.weight")[: text.size(1)]
        for i in range(BLOCKS):
            mixed = self.linear(self.norm(x, f"blocks.{i}.ln1"), f"blocks.{i}.qkv")
            q, k, v = mixed.unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4).unbind()
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.linear(attended.transpose(1, 2).flatten(2), f"blocks.{i}.proj")
            x = x + self.linear(F.gelu(self.linear(self.norm(x, f"blocks.{i}.ln2"), f"blocks.{i}.up")), f"blocks.{i}.down")
        return F.linear(self.norm(x, "ln"), self.tensor("letters.weight"))[0, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    images = safetensors.load_file(folder / "held-out.safetensors")["images"]
    torch.save_npy(images, folder / "letters.npy")
    dim = torch.export.Dim
    letters = Letters(safetensors.load_file(folder / "letters.safetensors")).eval()
    torch.export.save(torch.export.export(letters, (images[:2],), dynamic_shapes=({0: dim("images")},)), folder / "letters.pt2")
    prose = Prose(safetensors.load_file(folder / "prose.safetensors")).eval()
    text = torch.randint(32, 127, (1, 9))
    torch.export.save(torch.export.export(prose, (text,), dynamic_shapes=({1: dim("length", min=1, max=CONTEXT)},)), folder / "prose.pt2")
    for name in ("letters", "prose"):
        print(f"{name}.pt2: {(folder / f'{name}.pt2').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
