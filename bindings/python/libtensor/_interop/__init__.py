"""Registrations with other packages, after their import."""

from importlib import import_module

from .._base.dtypes import show_kind
from .._base.imported import when_imported

ROOT = __name__.partition(".")[0]

# Dask's modules, and the functions of libtensor.dask that register tensors with them.
DASK = {"dask.array.chunk_types": "types", "dask.array.dispatch": "chunks", "dask.sizeof": "sizes", "dask.tokenize": "tokens"}
DASK["distributed.protocol.serialize"] = "frames"


def _einops(package):
    from . import einops


def _opt_einsum(package):
    from . import opt_einsum


def _joblib(package):
    from . import joblib


def _dask(what):
    def offer(module):
        getattr(import_module(ROOT + ".dask"), f"offer_{what}")(module)

    return offer


def watch():
    for name, call in (
        *((name, show_kind) for name in ("dask", "xarray")),
        ("einops", _einops),
        ("opt_einsum", _opt_einsum),
        ("joblib", _joblib),
    ):
        when_imported(name, call)
    for name, what in DASK.items():
        when_imported(name, _dask(what))
