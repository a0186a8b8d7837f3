"""Names of C++ and CUDA extensions, which are not supported."""

from .._inert import declare_unsupported as _declare_unsupported

CUDA_HOME = CUDNN_HOME = ROCM_HOME = SYCL_HOME = None
IS_HIP_EXTENSION = False


def is_ninja_available() -> bool:
    """Returns False: extensions are not supported."""
    return False


__all__ = _declare_unsupported(
    globals(),
    "extensions in C++ and CUDA use the C++ interface of PyTorch, which libtensor does not have; its own interface is include/tensor.h",
    "BuildExtension CppExtension CUDAExtension SyclExtension check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version "
    "get_cxx_compiler get_default_build_root include_paths library_paths load load_inline verify_ninja_availability",
)
