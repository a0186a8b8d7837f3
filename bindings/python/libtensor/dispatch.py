"""What operators do for kinds of tensors, devices and dtypes."""

from ._gen import gen_functions as _f

__all__ = ["Table", "table"]


class Table(dict):
    """For each operator of a name, such as max and max.dim, dictionaries by kind, device and dtype of what it is there."""

    def __repr__(self):
        lines = []
        for operator, parts in self.items():
            for about, words in parts.items():
                for word in dict.fromkeys(words.values()):
                    names = ", ".join(name for name in words if words[name] == word)
                    lines.append(f"{operator}  {about}  {word}: {names}")
        return "\n".join(lines)


def table(name):
    """What the operators of a name are: a kernel, composite (its steps do what they do for the kind), a rule of the kind's own, constant
    (no gradient flows through it) or refused; on cuda devices also partly, where they have no kernel for some of its calls (docs/gen_cuda.md).

    >>> torch.dispatch.table("add")["add"]["kind"]["named"]
    'rule'
    """
    made = Table()
    for line in _f.dispatch_table(name).splitlines():
        operator, about, what, word = line.split("\t")
        made.setdefault(operator, {}).setdefault(about, {})[what] = word
    return made
