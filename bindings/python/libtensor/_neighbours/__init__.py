"""What libtensor tells packages that look for it in a place of their own, once they are imported."""

from .._base.imported import when_imported


def _einops(package):
    from . import einops


def _opt_einsum(package):
    from . import opt_einsum


def _joblib(package):
    from . import joblib


def watch():
    for name, call in (("einops", _einops), ("opt_einsum", _opt_einsum), ("joblib", _joblib)):
        when_imported(name, call)
