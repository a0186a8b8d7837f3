from .. import from_dlpack as from_dlpack
from .. import to_dlpack as to_dlpack
