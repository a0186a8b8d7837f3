"""The names of modules in PyTorch, which files and pickles of PyTorch contain.

The rule is one prefix: the class `libtensor.nn.modules.linear.Linear` is `torch.nn.modules.linear.Linear` in PyTorch.
"""

ROOT, TORCH = __name__.partition(".")[0], "torch"


def is_within(module, root):
    """Returns whether `module` is the name of the package `root` or of a module in it."""
    return module == root or module.startswith(root + ".")


def to_torch(module):
    """Returns the name under which PyTorch has the module `module` of libtensor; other names unchanged.

    >>> to_torch("libtensor.nn.modules.linear")
    'torch.nn.modules.linear'
    """
    return TORCH + module[len(ROOT) :] if is_within(module, ROOT) else module


def from_torch(module):
    """Returns the name of libtensor's module for the module `module` of PyTorch; other names unchanged.

    >>> from_torch("torch.nn.modules.linear")
    'libtensor.nn.modules.linear'
    """
    return ROOT + module[len(TORCH) :] if is_within(module, TORCH) else module
