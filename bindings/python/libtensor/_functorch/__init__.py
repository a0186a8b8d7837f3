"""The package of PyTorch that defines its function transforms, for programs that import from it."""
