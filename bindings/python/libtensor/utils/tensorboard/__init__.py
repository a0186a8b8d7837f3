"""Events for TensorBoard, which require the package tensorboard."""

try:
    import tensorboard as _tensorboard  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError as error:
    raise ImportError("torch.utils.tensorboard requires the package tensorboard: pip install tensorboard") from error

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
