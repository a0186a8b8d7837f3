from ._storages.storage import UntypedStorage as UntypedStorage
from ._storages.typed_storage import TypedStorage as TypedStorage
