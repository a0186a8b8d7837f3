"""The locations that files name storages by, and the functions that move a loaded storage to its device."""

from .._base.device import device as _device
from .._core.owner import TypedStorage, UntypedStorage


def cpu_tag(storage):
    return "cpu" if storage.device.type == "cpu" else None


def device_tag(storage):
    return str(storage.device)


def cpu_restore(storage, location):
    return storage if location == "cpu" else None


def meta_restore(storage, location):
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def device_restore(storage, location):
    """Returns a copy on the device of a location."""
    try:
        target = _device(location)
        return storage.to(device=target)
    except (RuntimeError, NotImplementedError) as error:
        if location.startswith("cuda"):
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
                "CPU-only "
                "machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            ) from error
        raise RuntimeError(
            f'load(): the file has tensors that were saved from device "{location}", which is not available here; load it with '
            "map_location='cpu'"
        ) from error


# Registered functions in order of priority: (priority, tagger, deserializer).
registered = [(10, cpu_tag, cpu_restore), (22, lambda storage: None, meta_restore), (100, device_tag, device_restore)]


def register_package(priority, tagger, deserializer):
    """Registers functions for storages of a device type, which are called in the order of `priority`.

    `tagger(storage)` returns the location of a saved storage, or None for storages of other types. `deserializer(storage, location)`
    returns the storage, which is on the CPU, on the device of a location, or None for other locations. The library's functions have the
    priorities 10 (CPU), 22 (meta device) and 100 (all other devices).
    """
    registered.append((priority, tagger, deserializer))
    registered.sort(key=lambda each: each[0])


def location_tag(storage):
    """Returns the location of a storage, such as "cpu" or "cuda:0"."""
    for _, tagger, _ in registered:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage, location):
    """Returns the storage on the device of `location`."""
    for _, _, deserializer in registered:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(f"don't know how to restore data location of {type(storage).__name__} (tagged with {location})")


def restorer(map_location):
    """Returns the function of a storage on the CPU and its location that implements map_location."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        names = {str(_device(a)) if not isinstance(a, str) else a: str(_device(b)) for a, b in map_location.items()}
        return lambda storage, location: default_restore_location(storage, names.get(location, location))
    if callable(map_location) and not isinstance(map_location, _device):

        def restore(storage, location):
            found = map_location(storage, location)
            if found is None:
                return default_restore_location(storage, location)
            if isinstance(found, TypedStorage):
                return found.untyped()
            if not isinstance(found, UntypedStorage):
                raise TypeError(f"load(): map_location must return a storage, not {type(found).__name__}")
            return found

        return restore
    place = str(_device(map_location))
    return lambda storage, location: default_restore_location(storage, place)
