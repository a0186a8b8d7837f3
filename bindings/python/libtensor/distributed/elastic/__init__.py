"""Processes that a launcher started."""
