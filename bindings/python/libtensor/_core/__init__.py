"""The classes, each with its handle alone, and arguments and results of the generated functions."""
