"""Prepare the photograph, or compare the three languages' numbers with each other and with NumPy's, and draw a picture per step.

report.py prepare FOLDER   writes photo.ppm from matplotlib's sample data
report.py compare FOLDER   compares python.bin, c.bin and node.bin with each other and with NumPy, writes a picture per step and report.md
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import photo


def prepare(folder: Path) -> None:
    import matplotlib.cbook
    from PIL import Image

    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        Image.open(file).convert("RGB").save(folder / "photo.ppm")


def split(data: bytes, height: int, width: int) -> dict[str, np.ndarray]:
    """The steps' arrays, in the order in which every language writes them."""
    y, x = height // 4, width // 4
    shapes = {
        "batch": (2, 3, height, width),
        "grey_mean": (2, height, width),
        "red_filter": (2, height, width),
        "blue_filter": (2, height, width),
        "crop": (3, height - 2 * y, width - 2 * x),
        "statistics": (4, 3),
        "shared": (2, height, width),
    }
    numbers, at, steps = np.frombuffer(data, np.float32), 0, {}
    for name, shape in shapes.items():
        n = int(np.prod(shape))
        steps[name] = numbers[at : at + n].reshape(shape)
        at += n
    if at != len(numbers):
        raise SystemExit(f"expected {at} numbers but found {len(numbers)}")
    return steps


def draw(folder: Path, steps: dict[str, np.ndarray]) -> list[str]:
    """Writes a picture per step and returns their names."""
    from PIL import Image

    pictures = {
        "1_batch": np.concatenate(list(steps["batch"]), axis=2),
        "2_grey_mean": steps["grey_mean"][0],
        "3_red_filter": steps["red_filter"][0],
        "4_blue_filter": steps["blue_filter"][0],
        "5_crop": steps["crop"],
        "6_shared": steps["shared"][1],
        "7_rows_of_hdf5": np.load(folder / "rows.npy"),
    }
    for name, picture in pictures.items():
        levels = (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)
        Image.fromarray(np.moveaxis(levels, 0, -1) if levels.ndim == 3 else levels).save(folder / f"{name}.png")
    return list(pictures)


def by_numpy(pixels: np.ndarray) -> dict[str, np.ndarray]:
    """The job of photo.run in NumPy."""
    image = np.moveaxis(pixels, -1, 0).astype(np.float32) / np.float32(255)
    batch = np.stack([image, 1 - image])
    red, blue = (np.array(weights, np.float32) for weights in (photo.RED_FILTER, photo.BLUE_FILTER))
    grey = batch.mean(-3), (batch * red[:, None, None]).sum(-3), np.einsum("...chw,c->...hw", batch, blue)
    height, width = image.shape[1:]
    crop = image[:, height // 4 : -(height // 4), width // 4 : -(width // 4)]
    cropped = crop.copy()
    wide = {"axis": (1, 2), "dtype": np.float64}  # float32 loses four digits here, since NumPy adds up the pixels one after the other
    rows = np.stack([image.mean(**wide), image.std(**wide, ddof=1), image.min((1, 2)), image.max((1, 2))])
    crop *= 0.5
    image[0, :: height // 4] = 1
    return dict(zip(photo.STEPS, (batch, *grey, cropped, rows, np.stack([image.sum(0), image.max(0)]))))


def side_by_side(folder: Path) -> tuple[dict[str, np.ndarray], float, float]:
    """NumPy's numbers, and the milliseconds of libtensor and of NumPy: medians of runs in turn, in one process."""
    pixels = photo.read_ppm(folder / "photo.ppm")
    jobs = (lambda: photo.run(pixels), lambda: by_numpy(pixels.numpy()))
    times: list[list[float]] = [[], []]
    for _ in range(15):
        for job, taken in zip(jobs, times):
            start = time.perf_counter()
            job()
            taken.append((time.perf_counter() - start) * 1e3)
    return by_numpy(pixels.numpy()), *map(statistics.median, times)


def compare(folder: Path) -> None:
    from PIL import Image

    width, height = Image.open(folder / "photo.ppm").size
    data = {name: (folder / f"{name}.bin").read_bytes() for name in ("python", "c", "node")}
    steps = {name: split(raw, height, width) for name, raw in data.items()}
    lines = ["# One photograph, three languages", "", f"{width} × {height} pixels", ""]
    lines += ["| step | shape | same bits | mean | farthest from NumPy |", "|---|---|---|---|---|"]
    numpy, ours, numpys = side_by_side(folder)
    agree = close = True
    for name, expected in steps["python"].items():
        same = all(other[name].tobytes() == expected.tobytes() for other in steps.values())
        agree &= same
        far = float(np.abs(expected - numpy[name]).max())
        close &= expected.shape == numpy[name].shape and far < 1e-5
        lines.append(f"| {name} | {list(expected.shape)} | {'yes' if same else 'NO'} | {expected.mean():.6f} | {far:.1e} |")
    lines += ["", "| channel | mean | std | min | max |", "|---|---|---|---|---|"]
    for channel, values in zip(("red", "green", "blue"), steps["python"]["statistics"].T):
        lines.append(f"| {channel} | " + " | ".join(f"{v:.4f}" for v in values) + " |")
    verdict = "Python, C and Node agree to the last bit." if agree else "The languages DISAGREE."
    verdict += " NumPy's numbers are the same within 1e-5." if close else " NumPy's numbers are OTHERS."
    lines += [
        "",
        verdict,
        f"libtensor takes {ours:.1f} ms for the job, NumPy {numpys:.1f} ms (medians of 15 runs in turn, in one process).",
    ]
    print("\n".join(lines))
    shown = [f"![{name[2:].replace('_', ' ')}]({name}.png)" for name in draw(folder, steps["python"])]
    (folder / "report.md").write_text("\n\n".join(["\n".join(lines), *shown]) + "\n", encoding="utf-8")
    print(f"pictures: {folder}/*.png, with this report in {folder}/report.md")
    if not (agree and close):
        raise SystemExit(1)


def main() -> None:
    actions = {"prepare": prepare, "compare": compare}
    if len(sys.argv) != 3 or sys.argv[1] not in actions:
        print(__doc__)
        raise SystemExit(0 if "--help" in sys.argv else 2)
    actions[sys.argv[1]](Path(sys.argv[2]))


if __name__ == "__main__":
    main()
