"""Names of a counter of operations, which is not supported."""

from .._inert import refuse as _refuse

__all__ = _refuse(
    globals(),
    "operations are not counted",
    "FlopCounterMode register_flop_formula",
)
