"""The other methods of Tensor."""
