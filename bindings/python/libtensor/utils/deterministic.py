"""Settings of deterministic algorithms."""

# Kept, and changes nothing: every element that an operator gives is computed, and empty() makes no promise.
fill_uninitialized_memory = True
