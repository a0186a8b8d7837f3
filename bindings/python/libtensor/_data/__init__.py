"""Tensors of data: made, cast, indexed, exchanged, printed."""
