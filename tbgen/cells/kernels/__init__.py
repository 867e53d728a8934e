"""The kernels of the solver of cells."""
