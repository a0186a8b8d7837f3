"""What needs no tensor: the shared libraries, errors, dtypes, devices."""

import sys

if tuple(sys.version_info[:2]) < (3, 10):  # here, before what follows is read, which an older Python cannot do
    raise ImportError(f"libtensor needs Python 3.10 or newer, and this is {sys.version_info[0]}.{sys.version_info[1]}")
