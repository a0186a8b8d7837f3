"""MIOpen is not used; its setting is kept."""

from ._flags import settable

immediate = False
set_flags, flags = settable(__name__, {"immediate": False})
