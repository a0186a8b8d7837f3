"""Stack traces of C++."""


def get_cpp_backtrace(frames_to_skip=0, maximum_number_of_frames=64):
    """Returns an empty string: there are no C++ frames."""
    return ""
