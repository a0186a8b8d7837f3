"""Storages, pickles, files, what processes share."""
