"""Accelerators, their streams and generators, and thread pools."""
