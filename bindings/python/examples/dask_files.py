# mypy: ignore-errors
"""Mean and spread of files with more numbers than two workers have memory for: dask_files.py FOLDER [--gigabytes N] [--limit 1GB].

Workers write the files, where they are not there yet, and read each when its turn comes; Dask shows how far they are.
"""

import argparse
import time
from pathlib import Path

import dask
import dask.array as da
from distributed import Client, LocalCluster, progress

import libtensor as torch
from libtensor.dask import SharedMemory

COLUMNS, ROWS = 64, 2**18  # of a file: 64 MiB


def write(path, seed):
    if not path.exists():
        numbers = torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(seed))
        torch.save_npy(numbers + torch.arange(COLUMNS), path)


def read(path):
    return torch.load_npy(path, mmap=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--limit", default="1GB", help="the memory of each of the two workers")
    options = parser.parse_args()
    paths = [options.folder / f"{k}.npy" for k in range(max(1, round(options.gigabytes * 1e9 / 4 / COLUMNS / ROWS)))]
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=options.limit, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        client.register_plugin(SharedMemory())
        client.gather(client.map(write, paths, range(len(paths))))
        x = da.concatenate([da.from_delayed(dask.delayed(read)(path), (ROWS, COLUMNS), meta=torch.empty(0, 0)) for path in paths])
        begin = time.perf_counter()
        found = client.compute([x.sum(), x.mean(axis=0), x.std(axis=0)])
        progress(found, notebook=False)
        total, mean, spread = client.gather(found)
        print(
            f"\n{len(paths)} files, {x.nbytes / 1e9:.1f} GB of numbers, two workers of {options.limit}: {time.perf_counter() - begin:.1f} s"
        )
    print(f"mean {total / x.size:.4f}, of columns {mean[0]:.4f} to {mean[-1]:.4f}, spread {spread.min():.4f} to {spread.max():.4f}")


if __name__ == "__main__":
    main()
