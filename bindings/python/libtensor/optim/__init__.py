"""Optimizers, schedules of their learning rates, and averages of parameters."""

from . import lr_scheduler, swa_utils
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler", "swa_utils"]
