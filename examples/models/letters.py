"""A convolutional network reads letters, in Python: letters.py FOLDER.

Takes the weights from letters.safetensors, under the names of a PyTorch state_dict, and the images of held-out.safetensors; writes the
scores of all letters for each image to letters.python.bin."""

import argparse
from pathlib import Path

import libtensor as torch
from libtensor import safetensors
from libtensor.nn import functional as F

STAGES = 3


def scores(images: torch.Tensor, w: dict[str, torch.Tensor], training: bool = False) -> torch.Tensor:
    x = images
    for i in range(1, STAGES + 1):
        bn = f"bn{i}"
        x = F.conv2d(x, w[f"conv{i}.weight"], padding=1)
        x = F.batch_norm(x, w[f"{bn}.running_mean"], w[f"{bn}.running_var"], w[f"{bn}.weight"], w[f"{bn}.bias"], training)
        x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), w["fc.weight"], w["fc.bias"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    weights, images = (safetensors.load_file(folder / f"{name}.safetensors") for name in ("letters", "held-out"))
    result = scores(images["images"], weights)
    right = (result.argmax(1) == images["letters"]).double().mean().item()
    print(f"{right:.1%} of {len(result)} letters, in fonts that it has not seen, are read right")
    (folder / "letters.python.bin").write_bytes(result.numpy().tobytes())


if __name__ == "__main__":
    main()
