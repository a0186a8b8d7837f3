"""The methods of Tensor that are not generated."""
