"""DataLoader: batches of samples of a dataset, read in this process or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ... import Generator, empty, int64
from ..._utils import ExceptionWrapper
from . import _utils
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import create_fetcher
from ._utils.worker import _IterableDatasetStopIteration, _ResumeIteration, get_worker_info
from .datapipes._graph import apply_random_seed, apply_shuffle_settings
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]  # for annotations of packages
_worker_init_fn_t = Callable[[int], None]
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _DatasetKind:
    """Whether a dataset is read by index or as a stream."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """Returns the fetcher of a dataset."""
        return create_fetcher(kind == _DatasetKind.Iterable, dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """Yields None forever: the indices of a stream."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """Iterates over the batches of a dataset.

    A batch is `collate_fn` (`default_collate` by default) of `batch_size` samples; `batch_size=None` returns samples one by one, through
    `default_convert`. The order is that of the dataset, random with `shuffle`, or that of `sampler` or `batch_sampler`. `drop_last` omits a
    last batch that is shorter.

    `num_workers` processes read batches, `prefetch_factor` each in advance, and send them in shared memory. They are started for each
    iteration, with `persistent_workers` once. Each first calls `worker_init_fn(id)`. `timeout` is the maximum time in seconds to wait for a
    batch, 0 for no limit. `in_order=False` returns batches in the order in which workers complete them. `multiprocessing_context` is a
    start method or a context of multiprocessing. `generator` draws the order and the seeds of the workers. `pin_memory` copies batches to
    page-locked memory.

    Raises ValueError for arguments that exclude each other. An exception in a worker process is raised with its traceback; a worker that
    ends unexpectedly raises RuntimeError.

    >>> for batch in torch.utils.data.DataLoader(range(5), batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    batch_sampler: Any
    collate_fn: Any
    prefetch_factor: int | None
    pin_memory_device: str
    in_order: bool
    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[Any] | Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, (IterDataPipe, MapDataPipe)):
            dataset = apply_shuffle_settings(dataset, shuffle)
        source: Any = dataset
        order: Any = sampler
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn = dataset, num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context = multiprocessing_context
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            shuffle = None if isinstance(dataset, IterDataPipe) else shuffle
            _check_stream(dataset, shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if order is None and self._dataset_kind == _DatasetKind.Iterable:
            order = _InfiniteConstantSampler()
        elif order is None:
            order = RandomSampler(source, generator=generator) if shuffle else SequentialSampler(source)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(order, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = batch_size, drop_last, order, batch_sampler
        self.generator, self.persistent_workers = generator, persistent_workers
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """The context of multiprocessing that starts the workers; None for the default one."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers <= 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
                    f"multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_iterator": None}  # worker processes belong to the process that started them

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None or getattr(self._iterator, "_ended", False):
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """Returns the number of batches; for a stream, the number that its `__len__` implies."""
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns if there are more workers than processors."""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if not self.num_workers or processors is None or self.num_workers <= processors:
            return
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in current "
            "system is "
            f"{processors}, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker creation "
            "might "
            "get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, otherwise "
            "set "
            "prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(dataset: Any, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")


class _BaseDataLoaderIter:
    """One iteration over the batches of a DataLoader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._index_sampler, self._num_workers, self._timeout = loader._index_sampler, loader.num_workers, loader.timeout
        self._collate_fn, self._persistent_workers = loader.collate_fn, loader.persistent_workers
        self._pin_memory, self._pin_memory_device = _pins(loader), loader.pin_memory_device
        self._sampler_iter = iter(self._index_sampler)
        self._shared_seed = self._seed_pipes(loader)
        self._base_seed = int(empty((), dtype=int64).random_(generator=loader.generator).item())
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _seed_pipes(self, loader: DataLoader[Any]) -> int | None:
        """Seeds the random pipes of a data pipe, alike in all worker processes, and returns the seed; None for other datasets."""
        if not isinstance(self._dataset, IterDataPipe):
            return None
        seed = int(empty((), dtype=int64).random_(generator=loader.generator).item())
        apply_random_seed(self._dataset, seed)
        return seed

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        length = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and length is not None and self._num_yielded > length:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be {length}(when accessing len(dataloader)), but "
                f"{self._num_yielded} "
                "samples have been fetched. "
            )
            if self._num_workers:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
                    "each "
                    "worker: get_worker_info() tells the workers apart."
                )
            warnings.warn(message, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)


def _pins(loader: DataLoader[Any]) -> bool:
    """Returns whether batches are copied to page-locked memory: if it is requested and there is a device."""
    if not loader.pin_memory:
        return False
    from ... import accelerator

    if accelerator.is_available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=5,
    )
    return False


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Reads the batches in this process."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        data = self._dataset_fetcher.fetch(self._next_index())
        return _utils.pin_memory.pin_memory(data, self._pin_memory_device) if self._pin_memory else data


class _Task:
    """A batch that was requested from a worker; `data` after its arrival."""

    __slots__ = ("arrived", "data", "worker")

    def __init__(self, worker: int) -> None:
        self.worker, self.arrived, self.data = worker, False, None


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Reads the batches in worker processes.

    Each active worker has requests for `prefetch_factor` batches, assigned in turn. Batches that arrive early wait for the ones before
    them, unless `in_order` is False.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._ended = False
        self._in_order, self._prefetch_factor = loader.in_order, max(loader.prefetch_factor or 0, 1)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        iterable = self._dataset_kind == _DatasetKind.Iterable
        work = (
            iterable,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            loader.worker_init_fn,
            self._persistent_workers,
        )
        self._connected = _utils.processes.Workers(context, self._num_workers, self._base_seed, work)
        self._reset(loader, first_iter=True)

    @property
    def _workers(self) -> list[Any]:
        return self._connected.processes

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader)
        self._send_idx = 0
        self._tasks: dict[int, _Task] = {}  # in the order of the requests
        self._arrived: deque[int] = deque()
        self._waiting = [0] * self._num_workers  # the requested batches that each worker has not sent
        self._active = [True] * self._num_workers
        self._turn = 0
        if not first_iter:
            self._shared_seed = self._seed_pipes(loader)
            # Batches in flight belong to the previous iteration.
            for worker in range(self._num_workers):
                self._connected.send(worker, _ResumeIteration(self._shared_seed))
            resumed = 0
            while resumed < self._num_workers:
                _, (number, _) = self._receive(0)
                resumed += number is None
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _receive(self, timeout: float) -> Any:
        try:
            return self._connected.receive(timeout)
        except BaseException as error:
            if not isinstance(error, RuntimeError) or "timed out" not in str(error):
                self._shutdown_workers()
            raise

    def _try_put_index(self) -> None:
        """Requests the next batch from the next active worker, if there are both."""
        limit = self._prefetch_factor * sum(self._active)
        if sum(self._waiting) + len(self._arrived) >= max(limit, 0):
            return
        for step in range(self._num_workers):
            worker = (self._turn + step) % self._num_workers
            if self._active[worker] and (self._in_order or self._waiting[worker] < self._prefetch_factor):
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._turn = (worker + 1) % self._num_workers
        self._tasks[self._send_idx] = _Task(worker)
        self._waiting[worker] += 1
        self._connected.send(worker, (self._send_idx, index))
        self._send_idx += 1

    def _next_task(self) -> _Task | None:
        """Returns the task whose batch is next, after its arrival; None at the end."""
        while True:
            # Requests to a worker whose stream has ended are not answered.
            for number in [n for n, task in self._tasks.items() if not task.arrived and not self._active[task.worker]]:
                del self._tasks[number]
            if not self._tasks:
                return None
            first = next(iter(self._tasks)) if self._in_order else (self._arrived[0] if self._arrived else None)
            if first is not None and self._tasks[first].arrived:
                self._arrived.remove(first)
                return self._tasks.pop(first)
            worker, (number, data) = self._receive(self._timeout)
            self._waiting[worker] -= 1
            if isinstance(data, _IterableDatasetStopIteration):
                self._active[worker] = False
                self._waiting[worker] = 0
                self._tasks.pop(number, None)
                self._try_put_index()
                continue
            task = self._tasks[number]
            task.arrived, task.data = True, data
            self._arrived.append(number)

    def _next_data(self) -> Any:
        task = None if self._ended else self._next_task()
        if task is None:
            if not self._persistent_workers:
                self._shutdown_workers()
            raise StopIteration
        self._try_put_index()
        if isinstance(task.data, ExceptionWrapper):
            task.data.reraise()
        return _utils.pin_memory.pin_memory(task.data, self._pin_memory_device) if self._pin_memory else task.data

    def _shutdown_workers(self) -> None:
        """Ends the worker processes. Does nothing the second time."""
        if not self._ended:
            self._ended = True
            self._connected.close()

    def __del__(self) -> None:
        if not getattr(self, "_ended", True) and hasattr(self, "_connected"):
            self._shutdown_workers()
