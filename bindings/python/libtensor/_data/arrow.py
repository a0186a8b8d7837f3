"""Arrow's PyCapsule interface for primitive arrays, both ways, and for streams of them (arrow.apache.org/docs/format/CDataInterface)."""

from __future__ import annotations

from ctypes import addressof, c_char_p, c_int, c_void_p, cast, create_string_buffer, py_object

from .._base.errors import failure
from .._base.library import Cell, bind, called_back, cells, getter
from .._core.results import wrap
from .interop import python_function

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

capsule_new = python_function("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
capsule_pointer = python_function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
# The argument is an address, not an object: the reference count of a capsule that is being freed must not change.
dying_is = python_function("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
dying_pointer = python_function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)

c_export = bind("tensor_to_arrow", c_void_p, c_void_p, c_void_p)
c_import = bind("tensor_from_arrow", c_void_p, c_void_p, c_void_p)
c_import_stream = bind("tensor_from_arrow_stream", c_void_p, c_void_p)
c_release = getter("tensor_arrow_release", None, c_void_p, c_void_p)

SCHEMA, ARRAY, STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"
SCHEMA_BYTES, ARRAY_BYTES = 72, 80

# The structs of capsules, by address, while the capsules exist.
structs: dict[int, Any] = {}


@called_back(None, c_void_p)
def discard(capsule, is_valid=dying_is, pointer=dying_pointer, release=c_release, structs=structs):
    if is_valid(capsule, SCHEMA):
        address = pointer(capsule, SCHEMA)
        release(address, None)
    else:
        address = pointer(capsule, ARRAY)
        release(None, address)
    structs.pop(address, None)


destructor = cast(discard, c_void_p).value


def export(tensor):
    if tensor.device.type != "cpu":
        raise RuntimeError(f"to_arrow: the tensor is on {tensor.device}, not on the cpu; copy it with cpu()")
    if tensor.dim() != 1:
        raise ValueError(
            f"to_arrow: an Arrow array has one dimension, and the tensor of sizes {list(tensor.shape)} has {tensor.dim()}; "
            "export its flatten(), its columns one by one, or its numpy()"
        )
    schema, array = create_string_buffer(SCHEMA_BYTES), create_string_buffer(ARRAY_BYTES)
    status = c_export(tensor._h, addressof(schema), addressof(array))
    if status:
        raise failure(status)
    capsules = []
    for struct, name in ((schema, SCHEMA), (array, ARRAY)):
        structs[addressof(struct)] = struct
        capsules.append(capsule_new(addressof(struct), name, destructor))
    return tuple(capsules)


def from_arrow(array):
    """Returns a tensor that shares memory with an object with __arrow_c_array__ or __arrow_c_stream__: a primitive array or several,
    without nulls.

    The memory of one array is shared and must not be written; bool arrays, which Arrow stores as bits, are copied. The arrays of a stream,
    such as the chunks of a column, become one tensor: one array is shared, several are copied.
    """
    cell = cells.pop() if cells else Cell()
    if hasattr(array, "__arrow_c_array__"):
        schema, data = array.__arrow_c_array__()
        status = c_import(capsule_pointer(schema, SCHEMA), capsule_pointer(data, ARRAY), cell.address)
    elif hasattr(array, "__arrow_c_stream__"):
        stream = array.__arrow_c_stream__()
        status = c_import_stream(capsule_pointer(stream, STREAM), cell.address)
    else:
        raise TypeError(f"from_arrow(): expected an object with __arrow_c_array__ or __arrow_c_stream__, not {type(array).__name__}")
    if status:
        raise failure(status)
    made = wrap(cell.p)
    cells.append(cell)
    return made
