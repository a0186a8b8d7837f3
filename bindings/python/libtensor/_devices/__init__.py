"""Accelerators, their streams and generators; pools of threads."""
