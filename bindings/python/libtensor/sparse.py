"""Functions of sparse tensors, and conversion from and to SciPy's arrays."""

import functools

from ._base.dtypes import bcomplex32, bfloat16, complex32, complex64, float16, float32, int64, sparse_bsr, sparse_coo, sparse_csr
from ._core.tensor import Tensor
from ._data import create as _create
from ._data import sparse as _sparse
from ._data.dlpack import from_numpy
from ._gen import gen_functions as _f
from ._gen.gen_sparse import *  # noqa: F403
from ._gen.gen_sparse import __all__ as _names
from ._storages.serialize import parts

__all__ = [*_names, "as_sparse_gradcheck", "check_sparse_tensor_invariants", "from_scipy", "to_scipy"]

_WIDER = {float16: float32, bfloat16: float32, complex32: complex64, bcomplex32: complex64}  # dtypes that SciPy's operators do not support
_MAKERS = {"csr": _sparse.sparse_csr_tensor, "csc": _sparse.sparse_csc_tensor, "bsr": _sparse.sparse_bsr_tensor}


def as_sparse_gradcheck(gradcheck):
    """Returns the function: gradcheck and gradgradcheck accept sparse tensors.

    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> check(lambda s: s.to_dense() ** 2, torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_())
    True
    """
    return gradcheck


class check_sparse_tensor_invariants:
    """The setting whether indices of sparse tensors are checked, as a decorator or context manager. It has no effect: they are always
    checked.

    >>> with torch.sparse.check_sparse_tensor_invariants(False):
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    False
    """

    _enabled = False

    def __init__(self, enable=True):
        self.state, self.before = enable, None

    @classmethod
    def is_enabled(cls):
        """Returns the setting."""
        return check_sparse_tensor_invariants._enabled

    @classmethod
    def enable(cls):
        """Sets the setting to True."""
        check_sparse_tensor_invariants._enabled = True

    @classmethod
    def disable(cls):
        """Sets the setting to False."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        if self.before is not None:
            raise RuntimeError("this context is already active; nested contexts require separate objects")
        self.before = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *_):
        check_sparse_tensor_invariants._enabled, self.before = self.before, None

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def from_scipy(array):
    """Returns a sparse tensor that shares memory with a sparse array or matrix of SciPy: CSR, CSC and BSR share indices and values, COO the
    values.

    Vectors become COO, other formats CSR. Arrays with unsorted or duplicate entries are copied and sorted.
    """
    kind = getattr(array, "format", None)
    if not isinstance(kind, str) or not hasattr(array, "tocsr"):
        raise TypeError(f"sparse.from_scipy(): expected a SciPy sparse array or matrix, not {type(array).__name__}")
    if kind not in ("coo", *_MAKERS):
        array, kind = array.tocsr(), "csr"
    if kind == "coo":
        return _at(
            [from_numpy(index) for index in getattr(array, "coords", None) or (array.row, array.col)], from_numpy(array.data), array.shape
        )
    starts, indices, values = map(from_numpy, (array.indptr, array.indices, array.data))
    used = max(0, int(starts[-1])) if len(starts) else 0  # SciPy's arrays may have extra capacity
    indices, values = indices[:used], values[:used]
    if len(array.shape) == 1:
        return _at([indices], values, array.shape)
    return _MAKERS[kind](*_ordered(starts, indices, values), array.shape)


def _at(rows, values, shape):
    """Returns the COO tensor with entries at the given indices."""
    indices = rows[0].new_empty((len(rows), len(rows[0])), dtype=int64)
    for i, row in enumerate(rows):
        indices[i] = row
    return _sparse.sparse_coo_tensor(indices, values, shape)


def _ordered(starts, indices, values):
    """Returns compressed indices, indices and values with sorted indices in each row; invalid ones unchanged."""
    counts = starts.to(int64).diff()
    if len(starts) < 2 or starts[0] != 0 or (counts < 0).any() or starts[-1] != len(indices) or not len(indices):
        return starts, indices, values
    line = _f.repeat_interleave(counts)
    same = line[1:] == line[:-1]
    if not (same & (indices[1:] <= indices[:-1])).any() or (indices < 0).any():
        return starts, indices, values
    size = (len(counts), int(indices.max()) + 1, *values.shape[1:])
    whole = _at([line, indices], values, size).coalesce().to_sparse_csr(dense_dim=values.dim() - 1)
    return whole.crow_indices().to(starts.dtype), whole.col_indices().to(starts.dtype), whole.values()


def to_scipy(tensor):
    """Returns a SciPy sparse array that shares memory with a sparse matrix of layout sparse_coo, sparse_csr, sparse_csc or sparse_bsr.

    SciPy has no 16-bit floats: float16 and bfloat16 become float32, complex32 and bcomplex32 complex64.
    """
    import scipy.sparse as sp

    if not tensor.dim() or tensor.dense_dim() or tensor.layout is not sparse_coo and tensor.dim() != 2:
        raise RuntimeError(
            f"to_scipy: only matrices without dense dimensions are supported, but the tensor has sizes {tuple(tensor.shape)} with "
            f"{tensor.dense_dim()} dense dimensions"
        )
    tensor = tensor.to(_WIDER.get(tensor.dtype, tensor.dtype))
    *indices, values = (part.detach().numpy() for part in parts(tensor))
    if tensor.layout is sparse_coo:
        return sp.coo_array((values, tuple(indices[0])), shape=tuple(tensor.shape))
    kinds = {sparse_csr: sp.csr_array, sparse_bsr: sp.bsr_array}
    name = str(tensor.layout)
    if name.endswith("sparse_bsc"):
        raise RuntimeError("to_scipy: SciPy does not support layout sparse_bsc; convert with to_sparse_bsr()")
    compressed, plain = indices
    return kinds.get(tensor.layout, sp.csc_array)((values, plain, compressed), shape=tuple(tensor.shape), copy=False)


class _Legacy(type):
    """The type of the legacy classes `torch.sparse.FloatTensor` and others."""

    def __call__(cls, *args, device=None):
        if len(args) in (2, 3) and all(isinstance(a, Tensor) for a in args[:2]):
            return _sparse.sparse_coo_tensor(*args, device=device)
        return _sparse.empty_coo(cls.__name__, args, cls.dtype, device)

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and value.layout is sparse_coo and value.dtype is cls.dtype and not value.is_cuda


def _legacy_class(name):
    """Returns the class torch.sparse.FloatTensor, ..."""
    dtype = _create.LEGACY[name]
    return _Legacy(
        f"{name}Tensor", (), {"dtype": dtype, "__module__": "libtensor.sparse", "__doc__": f"Makes sparse COO tensors of dtype {dtype}."}
    )


globals().update(
    {f"{name}Tensor": _legacy_class(name) for name in ["BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]}
)
