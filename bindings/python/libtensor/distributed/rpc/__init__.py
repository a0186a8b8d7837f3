"""Names of calls of functions in other processes, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "init_rpc shutdown rpc_sync rpc_async remote RRef TensorPipeRpcBackendOptions BackendType WorkerInfo"
)
__all__ += declare_unsupported(globals(), WHY, "get_worker_info")
