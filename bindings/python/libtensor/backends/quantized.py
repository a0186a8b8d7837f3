"""The engine of quantized operators, of which there is one."""

import sys
from types import ModuleType

supported_engines = ["none"]


class _Module(ModuleType):
    """The type of the module, whose attribute `engine` accepts supported engines only."""

    @property
    def engine(self):
        return "none"

    @engine.setter
    def engine(self, name):
        if name not in self.supported_engines:
            raise RuntimeError(f"{name} is not a valid value for quantized engine; supported engines: {', '.join(self.supported_engines)}")


sys.modules[__name__].__class__ = _Module
