"""Why no law by operator tries some C functions."""

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
FILES = (
    "save",
    "save_dict",
    "load",
    "load_dict",
    "safetensors_save_file",
    "safetensors_load_file",
    "safetensors_open",
    "npy_save",
    "file_write",
    "npy_load",
    "npz_save",
    "npz_load",
)
REASONS |= {f"tensor_{name}": "writes or reads a file; engine/serial and law hostile" for name in FILES}

GRADIENTS = (
    "set_requires_grad",
    "requires_grad",
    "is_leaf",
    "output_nr",
    "grad_fn_name",
    "grad",
    "set_grad",
    "retain_grad",
    "retains_grad",
    "detach_",
    "backward",
    "autograd_grad",
    "grad_fn",
    "gradient_edge",
    "node_name",
    "node_id",
    "node_weak",
    "node_edges",
    "node_edge",
    "node_variable",
    "node_saved",
    "node_set_context",
    "node_context",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "node_register_hook",
    "node_register_prehook",
    "remove_hook",
    "push_saved_tensors_hooks",
    "pop_saved_tensors_hooks",
    "record_function",
    "get_version",
    "increment_version",
    "set_detect_anomaly",
    "is_anomaly_enabled",
    "is_anomaly_check_nan_enabled",
    "set_anomaly_watcher",
    "new_handle",
    "is_grad",
    "set_data_",
    "untracked",
    "is_inference",
)
REASONS |= {f"tensor_{name}": "is about what was recorded before; capi/test/gradients.c and law hostile" for name in GRADIENTS}


def reason(c):
    return REASONS.get(c, "")
