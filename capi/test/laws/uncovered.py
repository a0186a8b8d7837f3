"""Why no law by operator tries some C functions."""

from library import FORMS

# Law 8 calls them too; no other law fits.
REASONS = {
    "tensor_set_num_threads": "a setting of the process; law places sets it",
    "tensor_set_memory_limit": "a setting of the process; every law sets it",
    "tensor_fail_allocation": "a setting of the process; law allocations sets it",
    "tensor_from_blob": "shares memory that must outlive the tensor; every law reads through it where memory is read-only",
    "tensor_from_file": "maps a file; bindings/python/tests/test_sharing.py and law hostile",
    "tensor_storage_from_file": "maps a file; bindings/python/tests/test_sharing.py and law hostile",
    "tensor_storage_from_descriptor": "maps a file descriptor; bindings/python/tests/test_sharing.py",
    "tensor_storage_descriptor": "gives a file descriptor; bindings/python/tests/test_sharing.py and law hostile",
}
DEVICES = ("device_", "stream_", "event_", "record_stream", "pin_memory", "storage_pin_memory", "from_blob_on")
REASONS |= {
    c: "needs a device with streams; capi/test/devices.c, cuda/tests and law hostile"
    for c in FORMS
    if c.removeprefix("tensor_").startswith(DEVICES)
}
FILES = (
    "save",
    "save_dict",
    "load",
    "load_dict",
    "safetensors_save_file",
    "safetensors_load_file",
    "safetensors_open",
    "archive_save",
    "archive_load",
    "npy_save",
    "file_write",
    "npy_load",
    "npz_save",
    "npz_load",
)
REASONS |= {f"tensor_{name}": "writes or reads a file; engine/serial and law hostile" for name in FILES}
NAMED = (
    "names",
    "dim_by_name",
    "rename",
    "rename_",
    "refine_names",
    "align_to",
    "align_as",
    "align_tensors",
    "unflatten_names",
    "diagonal_outdim",
)
REASONS |= {
    f"tensor_{name}": "is about names of dimensions; capi/test/names.c, bindings/python/tests/test_names.py and law hostile"
    for name in NAMED
}


def reason(c):
    if FORMS[c][0]["category"] == "gradient":
        return "is about what was recorded before; capi/test/gradients.c, bindings/python/tests and law hostile"
    return REASONS.get(c, "")
