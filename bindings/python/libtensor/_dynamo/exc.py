"""Exceptions of PyTorch's compiler, of which libtensor raises UserError alone."""


class TorchDynamoException(RuntimeError):
    """The base class of the compiler's exceptions."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the compiler."""


class Unsupported(TorchDynamoException):
    """Code that the compiler does not compile."""


class UserError(Unsupported):
    """A wrong use of the compiler, or of torch.export.export."""


class BackendCompilerFailed(TorchDynamoException):
    """An error of a compiler's backend."""


class TorchRuntimeError(TorchDynamoException):
    """An error of compiled code."""


class RecompileLimitExceeded(Unsupported):
    """Code that was compiled too often."""


class FailOnRecompileLimitHit(Exception):
    """Code that was compiled too often, where that is an error."""
