"""The generated functions."""
