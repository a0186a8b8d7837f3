"""Continues a text with an exported program: write.py PROSE.pt2 [TEXT]."""

import sys

import libtensor as torch

CONTEXT, LENGTH = 64, 240


def main() -> None:
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    scores = torch.export.load(sys.argv[1]).module()
    text = list((sys.argv[2] if len(sys.argv) == 3 else "A tensor ").encode("ascii"))
    for _ in range(LENGTH):
        text.append(int(scores(torch.tensor([text[-CONTEXT:]])).argmax()))
    print(bytes(text).decode())


if __name__ == "__main__":
    main()
