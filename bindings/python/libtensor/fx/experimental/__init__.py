"""Experimental names of graphs of modules."""
