from ._storage import UntypedStorage as UntypedStorage
from ._typed_storage import TypedStorage as TypedStorage
