"""Functions with the same meaning on all operating systems, which hide the differences between these."""
