from .._gradients.hooks import RemovableHandle as RemovableHandle
