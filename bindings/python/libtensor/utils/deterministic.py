"""Settings of deterministic algorithms."""

# Stored without effect: operators initialize every element, and the contents of empty() are unspecified.
fill_uninitialized_memory = True
