"""The updates of optimizers as functions of lists of parameters, gradients and states."""

from ._adafactor import adafactor
from ._muon import muon
from .adadelta import adadelta
from .adagrad import adagrad
from .adam import adam
from .adamax import adamax
from .adamw import adamw
from .asgd import asgd
from .nadam import nadam
from .radam import radam
from .rmsprop import rmsprop
from .rprop import rprop
from .sgd import sgd
from .sparse_adam import sparse_adam

__all__ = ["adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "asgd", "muon", "nadam", "radam", "rmsprop", "rprop", "sgd"]
__all__ += ["sparse_adam"]
