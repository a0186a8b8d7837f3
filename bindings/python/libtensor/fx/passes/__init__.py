"""Passes over graphs of modules."""
