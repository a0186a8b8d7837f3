"""Datasets, samplers, and the DataLoader."""

from __future__ import annotations

from . import _utils, backward_compatibility, dataloader, datapipes, dataset, distributed, sampler
from .dataloader import DataLoader, _DatasetKind, default_collate, default_convert, get_worker_info
from .datapipes._decorator import (
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)
from .datapipes.datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
]
__all__ += ["Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler"]
__all__ += ["_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split"]
__all__ += ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation", "functional_datapipe", "non_deterministic"]
__all__ += ["guaranteed_datapipes_determinism", "runtime_validation", "runtime_validation_disabled"]
