"""MIOpen is not used; its setting is stored."""

from ._flags import settable

immediate = False
set_flags, flags = settable(__name__, {"immediate": False})
