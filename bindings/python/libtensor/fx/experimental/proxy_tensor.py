"""Names of traces of operators, which are not supported."""

from ..._inert import refuse


def get_proxy_mode() -> None:
    """Returns None: nothing is traced."""
    return None


refuse(globals(), "graphs of operators are not supported", "make_fx ProxyTorchDispatchMode")
