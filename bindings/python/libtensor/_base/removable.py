"""The handle that removes a hook from the dictionary that holds it."""

from __future__ import annotations

from weakref import ref

TYPE_CHECKING = False  # typing.Self without the import time of typing
if TYPE_CHECKING:
    from typing import Any


class RemovableHandle:
    """Removes a hook from `hooks_dict`, by remove() or at the end of a `with` block. The hook's key in the dictionary is `id`.

    The handle refers to the dictionaries weakly. remove() also deletes the key from `extra_dict`, one dictionary or a list of them.
    """

    id: int
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(map(ref, extra))

    def remove(self) -> None:
        """Removes the hook. Does nothing if it is removed already."""
        for held in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = held()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        extra = tuple(held() for held in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, extra) if extra else (self.hooks_dict_ref(), self.id)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, *extra = state
        # A dictionary that no longer exists is replaced by an empty one.
        self.hooks_dict_ref = ref(Hooks() if hooks is None else hooks)
        self.extra_dict_ref = tuple(ref(Hooks() if held is None else held) for held in (extra[0] if extra else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Hooks(dict["Any", "Any"]):
    """A dictionary that weak references can refer to."""

    __slots__ = ("__weakref__",)
