"""What needs no tensor: the shared libraries, errors, dtypes, devices."""
