"""Damages files of every format and loads them: the outcome is a documented error or a loaded object.

damage_files.py [FILES] [SEED]: 40000 files and seed 0 by default. For each it is checked that loading ends the process nowhere, takes no
longer than a second and a second for each MB, allocates no more than the file and a constant justify, and that handles and bytes in
use are what they were before. Exits with 1 after the first file that breaks a rule, which is kept as damaged.bin.
"""

import collections
import gc
import io
import pathlib
import pickle
import random
import resource
import struct
import sys
import time
import zipfile
import zlib

import gguf_files

import libtensor as torch
from libtensor import gguf, safetensors
from libtensor._base import library as _library

DATA = pathlib.Path(__file__).parents[3] / "engine/serial/testdata"
ALLOWED = (RuntimeError, ValueError, EOFError, MemoryError, pickle.UnpicklingError)
SLOWEST, FACTOR, CONSTANT, RESIDENT = 1.0, 2048, 16 << 20, 256 << 20


def files():
    """Valid files: their loaders and bytes."""
    x = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    made = {"a": x, "b": [x.t(), x[1], {"n": 1, "t": (True, None, 2.5, "text", b"bytes")}], "c": torch.arange(3), "s": {1, 2}}

    def saved(save, *args):
        f = io.BytesIO()
        save(*args, f)
        return f.getvalue()

    found = [(torch.load, saved(torch.save, made)), (torch.load, saved(torch.save, collections.OrderedDict(a=x, big=torch.zeros(5000))))]
    found += [(torch.load, path.read_bytes()) for path in sorted(DATA.glob("torch*.pt"))]
    found.append((torch.load, deflated(found[0][1])))
    found += [(torch.load_npy, saved(torch.save_npy, t)) for t in (x, torch.tensor(1), torch.empty(0, 3), x.to(torch.complex64))]
    npz = saved(torch.save_npz, {"a": x, "b": torch.arange(1000)})
    found += [(torch.load_npz, npz), (torch.load_npz, deflated(npz))]
    found += [(safetensors.load, safetensors.save({"a": x, "b": torch.arange(3), "c": torch.ones(2, dtype=torch.bfloat16)}, {"k": "v"}))]
    blocks = gguf_files.random_blocks("Q4_0", 2, 64).tobytes()
    weights = {"x": ("F32", (2, 3), bytes(24)), "q": ("Q4_0", (2, 64), blocks)}
    found += [(gguf.load, gguf_files.file_of(weights, {"name": "a", "n": 3, "list": ["a", "b"]}))]
    return found


def deflated(data):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


INTERESTING = [0, 1, 0x7F, 0x80, 0xFF]
WIDE = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]


def damage(data, chance):
    """Changes some bytes, numbers or runs of a file."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        at, kind = chance.randrange(len(data)), chance.randrange(9)
        if kind < 2:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            data[at] = chance.choice(INTERESTING)
        elif kind == 3:
            width = chance.choice((2, 4, 8))
            data[at : at + width] = struct.pack("<Q", chance.choice(WIDE))[:width]
        elif kind == 4:
            del data[at : at + chance.randrange(1, 64)]
        elif kind == 5:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 16)))
        elif kind == 6:
            other = chance.randrange(len(data))
            data[at:at] = data[other : other + chance.randrange(1, 64)]
        elif kind == 7:
            data[at : at + 1] = bytes([data[at]]) * chance.randrange(1, 2000)
        else:
            del data[at:]
    return bytes(data)


def rezipped(data, chance):
    """Damages a record of an archive and puts its checksum right, so that what reads the record is reached."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as new,
    ):
        names = old.namelist()
        hit = chance.choice([name for name in names if name.endswith((".pkl", ".npy"))] or names)
        for name in names:
            content = old.read(name)
            new.writestr(name, damage(content, chance) if name == hit else content)
    return out.getvalue()


def in_use():
    torch.zeros(1)
    return _library.live_handles(), torch.memory_stats().in_use


def attempt(load, data, original=None):
    """Loads a file and returns the outcome; raises AssertionError for a forbidden one.

    With `original`, a file with checksums that was damaged, a loaded object must equal the original.
    """
    before = in_use()
    torch.reset_peak_memory_stats()
    begin = time.perf_counter()
    try:
        found = load(data)
        outcome = "loaded"
        assert original is None or repr(found) == repr(load(original)), "damage passed for data"
        del found
    except ALLOWED as error:
        outcome = type(error).__name__
        assert "internal error" not in str(error) and len(str(error)) < 2000, error
        error.__traceback__ = None
    took = time.perf_counter() - begin
    peak = torch.memory_stats().peak - before[1]
    assert took < SLOWEST * (1 + len(data) / 1e6), f"{took} s for {len(data)} bytes"
    assert peak <= FACTOR * len(data) + CONSTANT, f"{peak} bytes for a file of {len(data)}"
    after = in_use()
    if after != before:
        gc.collect()
        after = in_use()
    assert after == before, f"handles and bytes in use were {before} and are {after}"
    return outcome


def main(count=40_000, seed=0):
    chance, valid, outcomes = random.Random(seed), files(), collections.Counter()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(count):
        load, data = chance.choice(valid)
        summed = data[:4] == b"PK\x03\x04"
        if summed and chance.random() < 0.5:
            damaged, summed = rezipped(data, chance), False
        else:
            damaged = damage(data, chance)
        try:
            outcomes[f"{load.__module__.split('.')[-1]}.{load.__name__}", attempt(load, damaged, data if summed else None)] += 1
        except BaseException:
            pathlib.Path("damaged.bin").write_bytes(damaged)
            print(f"file {i} of seed {seed}, for {load.__name__}, breaks a rule; it is kept as damaged.bin (crc {zlib.crc32(damaged):08x})")
            raise
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident
    assert grown << 10 < RESIDENT, f"the process grew by {grown} KiB"
    for (name, outcome), n in sorted(outcomes.items()):
        print(f"{name:20} {outcome:20} {n}")
    print(f"{count} damaged files of seed {seed}: none broke a rule")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
