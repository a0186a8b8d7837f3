"""Tensors from Python data: creation, casts, indices, interoperability, printing."""
