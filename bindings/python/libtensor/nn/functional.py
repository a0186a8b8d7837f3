"""Neural network functions without state."""

import warnings

from .._gen.gen_functions import sigmoid as sigmoid
from .._gen.gen_functions import tanh as tanh
from .._gen.gen_nn_functional import *  # noqa: F403
from .._gen.gen_nn_functional import __all__  # noqa: F401
from .._gen.gen_nn_functional import log_softmax as _log_softmax
from .._gen.gen_nn_functional import softmax as _softmax
from .._gen.gen_nn_functional import softmin as _softmin
from .interpolation import *  # noqa: F403
from .pooling import *  # noqa: F403


def _chosen(function, input, dim, stacklevel, dtype):
    """A function along `dim`, or along the dimension that PyTorch chooses without: that of classes."""
    if dim is None:
        name = function.__name__
        warnings.warn(f"{name}: the dimension is chosen by the number of dimensions, which is deprecated; give dim", stacklevel=stacklevel)
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return function(input, dim, dtype=dtype)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """e^x divided by its sum along `dim`, computed relative to the largest element. `dtype` converts elements first.

    >>> torch.nn.functional.softmax(torch.tensor([1., 1.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _chosen(_softmax, input, dim, _stacklevel, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of `softmax`, computed without cancellation. `dtype` converts elements first.

    >>> torch.nn.functional.log_softmax(torch.tensor([1., 1.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return _chosen(_log_softmax, input, dim, _stacklevel, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """`softmax` of -`input`. `dtype` converts elements first.

    >>> torch.nn.functional.softmin(torch.tensor([1., 1.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _chosen(_softmin, input, dim, _stacklevel, dtype)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """max(0, d(`anchor`, `positive`) - d(`anchor`, `negative`) + `margin`) with d the `distance_function`, `pairwise_distance` unless given.
    With `swap` that of `positive` and `negative` counts where it is smaller than that of `anchor` and `negative`. `reduction` is mean, sum or
    none.

    >>> torch.nn.functional.triplet_margin_with_distance_loss(torch.zeros(2), torch.tensor([3., 4.]), torch.tensor([0., 2.]))
    tensor(4.0000)
    """
    name = "triplet_margin_with_distance_loss"
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{name}: reduction must be mean, sum or none, but is {reduction}")
    if margin <= 0:
        raise ValueError(f"{name}: margin must be positive, but is {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        sizes = [tuple(t.shape) for t in (anchor, positive, negative)]
        raise RuntimeError(f"{name}: all tensors must have as many dimensions, but they have sizes {sizes}")
    distance = distance_function or pairwise_distance  # noqa: F405
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (near - far + margin).clamp_min(0)
    return loss if reduction == "none" else getattr(loss, reduction)()
