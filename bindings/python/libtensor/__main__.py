"""Runs a program written for PyTorch: python -m libtensor PROGRAM ARGS."""

from libtensor._interop.program import main

if __name__ == "__main__":
    main()
