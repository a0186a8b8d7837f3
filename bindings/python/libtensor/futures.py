"""Futures: results that another thread sets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as _Future
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result that another thread sets. `devices` is accepted without effect.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(torch.ones(2))
    >>> doubled.wait()
    tensor([2., 2.])
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._held: _Future[T] = _Future()

    def done(self) -> bool:
        """Returns whether the result or an exception is set."""
        return self._held.done()

    def wait(self) -> T:
        """Waits for the result and returns it, or raises the exception that is set."""
        return self._held.result()

    def value(self) -> T:
        """Returns the result; raises RuntimeError before it is set."""
        if not self.done():
            raise RuntimeError("Future.value: the result is not set; call wait() first")
        return self._held.result()

    def set_result(self, result: T) -> None:
        """Sets the result and calls the callbacks. Raises RuntimeError if it is already set."""
        if self.done():
            raise RuntimeError("Future can only be marked completed once")
        self._held.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Sets an exception, which wait() and value() raise."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._held.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Adds a function that is called with the future once the result is set; immediately if it is."""
        self._held.add_done_callback(lambda held: callback(self))

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Returns a future of the result of callback(future), which is called once the result is set."""
        following: Future[Any] = Future()

        def follow(done: Future[T]) -> None:
            try:
                following.set_result(callback(done))
            except BaseException as error:
                following.set_exception(error)

        self.add_done_callback(follow)
        return following


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """Returns a future of the list of futures, which is set once all of them are."""
    collected: Future[list[Future[Any]]] = Future()
    left = len(futures)

    def count(done: Future[Any]) -> None:
        nonlocal left
        left -= 1
        if not left:
            collected.set_result(futures)

    if not futures:
        collected.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return collected


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Waits for all futures and returns the list of their results."""
    return [future.wait() for future in futures]
