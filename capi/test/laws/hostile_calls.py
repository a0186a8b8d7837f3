"""Calls for hostile programs beside those of inputs.py: of sparse, quantized and named tensors, of the autograd graph, transforms and
files.

`Slot(i)` is a tensor of the pool (hostile.h) and `LEVEL` the number of the innermost transform that the thread is in.
"""

import struct

from library import PLAIN, Call, Library
from seeds import integer, of


class Slot(int):
    """A tensor of the pool."""


class Level:
    """The number of the innermost transform."""


LEVEL = Level()
COO, CSR = Slot(3), Slot(4)
QUINT8, QINT8, OTHER_QUINT8 = Slot(8), Slot(9), Slot(11)
NAMED, LEAF, SUM = Slot(14), Slot(15), Slot(19)


def floats(*size):
    n = 1
    for s in size:
        n *= s
    return of("float32", size, *struct.pack(f"{n}f", *(((i * 7) % 5) + 1.5 for i in range(n))))


def integers(dtype, *values):
    return of(dtype, (len(values),), *struct.pack(f"{len(values)}{'i' if dtype == 'int32' else 'q'}", *values))


def saved():
    """(Loader, bytes) of what each saver gives, and a generator's state."""
    library = Library(PLAIN)
    savers = {
        "tensor_load_bytes": ("tensor_save_bytes", ["[0]", [floats(2, 3)], False]),
        "tensor_archive_load_bytes": ("tensor_archive_save_bytes", [["a"], [of("uint8", (2,), 1, 2)]]),
        "tensor_safetensors_load": ("tensor_safetensors_save", [["a"], [floats(2, 3)], None]),
        "tensor_npy_load_bytes": ("tensor_npy_save_bytes", [floats(2, 3)]),
        "tensor_npz_load_bytes": ("tensor_npz_save_bytes", [["a"], [floats(2, 3)]]),
        "tensor_generator_set_state": ("tensor_generator_get_state", [2]),
    }
    for loader, (saver, args) in savers.items():
        made = library.run(Call(saver, args)).results[0]
        raw = made.elements.tobytes()
        yield loader, of("uint8", (len(raw),), *raw)


