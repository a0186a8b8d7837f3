"""The dispatch table: support of operators for tensor kinds, devices and dtypes."""

from ._gen import gen_functions as _f

__all__ = ["Table", "table"]


class Table(dict):
    """The dispatch of the operators of a name, such as max and max.dim: dictionaries by kind, device and dtype."""

    def __repr__(self):
        lines = []
        for operator, parts in self.items():
            for about, words in parts.items():
                for word in dict.fromkeys(words.values()):
                    names = ", ".join(name for name in words if words[name] == word)
                    lines.append(f"{operator}  {about}  {word}: {names}")
        return "\n".join(lines)


def table(name):
    """Returns the dispatch of the operators of a name for each tensor kind: "kernel", "composite" (a decomposition into other operators),
    "rule" (an implementation for the kind), "constant" (without gradient) or not supported; on CUDA devices also "partly", if some calls
    have no kernel (docs/gen_cuda.md).

    >>> torch.dispatch.table("add")["add"]["kind"]["named"]
    'rule'
    """
    made = Table()
    for line in _f.dispatch_table(name).splitlines():
        operator, about, what, word = line.split("\t")
        made.setdefault(operator, {}).setdefault(about, {})[what] = word
    return made
