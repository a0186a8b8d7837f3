"""Gradients: nodes, hooks, functions with a backward, vmap."""
