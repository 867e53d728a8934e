"""Compilation of kernels, and their cache on disk."""
