"""Pictures of capital letters, set in the fonts that come with matplotlib: a little turned, moved, larger or smaller, and noisy."""

import numpy as np
from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont

import libtensor as torch

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIDE = 28
LEARNED = (
    "DejaVuSans DejaVuSans-Bold DejaVuSans-BoldOblique DejaVuSansMono DejaVuSansMono-Bold DejaVuSansMono-Oblique DejaVuSerif "
    "DejaVuSerif-Bold "
    "DejaVuSerif-Italic STIXGeneral STIXGeneralBol STIXGeneralBolIta cmb10 cmr10 cmss10"
).split()
HELD_OUT = "DejaVuSans-Oblique DejaVuSansMono-BoldOblique DejaVuSerif-BoldItalic STIXGeneralItalic cmtt10 cmmi10".split()


def glyph(letter: str, font: str, rng: np.random.Generator) -> np.ndarray:
    image = Image.new("L", (SIDE, SIDE))
    face = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/{font}.ttf", int(rng.integers(18, 25)))
    x, y = SIDE / 2 + rng.uniform(-2, 2, 2)
    ImageDraw.Draw(image).text((x, y), letter, fill=255, font=face, anchor="mm")
    turned = image.rotate(rng.uniform(-12, 12), Image.Resampling.BILINEAR)
    return np.asarray(turned, np.float32) / 255 + rng.normal(0, 0.15, (SIDE, SIDE)).astype(np.float32)


def drawn(fonts: list[str], of_each: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images (N, 1, SIDE, SIDE) of every letter in every font, and the number of each one's letter."""
    rng = np.random.default_rng(seed)
    wanted = [number for _ in fonts for number in range(len(LETTERS)) for _ in range(of_each)]
    images = [glyph(LETTERS[number], font, rng) for font in fonts for number in range(len(LETTERS)) for _ in range(of_each)]
    return torch.from_numpy(np.stack(images)).unsqueeze(1), torch.tensor(wanted)
