"""A user-defined tensor kind: values times a factor. Products with scalars change the factor only.

The class registers functions for the operators that it supports, which `__torch_function__` calls; other operators raise
NotImplementedError."""

import libtensor as torch


class Scaled:
    """Values times a factor."""

    rules = {}

    def __init__(self, values, factor):
        self.values, self.factor = values, factor

    @classmethod
    def has(cls, function):
        """Registers what an operator does with this kind."""

        def register(rule):
            cls.rules[function.__name__] = rule
            return rule

        return register

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        rule = cls.rules.get(function.__name__)
        if rule is None:
            raise NotImplementedError(f"{function.__name__} is not implemented for scaled tensors; dense() converts")
        return rule(*args, **(kwargs or {}))

    def dense(self):
        return self.values * self.factor


@Scaled.has(torch.mul)
def mul(input, other):
    if isinstance(other, (int, float)):
        return Scaled(input.values, input.factor * other)
    return input.dense() * (other.dense() if isinstance(other, Scaled) else other)


@Scaled.has(torch.sum)
def total(input):
    return torch.sum(input.values) * input.factor


if __name__ == "__main__":
    x = Scaled(torch.tensor([1.0, 2.0]), 3.0)
    twice = torch.mul(x, 2)
    print(type(twice).__name__, twice.factor, twice.values is x.values)
    print(torch.sum(twice))
    try:
        torch.sort(x)
    except NotImplementedError as rejected:
        print(rejected)
    print(torch.dispatch.table("mul")["mul"]["kind"])
