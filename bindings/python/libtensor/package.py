"""Names of packages of code and tensors, which are not supported."""

from ._inert import declare_unsupported


def is_from_package(obj: object) -> bool:
    """Returns False: nothing is loaded from such a package."""
    return False


__all__ = ["is_from_package"]
__all__ += declare_unsupported(
    globals(), "torch.package is not supported; save the state_dict() of a module", "PackageExporter PackageImporter Importer"
)
__all__ += declare_unsupported(globals(), "torch.package is not supported; save the state_dict() of a module", "OrderedImporter")
__all__ += declare_unsupported(
    globals(), "torch.package is not supported", "PackagingError EmptyMatchError ObjMismatchError ObjNotFoundError Directory GlobGroup"
)
