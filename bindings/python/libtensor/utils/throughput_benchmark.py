"""Names of the benchmark of TorchScript programs, which is not supported."""

from .._inert import refuse as _refuse

__all__ = _refuse(
    globals(),
    "TorchScript programs are not supported; utils.benchmark.Timer measures a call",
    "ExecutionStats ThroughputBenchmark",
)
