"""Names of the benchmark of TorchScript programs, which is not supported."""

from .._inert import declare_unsupported as _declare_unsupported

__all__ = _declare_unsupported(
    globals(),
    "TorchScript programs are not supported; utils.benchmark.Timer measures a call",
    "ExecutionStats ThroughputBenchmark",
)
