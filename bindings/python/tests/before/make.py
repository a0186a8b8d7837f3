"""Writes pickles and files of tensors, which every later version must read: make.py FOLDER. Those in this folder are of version 0.1.0."""

import pickle
import sys
from pathlib import Path

import numpy as np

import libtensor as torch
from libtensor import safetensors


def objects():
    """Returns the pickled objects by name. A test creates the same with the current version."""
    torch.manual_seed(7)
    base = torch.arange(12.0).reshape(3, 4)
    generator = torch.Generator().manual_seed(11)
    dense = {name: torch.tensor([0, 1, 1], dtype=getattr(torch, name)) for name in DTYPES}
    quantized = torch.quantize_per_tensor(torch.tensor([0.5, -1.0, 2.0]), 0.1, 3, torch.qint8)
    channels = torch.quantize_per_channel(base, torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2]), 0, torch.quint8)
    return {
        "dense": dense,
        "view": base.t()[1:],
        "leaf": torch.ones(2, 2, requires_grad=True),
        "named": torch.ones(2, 3, names=("rows", "columns")),
        "meta": torch.empty(2, 3, device="meta"),
        "sparse": [torch.eye(3).to_sparse(), *(torch.eye(4).to_sparse(layout=layout) for layout in (torch.sparse_csr, torch.sparse_csc))],
        "blocks": [torch.eye(4).to_sparse_bsr((2, 2)), torch.eye(4).to_sparse_bsc((2, 2))],
        "quantized": [quantized, channels],
        "results": [torch.max(base, 0), torch.linalg.qr(torch.eye(2)), torch.sort(base, 1)],
        "dtypes": [getattr(torch, name) for name in DTYPES] + [torch.complex32, torch.quint8, torch.qint8, torch.qint32],
        "constants": [torch.strided, torch.sparse_coo, torch.channels_last, torch.per_tensor_affine, torch.device("meta"), torch.Size([2, 3])],
        "storages": [torch.arange(3.0).untyped_storage(), torch.arange(3.0).storage(), torch.FloatStorage([1.5, 2.5])],
        "generator": generator,
        "classes": [torch.Tensor, torch.Size, torch.Generator, torch.finfo, torch.UntypedStorage, torch.OutOfMemoryError],
        "shared": [base, base[0], base.view(-1)],
    }


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def main(folder):
    kept = objects()
    for protocol in (2, 4):
        for name, value in kept.items():
            (folder / f"{name}-{protocol}.pkl").write_bytes(pickle.dumps(value, protocol))
    loadable = ("dense", "view", "leaf", "named", "sparse", "blocks", "quantized", "shared")
    torch.save({name: kept[name] for name in loadable}, folder / "objects.pt")
    safetensors.save_file({name: x for name, x in kept["dense"].items() if name != "complex128"}, folder / "dense.safetensors")
    np.save(folder / "view.npy", kept["view"].numpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
