from .._hooks import RemovableHandle as RemovableHandle
