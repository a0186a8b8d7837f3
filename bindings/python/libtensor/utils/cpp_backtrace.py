"""Stack traces of C++."""


def get_cpp_backtrace(frames_to_skip: int = 0, maximum_number_of_frames: int = 64) -> str:
    """Returns an empty string: there are no C++ frames."""
    return ""
