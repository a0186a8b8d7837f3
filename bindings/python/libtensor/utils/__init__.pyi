from typing import Any

from .._core.tensor import Tensor
from . import _contextlib as _contextlib
from . import _import_utils as _import_utils
from . import _pytree as _pytree
from . import _typing_utils as _typing_utils
from . import backcompat as backcompat
from . import backend_registration as backend_registration
from . import benchmark as benchmark
from . import bottleneck as bottleneck
from . import bundled_inputs as bundled_inputs
from . import checkpoint as checkpoint
from . import collect_env as collect_env
from . import cpp_backtrace as cpp_backtrace
from . import cpp_extension as cpp_extension
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import flop_counter as flop_counter
from . import hooks as hooks
from . import mkldnn as mkldnn
from . import mobile_optimizer as mobile_optimizer
from . import model_zoo as model_zoo
from . import show_pickle as show_pickle
from . import throughput_benchmark as throughput_benchmark
from . import weak as weak

def set_module(obj: Any, mod: str) -> None: ...
def swap_tensors(t1: Tensor, t2: Tensor) -> None: ...
