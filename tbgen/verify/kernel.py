"""How the kernels of the proof are compiled."""

from tbgen.accelerate import jit

kernel = jit(_nrt=False)
"""Decorator of kernels, which allocate nothing: so numba need not count references to their arrays, and the
atomic counting that it would do here takes ten times as long as the work itself."""

inlined = jit(_nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of what only kernels call, and always as part of their own code: a real call would copy the
descriptions of all arrays that are passed in tuples."""
