# mypy: ignore-errors
"""Mean, spread and correlations of more numbers than fit into memory: dask_moments.py [--gigabytes N].

The chunks are drawn when they are needed and go when they have been summed; Dask shows how far it is. Without --gigabytes there are one and
a half times as many numbers as the machine has memory for."""

import argparse
import os
import resource

import dask
import dask.array as da
from dask.diagnostics import ProgressBar

import libtensor as torch

COLUMNS, ROWS = 64, 2**19  # of a chunk: 128 MiB


def draw(block_info):
    """A chunk of numbers around its column's number, by the chunk's own seed."""
    info = block_info[None]
    generator = torch.Generator().manual_seed(info["chunk-location"][0])
    return torch.randn(info["chunk-shape"], generator=generator) + torch.arange(COLUMNS)


def main():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.5 * memory / 1e9)
    rows = int(parser.parse_args().gigabytes * 1e9 / 4 / COLUMNS)
    x = da.map_blocks(draw, chunks=da.core.normalize_chunks((ROWS, COLUMNS), (rows, COLUMNS)), meta=torch.empty(0, 0))
    mean, spread, products = x.mean(axis=0, dtype=torch.float64), x.std(axis=0, dtype=torch.float64), da.dot(x.T, x)
    with ProgressBar():
        mean, spread, products = dask.compute(mean, spread, products)
    covariance = products.double() / rows - torch.outer(mean, mean)
    correlation = covariance / torch.outer(spread, spread) - torch.eye(COLUMNS)
    print(f"{x.nbytes / 1e9:.1f} GB of numbers, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB of memory at most")
    print(
        f"means {mean[0]:.4f} to {mean[-1]:.4f}, spread {spread.min():.4f} to {spread.max():.4f}, correlations at most "
        f"{correlation.abs().max():.4f}"
    )


if __name__ == "__main__":
    main()
