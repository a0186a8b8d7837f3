"""The weights of a language model of 1e9 parameters in blocks, multiplied with one row: bytes of weights per second, and per second of a
plain read.

gguf.py [TYPE] [LAYERS]: Q4_0 and 16 by default. Reads and products alternate; the figures are medians.
"""

import statistics
import sys
import time

import libtensor as torch

BLOCKS = {"Q4_0": (32, 18), "Q8_0": (32, 34), "Q4_K": (256, 144), "Q6_K": (256, 210)}
SHAPES = [(2048, 2048), (512, 2048), (512, 2048), (2048, 2048), (8192, 2048), (8192, 2048), (2048, 8192)]
ROUNDS = 7


def main(kind="Q4_0", layers="16"):
    values, size = BLOCKS[kind]
    model = [torch.randint(0, 60, (n, k // values * size), dtype=torch.uint8) for _ in range(int(layers)) for n, k in SHAPES]
    inputs = {k: torch.randn(1, k) for _, k in SHAPES}
    columns = [k for _ in range(int(layers)) for _, k in SHAPES]
    total = sum(weight.numel() for weight in model)

    def read():
        for weight in model:
            weight.view(torch.int64).sum()

    def multiply():
        for weight, k in zip(model, columns, strict=True):
            torch.gguf_linear(inputs[k], weight, kind)

    for threads in (1, torch.get_num_threads()):
        torch.set_num_threads(threads)
        times = {read: [], multiply: []}
        for _ in range(ROUNDS):
            for work, taken in times.items():
                begin = time.perf_counter()
                work()
                taken.append(time.perf_counter() - begin)
        plain, product = (total / statistics.median(taken) / 1e9 for taken in times.values())
        best = total / min(times[read]) / 1e9, total / min(times[multiply]) / 1e9
        print(
            f"{kind}, {total / 1e6:.0f} MB, {threads} threads: read {plain:.1f} GB/s, product {product:.1f} GB/s ({product / plain:.0%}); "
            f"best {best[0]:.1f} and {best[1]:.1f} GB/s"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
