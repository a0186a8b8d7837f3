"""PyTorch's calls of functions with proxies: their names in graphs and generated code, and their positional arguments.

PyTorch's functions that are written in Python pass optional arguments by name, with their defaults. Other functions pass the arguments
unchanged.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

ROOT = __name__.partition(".")[0]

# Functions of torch.nn.functional and torch by the module that their names in graphs have.
HOMES = {
    "nn.functional": {
        "torch": "adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d "
        "conv_transpose2d"
        " conv_transpose3d cosine_similarity hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu "
        "relu_"
        " rrelu_ selu_ threshold_",
        "torch._C._nn": "avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear logsigmoid one_hot scaled_dot_product_attention"
        " softplus softshrink",
    },
    "": {
        "torch.functional": "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
        "chain_matmul einsum"
        " lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index",
    },
}
RENAMED = {"nn.functional.logsigmoid": "log_sigmoid", "nn.functional.threshold": "_threshold"}
# Functions that call interpolate, with these arguments.
UPSAMPLING: dict[str, dict[str, Any]] = {
    "upsample": {"recompute_scale_factor": None, "antialias": False},
    "upsample_nearest": {"mode": "nearest", "align_corners": None, "recompute_scale_factor": None, "antialias": False},
    "upsample_bilinear": {"mode": "bilinear", "align_corners": True, "recompute_scale_factor": None, "antialias": False},
}
PREFIXED = ("fft", "linalg", "special")  # torch.fft.fft is torch._C._fft.fft_fft

# A line for each function: its name, the positional parameters, and the ones that are passed by name, with their defaults.
NN_FUNCTIONAL = """\
_threshold input threshold value | inplace=False
adaptive_max_pool1d input output_size | return_indices=False
adaptive_max_pool1d_with_indices input output_size | return_indices=True
adaptive_max_pool2d input output_size | return_indices=False
adaptive_max_pool2d_with_indices input output_size | return_indices=True
adaptive_max_pool3d input output_size | return_indices=False
adaptive_max_pool3d_with_indices input output_size | return_indices=True
affine_grid theta size | align_corners=None
alpha_dropout input | p=0.5, training=False, inplace=False
batch_norm input running_mean running_var | weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
binary_cross_entropy input target | weight=None, size_average=None, reduce=None, reduction='mean'
binary_cross_entropy_with_logits input target | weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None
celu input | alpha=1.0, inplace=False
cosine_embedding_loss input1 input2 target | margin=0, size_average=None, reduce=None, reduction='mean'
cross_entropy input target | weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0
ctc_loss log_probs targets input_lengths target_lengths | blank=0, reduction='mean', zero_infinity=False
dropout input | p=0.5, training=True, inplace=False
dropout1d input | p=0.5, training=True, inplace=False
dropout2d input | p=0.5, training=True, inplace=False
dropout3d input | p=0.5, training=True, inplace=False
elu input | alpha=1.0, inplace=False
embedding input weight | padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
embedding_bag input weight | offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None
feature_alpha_dropout input | p=0.5, training=False, inplace=False
fold input output_size kernel_size | dilation=1, padding=0, stride=1
fractional_max_pool2d input kernel_size | output_size=None, output_ratio=None, return_indices=False, _random_samples=None
fractional_max_pool2d_with_indices input kernel_size | output_size=None, output_ratio=None, return_indices=True, _random_samples=None
fractional_max_pool3d input kernel_size | output_size=None, output_ratio=None, return_indices=False, _random_samples=None
fractional_max_pool3d_with_indices input kernel_size | output_size=None, output_ratio=None, return_indices=True, _random_samples=None
gaussian_nll_loss input target var | full=False, eps=1e-06, reduction='mean'
glu input | dim=-1
grid_sample input grid | mode='bilinear', padding_mode='zeros', align_corners=None
group_norm input num_groups | weight=None, bias=None, eps=1e-05
gumbel_softmax logits | tau=1, hard=False, eps=1e-10, dim=-1
hardsigmoid input | inplace=False
hardswish input | inplace=False
hardtanh input | min_val=-1.0, max_val=1.0, inplace=False
hinge_embedding_loss input target | margin=1.0, size_average=None, reduce=None, reduction='mean'
huber_loss input target | reduction='mean', delta=1.0, weight=None
instance_norm input | running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
interpolate input | size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, antialias=False
kl_div input target | size_average=None, reduce=None, reduction='mean', log_target=False
l1_loss input target | size_average=None, reduce=None, reduction='mean'
layer_norm input normalized_shape | weight=None, bias=None, eps=1e-05
leaky_relu input | negative_slope=0.01, inplace=False
linear_cross_entropy input linear_weight target | linear_bias=None, weight=None, reduction='mean', ignore_index=None, label_smoothing=0.0,
    options=None
local_response_norm input size | alpha=0.0001, beta=0.75, k=1.0
log_softmax input | dim=None, _stacklevel=3, dtype=None
lp_pool1d input norm_type kernel_size | stride=None, ceil_mode=False
lp_pool2d input norm_type kernel_size | stride=None, ceil_mode=False
lp_pool3d input norm_type kernel_size | stride=None, ceil_mode=False
margin_ranking_loss input1 input2 target | margin=0, size_average=None, reduce=None, reduction='mean'
max_pool1d input kernel_size | stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
max_pool1d_with_indices input kernel_size | stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
max_pool2d input kernel_size | stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
max_pool2d_with_indices input kernel_size | stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
max_pool3d input kernel_size | stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
max_pool3d_with_indices input kernel_size | stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
max_unpool1d input indices kernel_size | stride=None, padding=0, output_size=None
max_unpool2d input indices kernel_size | stride=None, padding=0, output_size=None
max_unpool3d input indices kernel_size | stride=None, padding=0, output_size=None
mish input | inplace=False
mse_loss input target | size_average=None, reduce=None, reduction='mean', weight=None
multi_head_attention_forward query key value embed_dim_to_check num_heads in_proj_weight in_proj_bias bias_k bias_v add_zero_attn dropout_p
    out_proj_weight out_proj_bias | training=True, key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False,
    q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False
