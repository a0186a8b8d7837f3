"""Matching of graphs."""
