"""Kills savers at random moments, and counts files that are neither the old nor the new one, and files that are left over.

kill_savers.py [KILLS] [SEED] [FOLDER]: 300 kills and seed 0 by default, in a new folder below FOLDER or where the system has them.
Formats take turns. Exits with 1 when a torn file or a leftover was found.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

WRITER = """
import sys, libtensor as torch
from libtensor import hdf5, safetensors
save = {
    "pt": torch.save,
    "npy": lambda x, path: torch.save_npy(x["a"], path),
    "npz": torch.save_npz,
    "safetensors": safetensors.save_file,
    "h5": hdf5.save,
}[sys.argv[1]]
print("ready", flush=True)
number = 0
while True:
    number += 1
    save({"a": torch.full((250_000,), number)}, sys.argv[2])
"""


def whole(kind, path):
    """Returns whether a file is complete."""
    import libtensor as torch
    from libtensor import hdf5, safetensors

    try:
        if kind == "npy":
            found = torch.load_npy(path)
        else:
            found = {"pt": torch.load, "npz": torch.load_npz, "safetensors": safetensors.load_file, "h5": hdf5.load}[kind](path)["a"]
    except FileNotFoundError:
        return True  # killed before the first was there
    except Exception as error:
        print(f"{path}: {type(error).__name__}: {error}")
        return False
    return found.shape == (250_000,) and bool((found == found[0]).all())


def left_over(folder, kinds):
    """Returns the other files in a folder. A file that is being replaced has a temporary name for a moment, also after its saver was
    killed.
    """
    for _ in range(20):
        found = set(os.listdir(folder)) - {"a." + kind for kind in kinds}
        if not found:
            break
        time.sleep(0.1)
    return found


def main(kills=300, seed=0, below=None):
    chance = random.Random(seed)
    kinds = ["pt", "npy", "npz", "safetensors", "h5"]
    torn = leftovers = 0
    with tempfile.TemporaryDirectory(dir=below) as folder:
        for i in range(kills):
            kind = kinds[i % len(kinds)]
            path = os.path.join(folder, "a." + kind)
            with subprocess.Popen([sys.executable, "-c", WRITER, kind, path], stdout=subprocess.PIPE) as saver:
                saver.stdout.readline()
                time.sleep(chance.uniform(0, 0.05))
                saver.send_signal(signal.SIGKILL)
            torn += not whole(kind, path)
            for name in left_over(folder, kinds):
                leftovers += 1
                print(f"left over by {kind}: {name}")
                os.remove(os.path.join(folder, name))
    print(f"{kills} kills: {torn} torn files, {leftovers} left over")
    return torn + leftovers > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:4]))
