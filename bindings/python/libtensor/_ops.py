"""Classes of operators, for isinstance() and annotations."""

from . import ops
from ._inert import refuse

__all__ = ["ops"]
refuse(globals(), "operators are called as functions of torch", "OpOverload OpOverloadPacket HigherOrderOperator OperatorBase")
