"""The photo job in Python: photo.py PHOTO.ppm OUTPUT_FOLDER.

Turns a photograph into a batch, makes it grey by a mean, as through a red filter (broadcasting) and as through a blue filter (einsum),
crops it through views, takes statistics per channel, and
changes one storage through two tensors. Writes every step's numbers to python.bin, in the order of STEPS. Then files: the
results go to results.pt, and the batch to photo.h5, of which only some rows are read again, into rows.npy.
"""

import argparse
from pathlib import Path

import libtensor as torch
from libtensor import hdf5

RED_FILTER, BLUE_FILTER = (0.9, 0.1, 0.0), (0.0, 0.2, 0.8)  # weights of red, green and blue
STEPS = ("batch", "grey_mean", "red_filter", "blue_filter", "crop", "statistics", "shared")


def read_ppm(path: Path) -> torch.Tensor:
    """The pixels of a binary PPM file as a uint8 tensor of shape [rows, columns, channels]."""
    magic, width, height, depth, pixels = path.read_bytes().split(maxsplit=4)
    if magic != b"P6" or depth != b"255":
        raise SystemExit(f"{path}: expected a binary PPM file with 255 levels")
    return torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(int(height), int(width), 3)


def run(pixels: torch.Tensor) -> dict[str, torch.Tensor]:
    image = pixels.permute(2, 0, 1).to(torch.float32) / 255  # [channels, rows, columns]
    batch = torch.stack([image, 1 - image])  # the photograph and its negative

    grey_mean = batch.mean(-3)
    weights = torch.tensor(RED_FILTER).unsqueeze(-1).unsqueeze_(-1)
    red_filter = (batch * weights).sum(-3)
    blue_filter = torch.einsum("...chw,c->...hw", batch, torch.tensor(BLUE_FILTER))

    height, width = image.shape[1:]
    crop = image[:, height // 4 : -(height // 4), width // 4 : -(width // 4)]  # a view: no pixel is copied
    cropped = crop.contiguous()
    statistics = torch.stack([image.mean((1, 2)), image.std((1, 2)), image.amin((1, 2)), image.amax((1, 2))])

    crop.mul_(0.5)  # darkens the middle of image, too
    image[0, :: height // 4].fill_(1.0)  # red lines, which also cross the crop
    shared = torch.stack([image.sum(0), image.amax(0)])
    return dict(zip(STEPS, (batch, grey_mean, red_filter, blue_filter, cropped, statistics, shared)))


def through_files(results: dict[str, torch.Tensor], folder: Path) -> None:
    torch.save(results, folder / "results.pt")
    hdf5.save({"batch": results["batch"]}, folder / "photo.h5")
    import h5py

    with h5py.File(folder / "photo.h5", "r") as file:
        height = file["batch"].shape[2]
        rows = hdf5.read(file["batch"], (0, slice(None), slice(height // 3, height // 2)))
    assert torch.equal(rows, results["batch"][0, :, height // 3 : height // 2])
    torch.save_npy(rows, folder / "rows.npy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photo", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    results = run(read_ppm(options.photo))
    with open(options.output / "python.bin", "wb") as file:
        for result in results.values():
            file.write(result.contiguous().numpy().tobytes())
    through_files(results, options.output)


if __name__ == "__main__":
    main()
