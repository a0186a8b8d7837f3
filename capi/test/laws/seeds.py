"""Calls that no recorded case holds: storages, generators, files in memory, addresses, settings."""

from library import Store, Tensor, row_major


def of(dtype, size, *raw):
    return Tensor(Store(bytes(raw)), dtype, tuple(size), row_major(size))


def integer(value):
    return {"kind": "int", "value": value}


def real(value):
    return {"kind": "float", "re": repr(value), "im": "0.0"}


def calls():
    """(C function, arguments)."""
    import struct

    floats = of("float32", (2, 3), *struct.pack("6f", 1, -2, 3, 4.5, 5, 6))
    vector = of("int64", (4,), *struct.pack("4q", 0, 2, 1, 3))
    point = of("float32", (), *struct.pack("f", 1.5))
    other = of("float32", (), *struct.pack("f", 3))
    mask = of("bool", (3,), 1, 0, 1)
    raw = of("uint8", (6,), *b"abcdef")
    store, target = Store(bytes(range(16))), Store(bytes(16))
    free = [None] * 3  # dtype, layout, device
    yield "tensor_isclose", [vector, vector, 0.0, 1.0, False]  # counted in integers
    yield "tensor_set__storage", [floats, store]
    yield "tensor_set__storage_geometry", [floats, store, 1, [3], [1]]
    yield "tensor_scalar_tensor", [real(2.5), *free]
    yield "tensor_take", [of("float32", (5,), *struct.pack("5f", 1, -2, 3, 4.5, 5)), vector]
    planes, none = of("float32", (1, 2, 3), *struct.pack("6f", 1, -2, 3, 4.5, 5, 6)), [None] * 2
    parameters = [of("float32", (2,), *struct.pack("2f", 1, v)) for v in (0.5, -1, 2, 3)]
    yield "tensor_layer_norm", [floats, [3], *none, 1e-5, True]
    yield "tensor_native_layer_norm", [floats, [3], *none, 1e-5]
    yield "tensor_rms_norm", [floats, [3], None, None]
    yield "tensor_group_norm", [planes, 2, *parameters[:2], 1e-5, True]
    yield "tensor_native_group_norm", [planes, *parameters[:2], 1, 2, 3, 2, 1e-5]
    yield "tensor_nn_instance_norm", [planes, *none, *parameters[:2], True, 0.1, 1e-5]
    for training in (True, False):
        yield "tensor_native_batch_norm", [planes, *parameters, training, 0.1, 1e-5]
        yield "tensor_batch_norm", [planes, *parameters, training, 0.1, 1e-5, False]
        yield "tensor_instance_norm", [planes, *parameters, training, 0.1, 1e-5, False]
    for name, tail in (("linspace", [5]), ("logspace", [5, 2.0])):
        yield f"tensor_{name}_tensor_tensor", [point, other, *tail, *free]
        yield f"tensor_{name}_tensor_scalar", [point, real(4.0), *tail, *free]
        yield f"tensor_{name}_scalar_tensor", [real(0.5), other, *tail, *free]
        for form in ("tensor_tensor", "tensor_scalar", "scalar_tensor"):
            first = point if form.startswith("tensor") else real(0.5)
            second = other if form.endswith("tensor") else real(4.0)
            yield f"tensor_{name}_{form}_out", [first, second, *tail, *free]
    yield "tensor_save_bytes", ["[0]", [floats], False]
    yield "tensor_load_bytes", [raw, None]
    yield "tensor_archive_save_bytes", [["a"], [raw]]
    yield "tensor_archive_load_bytes", [raw]
    yield "tensor_pickle_rename", [of("uint8", (15,), *b"clibtensor\nSi\n."), "libtensor", "torch"]
    yield "tensor_safetensors_save", [["a", "b"], [floats, vector], None]
    yield "tensor_safetensors_load", [raw]
    yield "tensor_npy_save_bytes", [floats]
    yield "tensor_npy_load_bytes", [raw]
    yield "tensor_npy_length", [of("uint8", (12,), *b"\x93NUMPY\x01\x00v\x00{'")]
    yield "tensor_npz_save_bytes", [["a"], [floats]]
    yield "tensor_npz_load_bytes", [raw]
    yield "tensor_nonzero_numpy", [mask]
    yield "tensor_where_condition", [mask]
    yield "tensor_to_string", [floats, 4, 1000, 3, 80, None]
    yield "tensor_scalar_operand", [integer(3)]
    yield "tensor_set_default_dtype", ["float32"]
    yield "tensor_set_default_device", ["cpu"]
    yield "tensor_get_default_device", []
    yield "tensor_set_grad_enabled", [True]
    yield "tensor_is_grad_enabled", []
    yield "tensor_parse_device", ["cuda:1"]
    yield "tensor_get_num_threads", []
    yield "tensor_set_float32_matmul_precision", ["highest"]
    yield "tensor_get_float32_matmul_precision", []
    yield "tensor_cpu_tier", []
    yield "tensor_manual_seed", [7]
    yield "tensor_default_generator", []
    yield "tensor_generator_new", [None, "mt19937"]
    yield "tensor_generator_new", [None, "philox"]
    for c, *rest in (("manual_seed", 5), ("seed",), ("initial_seed",), ("get_state",), ("engine",), ("clone",)):
        for seed in (2, 3):  # of mt19937, of philox
            yield f"tensor_generator_{c}", [seed, *rest]
    yield "tensor_generator_get_offset", [3]
    yield "tensor_generator_set_offset", [3, 64]
    yield "tensor_generator_set_state", [3, raw]
    yield "tensor_gradient_scalars", [floats, [real(1.0), real(2.0)], None, 1]
    yield "tensor_from_data", [struct.pack("4f", 1, 2, 3, 4), [2, 2], "float32"]
    yield "tensor_from_blob", [None, 0, "float32", [0], None, None, None, False]
    yield "tensor_data_ptr", [floats]
    yield "tensor_lend", [floats]
    yield "tensor_share_memory_", [floats]
    yield "tensor_pin_memory", [floats]
    yield "tensor_slice", [floats, 1, 0, 3, 2]
    yield "tensor_storage_new", [16, None]
    for c in (
        "filename",
        "nbytes",
        "data_ptr",
        "clone",
        "resizable",
        "is_shared",
        "pin_memory",
        "is_pinned",
        "get_device",
        "use_count",
        "id",
        "share_memory_",
    ):
        yield f"tensor_storage_{c}", [store]
    yield "tensor_storage_view", [store, "float32"]
    yield "tensor_storage_slice", [store, 2, 5]
    yield "tensor_storage_fill_", [store, 7]
    yield "tensor_storage_copy_", [target, store]
    yield "tensor_storage_byteswap_", [store, "int32"]
    yield "tensor_storage_resize_", [store, 24]
    yield "tensor_storage_to_string", [store, "uint8"]
    yield "tensor_memory_stats", []
    yield "tensor_memory_stats_of", ["float32"]
    yield "tensor_memory_summary", []
    yield "tensor_reset_peak_memory_stats", []
    yield "tensor_empty_cache", []
    yield "tensor_set_memory_limit", [0]
