"""The classes with handles, and conversion of arguments and results for the generated functions."""
