"""Integration with threadpoolctl, which lists the library and limits its threads, in either order of the imports. threadpoolctl is
optional.
"""

import contextlib

from .._base.errors import ForkedError
from .._base.imported import when_imported
from .._gen import gen_functions as _f


def register(package):
    """Registers the library with threadpoolctl, which finds it by its file name among the loaded libraries."""
    if not hasattr(package, "register"):
        return  # versions before 3.2 have no register function

    class Controller(package.LibController):  # type: ignore[name-defined]  # of a package that may be absent
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
