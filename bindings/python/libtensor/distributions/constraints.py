"""Constraints on parameters and values of distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import bool as _bool
from .. import cat as _cat_tensors
from .. import finfo
from .. import stack as _stack_tensors
from ..linalg import cholesky_ex, eigvalsh

__all__ = [
    *("Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq", "independent"),
    *("integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular"),
    *("MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_semidefinite"),
    *("positive_definite", "positive_integer", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"),
]


class Constraint:
    """A region in which a variable is valid. `is_discrete` is True for a discrete set; `event_dim` is the number of last dimensions that
    are checked together.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Returns a bool tensor of the shape of `value` without its last `event_dim` dimensions: whether each event satisfies the
        constraint.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """The constraint of a variable that depends on other variables; check() raises."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self._static("is_discrete")

    @property
    def event_dim(self) -> Any:
        return self._static("event_dim")

    def _static(self, name: str) -> Any:
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """Returns a dependent constraint with other properties; omitted ones are kept."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Returns whether a constraint is a dependent one."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of an instance that is a dependent constraint of its class."""

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Wrapped(Constraint):
    """A constraint that wraps another one, and has its properties."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"Expected a Constraint, but got {base_constraint!r}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}({self.base_constraint!r})"


class _IndependentConstraint(_Wrapped):
    """A constraint whose last batch dimensions are event dimensions."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"Expected a number of dimensions >= 0, but got {reinterpreted_batch_ndims!r}")
        super().__init__(base_constraint)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value)
        if valid.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return valid.reshape(valid.shape[: valid.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapped):
    """The support of a mixture, from the support of its components."""

    def check(self, value: Any) -> Any:
        batch = value.dim() - self.event_dim
        if batch < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        valid = self.base_constraint.check(value.unsqueeze(batch))
        return valid.reshape(valid.shape[:batch] + (-1,)).all(-1)


class _Boolean(Constraint):
    """Zeros and ones."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors with a one and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """A constraint by bounds."""

    _bounds: tuple[str, ...] = ("lower_bound", "upper_bound")

    def __init__(self, *bounds: Any, **named: Any) -> None:
        given = dict(zip(self._bounds, bounds, strict=False), **named)
        if len(bounds) + len(named) != len(self._bounds) or given.keys() != set(self._bounds):
            raise TypeError(f"{type(self).__name__} takes the arguments {', '.join(self._bounds)}")
        self.__dict__.update(given)
        super().__init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._bounds)})"


class _IntegerInterval(_Bounded):
    """Integers in [lower_bound, upper_bound]."""

    is_discrete = True
    lower_bound: Any
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    """Integers in (-inf, upper_bound]."""

    is_discrete = True
    upper_bound: Any
    _bounds = ("upper_bound",)

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    """Integers in [lower_bound, inf)."""

    is_discrete = True
    lower_bound: Any
    _bounds = ("lower_bound",)

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers but NaN."""

    def check(self, value: Any) -> Any:
        return value == value


class _GreaterThan(_Bounded):
    """Numbers in (lower_bound, inf]."""

    lower_bound: Any
    _bounds = ("lower_bound",)

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Bounded):
    """Numbers in [lower_bound, inf]."""

    lower_bound: Any
    _bounds = ("lower_bound",)

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Numbers in [-inf, upper_bound)."""

    upper_bound: Any
    _bounds = ("upper_bound",)

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Bounded):
    """Numbers in [lower_bound, upper_bound]."""

    lower_bound: Any
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers in [lower_bound, upper_bound)."""

    lower_bound: Any
    upper_bound: Any

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of numbers >= 0 whose sum is 1 within 1e-6."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts >= 0 whose sum is at most upper_bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Lower triangular square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular square matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return _LowerTriangular().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Lower triangular square matrices with a positive diagonal and rows of unit length."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = (value.detach() ** 2).sum(-1).sqrt()
        return _LowerCholesky().check(value) & ((lengths - 1).abs() < tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return value.new_ones(value.shape[:-2], dtype=_bool) * (value.shape[-2] == value.shape[-1])


class _Symmetric(_Square):
    """Symmetric square matrices."""

    def check(self, value: Any) -> Any:
        square = super().check(value)
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return cholesky_ex(value).info.eq(0) if symmetric.all() else symmetric


class _Sequence(Constraint):
    """Constraints concatenated or stacked along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = list(cseq)
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise AssertionError("Expected a sequence of Constraints")
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(c.event_dim for c in self.cseq)

    def _checked(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"Expected a value with dimension {self.dim}, but it has {value.dim()} dimensions")


class _Cat(_Sequence):
    """Constraints on slices of `lengths` elements along dimension `dim`."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"Expected {len(self.cseq)} lengths, but got {len(self.lengths)}")

    def check(self, value: Any) -> Any:
        self._checked(value)
        parts = value.split([*self.lengths, value.size(self.dim) - sum(self.lengths)], self.dim)
        return _cat_tensors([c.check(part) for c, part in zip(self.cseq, parts, strict=False)], self.dim)


class _Stack(_Sequence):
    """A constraint on each index along dimension `dim`."""

    def check(self, value: Any) -> Any:
        self._checked(value)
        if value.size(self.dim) != len(self.cseq):
            raise AssertionError(f"Expected {len(self.cseq)} indices along dimension {self.dim}, but got {value.size(self.dim)}")
        return _stack_tensors([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim), strict=True)], self.dim)


dependent: Any = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean: Any = _Boolean()
one_hot: Any = _OneHot()
nonnegative_integer: Any = _IntegerGreaterThan(0)
positive_integer: Any = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: Any = _Real()
real_vector: Any = independent(real, 1)
positive: Any = _GreaterThan(0.0)
nonnegative: Any = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval: Any = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: Any = _Simplex()
lower_triangular: Any = _LowerTriangular()
lower_cholesky: Any = _LowerCholesky()
corr_cholesky: Any = _CorrCholesky()
square: Any = _Square()
symmetric: Any = _Symmetric()
positive_semidefinite: Any = _PositiveSemidefinite()
positive_definite: Any = _PositiveDefinite()
cat = _Cat
stack = _Stack
