"""The share of a dataset that one of several processes reads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from ... import Generator, randperm
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The indices of process `rank` of `num_replicas`, every `num_replicas`-th of all. All processes get equally many: indices are
    repeated, or, with `drop_last`, left out.

    With `shuffle`, the order is drawn from `seed` plus the epoch, which `set_epoch` sets before each iteration. Raises ValueError without
    `num_replicas` and `rank`, as there is no process group, and for a rank that is out of range.

    >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch, self.drop_last = dataset, num_replicas, rank, 0, drop_last
        self.num_samples = len(dataset) // num_replicas if drop_last else math.ceil(len(dataset) / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle, self.seed = shuffle, seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = randperm(count, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        order = list(itertools.islice(itertools.cycle(order), self.total_size))
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, so that the next iteration has another order, the same in all processes."""
        self.epoch = epoch
