"""Compiled kernels: how they are made, and where they are kept."""
