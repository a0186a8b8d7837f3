"""Modules that need no tensor: the shared libraries, errors, dtypes, devices."""

import sys

if tuple(sys.version_info[:2]) < (3, 10):  # raised here, before later modules, which an older Python cannot parse
    raise ImportError(f"libtensor needs Python 3.10 or newer, and this is {sys.version_info[0]}.{sys.version_info[1]}")
