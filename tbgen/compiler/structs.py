"""Structures that are passed to kernels by address: one pointer for any number of arrays.

numba passes tuples value by value, seven values for each array, which makes compilation slow. This module
does not import numba; :mod:`tbgen.compiler.struct_types` has numba's types of structures.
"""

from dataclasses import fields
from functools import cache, cached_property
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Word: TypeAlias = np.uint64
"""A machine word: a set of positions, or of squares."""
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.uint8]
"""Codes of scores."""
Plies: TypeAlias = NDArray[np.uint16]
"""Depths in plies."""


class StructName(NamedTuple):
    """The name of a type of structures, and a hash of the name.

    :ivar signature: the first word of a structure in memory; kernels use it to check an argument's type.
    """

    text: str
    signature: int


class Struct:
    """Base class of frozen dataclasses that kernels read.

    A field is a C-contiguous array, a number, a truth value, a structure, or a named tuple of such values.
    Kernels may change elements of arrays, but not fields.
    """

    constant_path: ClassVar[str] = ""
    """Dotted path of the only instance if its fields are compiled as constants; else empty."""

    _numba_type_: ClassVar[Any]
    """numba's type of the structure. :mod:`tbgen.compiler.struct_types` adds this property."""

    @cached_property
    def type_name(self) -> StructName:
        """The name of the structure's type. Structures of one class have the same type if their fields do."""
        keys = (_type_key(value) for _, value in self.members())
        return _type_name(type(self).__module__, type(self).__name__, *keys)

    @cached_property
    def _memory(self) -> NDArray[np.uint64]:
        """The structure as kernels read it: the signature of its type, then the words of its fields."""
        words = [word for _, value in self.members() for word in _words(value)]
        return np.array([self.type_name.signature, *words], np.uint64)

    @cached_property
    def address(self) -> int:
        """The address of ``_memory``, valid during the lifetime of the structure."""
        return int(self._memory.ctypes.data)

    def __index__(self) -> int:
        """Return the address, the word that stands for the structure among the arguments of a kernel."""
        return self.address

    def __reduce__(self) -> tuple[Any, ...] | str:
        """Pickle the fields alone, or the name of the only instance: addresses are those of one process."""
        fields_alone = type(self), tuple(value for _, value in self.members())
        return self.constant_path.rpartition(".")[2] or fields_alone

    def members(self) -> list[tuple[str, Any]]:
        """Return the names and values of the fields."""
        return [(field.name, getattr(self, field.name)) for field in fields(cast(Any, self))]


@cache
def _type_name(module: str, name: str, *keys: Any) -> StructName:
    text = f"{name}_{sha256(repr((module, keys)).encode()).hexdigest()[:12]}"
    return StructName(text, int(sha256(text.encode()).hexdigest()[:16], 16))


def _type_key(value: Any) -> Any:
    """Return a key that determines the type of a field. It is faster to compute than numba's type."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned
    if isinstance(value, Struct):
        return value.type_name
    if isinstance(value, tuple):
        return type(value), *map(_type_key, value)
    return type(value)


def _words(value: Any) -> list[int]:
    """Return the machine words that store a field. An array is stored as its address and shape."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("array fields of a structure must be C-contiguous")
        return [value.ctypes.data, *value.shape]
    if isinstance(value, Struct):
        return [value.address]
    if isinstance(value, tuple):
        return [word for element in value for word in _words(element)]
    return [int(value) & (1 << 64) - 1]