def calls():
    """(C function, arguments)."""
    free = [None] * 3  # dtype, layout, device
    square, one, half = floats(3, 3), integer(1), floats(1)
    scales, zeros = floats(2), integers("int64", 1, 2)
    crow, col, values = integers("int64", 0, 1, 2, 3), integers("int64", 0, 1, 2), floats(3)
    for loader, raw in saved():
        yield loader, {"tensor_load_bytes": [raw, None], "tensor_generator_set_state": [2, raw]}.get(loader, [raw])
    yield "tensor_quantize_per_tensor", [floats(2, 3), 0.5, 1, "quint8"]
    yield "tensor_quantize_per_tensor_tensor_qparams", [floats(2, 3), half, integers("int64", 1), "quint8"]
    yield "tensor_quantize_per_tensor_tensors", [[floats(2, 3), floats(2)], scales, zeros, "quint8"]
    yield "tensor_quantize_per_tensor_dynamic", [floats(2, 3), "quint8", False]
    yield "tensor_quantize_per_channel", [floats(2, 3), scales, zeros, 0, "qint8"]
    yield "tensor_make_per_tensor_quantized_tensor", [of("uint8", (3,), 1, 2, 3), 0.5, 1]
    yield "tensor_make_per_channel_quantized_tensor", [of("uint8", (2,), 1, 2), scales, zeros, 0]
    yield "tensor_empty_affine_quantized", [[2, 3], "quint8", None, None, 0.5, 1]
    yield "tensor_empty_per_channel_affine_quantized", [[2, 3], scales, zeros, 0, "quint8", None, None]
    for name in ("add", "add_relu", "mul", "mul_relu", "matmul"):
        yield f"tensor_quantized_{name}", [QUINT8, OTHER_QUINT8, 0.5, 1]
    for name in ("add", "mul"):
        yield f"tensor_quantized_{name}_scalar", [QUINT8, one]
        yield f"tensor_quantized_{name}_scalar_relu", [QUINT8, one]
    yield "tensor_quantized_cat", [[QUINT8, OTHER_QUINT8], 0, None, None]
    for name in ("linear", "linear_relu"):
        yield f"tensor_quantized_{name}", [QUINT8, QINT8, None, 0.5, 1, None]
    yield "tensor_quantized_linear_dynamic", [square, QINT8, None, False, None]
    yield "tensor_quantized_linear_pack", [QINT8]
    for name in ("int_repr", "dequantize", "q_scale", "q_zero_point", "qscheme", "quantized_relu6"):
        yield f"tensor_{name}", [QUINT8]
    for name in ("scales", "zero_points", "axis"):
        yield f"tensor_q_per_channel_{name}", [Slot(12)]
    for name in ("saddmm", "saddmm_out", "sparse_addmm"):
        yield f"tensor_{name}", [square, COO, square, one, one]
    for name in ("sspaddmm", "sspaddmm_out"):
        yield f"tensor_{name}", [COO, COO, square, one, one]
    for name in ("smm", "hspmm", "hspmm_out", "hsmm", "hsmm_out", "sparse_mm"):
        yield f"tensor_{name}", [COO, square]
    yield "tensor_sparse_mm_reduce", [CSR, square, "sum"]
    for name in ("", "_out"):
        yield f"tensor_sparse_sampled_addmm{name}", [CSR, square, square, one, one]
    for name in ("softmax", "log_softmax"):
        yield f"tensor_sparse_{name}", [COO, 0, None]
    yield "tensor_sparse_spsolve", [CSR, values]
    yield "tensor_csr_spmm", [crow, col, values, square]
    yield "tensor_csr_sddmm", [crow, col, square, square]
    for name in ("spgemm", "spadd"):
        yield f"tensor_csr_{name}", [crow, col, values, crow, col, values, 3]
    for name in ("resize_", "resize_and_clear_"):
        yield f"tensor_sparse_{name}", [COO, [3, 3], 2, 0]
    yield "tensor_resize_as_sparse_", [COO, COO]
    yield "tensor_mark_coalesced_", [COO, True]
    for c, tensor in (
        ("coalesce", COO),
        ("is_coalesced", COO),
        ("indices", COO),
        ("values", COO),
        ("coo_indices", COO),
        ("coo_values", COO),
    ):
        yield f"tensor_{c}", [tensor]
    for c, slot in (("indices", 3), ("values", 3), ("crow_indices", 4), ("col_indices", 4), ("ccol_indices", 5), ("row_indices", 5)):
        yield f"tensor_{c}_copy", [Slot(slot)]
        yield f"tensor_{c}_copy_out", [Slot(slot)]
    yield "tensor_dim_by_name", [NAMED, "N"]
    yield "tensor_rename", [floats(2, 3), ["N", "C"]]
    yield "tensor_rename_", [floats(2, 3), ["N", "C"]]
    yield "tensor_refine_names", [floats(2, 3), ["N", "C"]]
    yield "tensor_align_to", [NAMED, ["C", "N"]]
    yield "tensor_unflatten_names", [NAMED, 0, [1, 3], ["X", "Y"]]
    yield "tensor_diagonal_outdim", [NAMED, "D", 0, 1, 0]
    yield "tensor_autograd_grad", [[SUM], [LEAF], None, True, False, False, False]
    yield "tensor_record_function", ["name", [LEAF], [square], [], [square], False, None, None, None]
    yield "tensor_node_pack_saved", [None, "result", 0, *[None] * 5]
    yield "tensor_node_result", [None, 0]
    yield "tensor_signal_pad", [floats(2, 5), 1, 1, "constant"]
    yield "tensor_fft_c2r", [of("complex64", (3,), *struct.pack("6f", *range(6))), 0, 4, 1.0]
    yield "tensor_pivots_permutation", [integers("int32", 1, 2, 3), 3]
    yield "tensor_lyapunov", [square, square]
    yield "tensor_save", ["pt", "[0]", [square], False]
    yield "tensor_load", ["pt", None, False]
    yield "tensor_safetensors_save_file", ["safetensors", ["a"], [square], None]
    yield "tensor_safetensors_load_file", ["safetensors", None, False]
    yield "tensor_safetensors_open", ["safetensors"]
    yield "tensor_pickle_rename", [of("uint8", (12,), *b"clibtensor\nS"), "libtensor", "torch"]
    yield "tensor_archive_save", ["zip", ["a"], [of("uint8", (2,), 1, 2)]]
    yield "tensor_archive_load", ["zip", False]
    yield "tensor_npz_save", ["npz", ["a"], [square]]
    yield "tensor_npz_load", ["npz"]
    yield "tensor_npy_save", ["npy", square]
    yield "tensor_npy_load", ["npy", False]
    yield "tensor_from_file", ["npy", False, 8, "uint8", None, None]
    yield "tensor_vmap_begin", [2, "same"]
    yield "tensor_vmap_wrap", [floats(2, 3), 0, LEVEL]
    yield "tensor_vmap_unwrap", [floats(2, 3), 0, LEVEL]
    yield "tensor_vmap_end", [LEVEL]
    yield "tensor_jvp_end", [LEVEL]
    yield "tensor_jvp_wrap", [floats(2, 3), floats(2, 3), LEVEL]
    yield "tensor_jvp_primal", [floats(2, 3), LEVEL]
    yield "tensor_jvp_tangent", [floats(2, 3), LEVEL]
    for name, args in (("ones", [[2]]), ("zeros", [[2]]), ("full", [[2], one]), ("eye", [3]), ("arange_start", [one, integer(4)])):
        yield f"tensor_{name}_out", [*args, *free]