multi_margin_loss input target | p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'
multilabel_margin_loss input target | size_average=None, reduce=None, reduction='mean'
multilabel_soft_margin_loss input target | weight=None, size_average=None, reduce=None, reduction='mean'
nll_loss input target | weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'
normalize input | p=2.0, dim=1, eps=1e-12, out=None
pad input pad | mode='constant', value=None
poisson_nll_loss input target | log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'
relu input | inplace=False
relu6 input | inplace=False
rms_norm input normalized_shape | weight=None, eps=None
rrelu input | lower=0.125, upper=0.3333333333333333, training=False, inplace=False
selu input | inplace=False
silu input | inplace=False
smooth_l1_loss input target | size_average=None, reduce=None, reduction='mean', beta=1.0
soft_margin_loss input target | size_average=None, reduce=None, reduction='mean'
softmax input | dim=None, _stacklevel=3, dtype=None
softmin input | dim=None, _stacklevel=3, dtype=None
triplet_margin_loss anchor positive negative | margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, reduce=None, reduction='mean'
triplet_margin_with_distance_loss anchor positive negative | distance_function=None, margin=1.0, swap=False, reduction='mean'
unfold input kernel_size | dilation=1, padding=0, stride=1
upsample input | size=None, scale_factor=None, mode='nearest', align_corners=None
upsample_bilinear input | size=None, scale_factor=None
upsample_nearest input | size=None, scale_factor=None
"""
FUNCTIONAL = """\
cdist x1 x2 | p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'
lu A | pivot=True, get_infos=False, out=None
norm input | p='fro', dim=None, keepdim=False, out=None, dtype=None
split tensor split_size_or_sections | dim=0
stft input n_fft | hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False, onesided=None,
    return_complex=None, align_to_window=None
tensordot a b | dims=2, out=None
unique input | sorted=True, return_inverse=False, return_counts=False, dim=None
unique_consecutive input | return_inverse=False, return_counts=False, dim=None
"""


@cache
def _homes() -> dict[str, str]:
    """Returns the module of the name in graphs for names below the package."""
    return {f"{at}.{name}".lstrip("."): home for at, homes in HOMES.items() for home, names in homes.items() for name in names.split()}


@cache
def _parameters() -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    """Returns the positional parameters, and the others with their defaults, for names in graphs."""
    made = {}
    for home, table in (("torch.nn.functional", NN_FUNCTIONAL), ("torch.functional", FUNCTIONAL)):
        for line in table.replace("\n    ", " ").splitlines():
            names, _, options = line.partition(" | ")
            name, *positional = names.split()
            call = ast.parse(f"f({options})", mode="eval").body
            assert isinstance(call, ast.Call)
            made[f"{home}.{name}"] = tuple(positional), {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
    return made


def parameters_of(function: Any) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """Returns the parameters without a default, and the others with theirs, of PyTorch's function written in Python; None for other
    functions."""
    return _parameters().get(torch_name(function) or "")


def below_root(module: str) -> str | None:
    """Returns the name of a module below the package, "" for the package itself; None for another module."""
    for root in ("torch", ROOT):
        if module == root or module.startswith(root + "."):
            below = module[len(root) + 1 :]
            return below.removeprefix("_") if below.startswith("_ops.") else below
    return None


def torch_name(function: Any) -> str | None:
    """Returns the name in graphs of a function of the package, as PyTorch has it; None for other functions."""
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    below = below_root(module) if isinstance(module, str) and isinstance(name, str) else None
    if below is None or not isinstance(name, str):
        return None
    if below in PREFIXED and name[0] != "_":
        return f"torch._C._{below}.{below}_{name}"
    path = f"{below}.{name}".lstrip(".")
    home = _homes().get(path) or f"torch.{below}".rstrip(".")
    return f"{home}.{RENAMED.get(path, name)}"


def public_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the public function for a private one that it calls, by its name."""
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    below = below_root(module) if isinstance(module, str) else None
    found = getattr(sys.modules.get(f"{ROOT}.{below}".rstrip("."), None), name or "", None) if below is not None else None
    return found if callable(found) and getattr(found, "__module__", None) == module else function


def normalize_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Returns the function and arguments of a call as PyTorch's function written in Python passes them; the same ones for other
    functions."""
    name = torch_name(function) or ""
    if name == "torch.functional.meshgrid":
        return function, args, {**kwargs, "indexing": kwargs.get("indexing")} if len(args) > 1 else kwargs
    if name == "torch.functional.einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
        return function, (args[0], *args[1]), kwargs
    positional, options = _parameters().get(name, ((), None))
    if options is None:
        return function, args, kwargs
    given = dict(zip((*positional, *options), args, strict=False)) | kwargs
    if len(given) != len(args) + len(kwargs) or not given.keys() <= {*positional, *options} or not given.keys() >= set(positional):
        return function, args, kwargs
    by_name: dict[str, Any] = {key: given.get(key, default) for key, default in options.items()}
    called = name.rpartition(".")[2]
    if called in UPSAMPLING:
        called, chosen = "interpolate", UPSAMPLING[called]
        by_name |= chosen
    elif by_name.get("return_indices") and not called.endswith("_with_indices"):
        called += "_with_indices"
    home = sys.modules.get(f"{ROOT}.nn.functional")
    return (
        getattr(home, called, function) if home and name.startswith("torch.nn.") else function,
        tuple(given[key] for key in positional),
        by_name,
    )
