"""A small transformer learns a sentence: attention.py FOLDER.

Learns in seconds what model.py says, and compares the scores, the loss of every step and the attention with what PyTorch and NumPy gave
(recorded.json, which record.py wrote). Draws in FOLDER/attention.svg which earlier letters each head looks at. Fails where they differ.
"""

import argparse
import json
import sys
import time
from html import escape
from pathlib import Path

import model

import libtensor as torch

CLOSE = 1e-9
CELL = 11


def furthest(a: list[float], b: list[float]) -> float:
    return (torch.tensor(a, dtype=torch.float64) - torch.tensor(b, dtype=torch.float64)).abs().max().item()


def picture(attention: list[list[list[float]]]) -> str:
    """A square for each head: rows are letters that look, columns those that are looked at."""
    n, gap = len(attention[0]), 44
    side = n * CELL
    wide, high = 2 * (side + gap) + 16, 2 * (side + gap) + 30
    items = ['<text x="16" y="22" font-size="14">Where each head looks: from the letter of a row to those of the columns</text>']
    for head, rows in enumerate(attention):
        left, top = 34 + (head % 2) * (side + gap), 62 + (head // 2) * (side + gap)
        for i, letter in enumerate(model.TEXT[:n]):
            at = i * CELL + 8
            items.append(f'<text x="{left - 8}" y="{top + at}" text-anchor="middle">{escape(letter)}</text>')
            items.append(f'<text x="{left + at - 3}" y="{top - 6}" text-anchor="middle">{escape(letter)}</text>')
        for i, row in enumerate(rows):
            for k, value in enumerate(row[: i + 1]):
                items.append(
                    f'<rect x="{left + k * CELL}" y="{top + i * CELL}" width="{CELL}" height="{CELL}" fill="#1f5fbf" '
                    f'fill-opacity="{value:.3f}"/>'
                )
        items.append(f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#9aa4b0"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" font-family="monospace" font-size="10" fill="#20262e">'
    return "\n".join([head, f'<rect width="{wide}" height="{high}" fill="#ffffff"/>', *items, "</svg>\n"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    recorded = json.loads(Path(__file__).with_name("recorded.json").read_text())
    started = time.monotonic()
    learned = model.learn(torch)
    print(f"{model.STEPS} steps in {time.monotonic() - started:.1f} s")
    print(f"{'step':>6} {'loss':>16} {'PyTorch ' + recorded['PyTorch']:>16} {'difference':>12}")
    for step in [*range(0, model.STEPS, 20), model.STEPS - 1]:
        ours, theirs = learned["losses"][step], recorded["losses"][step]
        print(f"{step:>6} {ours:>16.12f} {theirs:>16.12f} {abs(ours - theirs):>12.1e}")
    differences = {
        f"losses, PyTorch {recorded['PyTorch']}": furthest(learned["losses"], recorded["losses"]),
        f"first scores, PyTorch {recorded['PyTorch']}": furthest(learned["scores"][-1], recorded["last scores"]["PyTorch"]),
        f"first scores, NumPy {recorded['NumPy']}": furthest(learned["scores"][-1], recorded["last scores"]["NumPy"]),
        "attention at the end, PyTorch": max(map(furthest, [head[-1] for head in learned["attention"]], recorded["attention"])),
    }
    for name, difference in differences.items():
        print(f"{name}: {difference:.1e} apart at most")
    print(f"reads    {model.TEXT[:-1]}\nforetells {learned['foretold']}")
    (folder / "attention.svg").write_text(picture(learned["attention"]), encoding="utf-8")
    print(f"{folder / 'attention.svg'} has the picture")
    return int(max(differences.values()) > CLOSE or learned["foretold"] != recorded["foretold"])


if __name__ == "__main__":
    sys.exit(main())
