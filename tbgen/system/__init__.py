"""Functions with the same meaning on all operating systems."""
