"""threadpoolctl lists the library and limits its threads, whichever of the two packages is imported first; it is not needed."""

import contextlib

from .._base.errors import ForkedError
from .._base.imported import when_imported
from .._gen import gen_functions as _f


def register(package):
    """Makes the library known to threadpoolctl, which finds it by its file's name among those that the process has loaded."""
    if not hasattr(package, "register"):
        return  # it is older than 3.2, and takes none

    class Controller(package.LibController):
        user_api = internal_api = "libtensor"
        filename_prefixes = ("libtensor.so",)
        check_symbols = ("tensor_get_num_threads",)

        def get_num_threads(self):
            with contextlib.suppress(ForkedError):  # a child that was forked inside a hook has no threads
                return _f.get_num_threads()

        def set_num_threads(self, num_threads):
            with contextlib.suppress(ForkedError):
                if num_threads is not None:
                    _f.set_num_threads(num_threads)

        def get_version(self):
            number = self.dynlib.tensor_version()
            return ".".join(str(number // 100**i % 100) for i in (2, 1, 0))

    package.register(Controller)


def watch():
    when_imported("threadpoolctl", register)
