"""Structures that are passed to kernels by address: one pointer for any number of arrays.

numba passes tuples value by value, seven values for each array, which makes compilation slow.
"""

from dataclasses import fields
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any, ClassVar, Final, cast

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_constant, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, register_model, unbox
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

_WORD_TYPE: Final = ir.IntType(64)
_TUPLE_TYPE: Final[Any] = types.BaseTuple


class Struct:
    """Base class of frozen dataclasses that kernels read.

    A field is a C-contiguous array, a number, a truth value, a structure, or a named tuple of such values.
    Kernels may change elements of arrays, but not fields.
    """

    constant_path: ClassVar[str] = ""
    """Dotted path of the only instance if its fields are compiled as constants; else empty."""

    @cached_property
    def _numba_type_(self) -> "StructType":
        key = type(self), *(_type_key(value) for _, value in self._fields())
        if key not in _STRUCT_TYPES:
            members = tuple((name, typeof(value)) for name, value in self._fields())
            _STRUCT_TYPES[key] = StructType(type(self), members, self.constant_path)
        return _STRUCT_TYPES[key]

    @cached_property
    def _memory(self) -> NDArray[np.uint64]:
        """The structure as kernels read it: the signature of its type, then the words of its fields."""
        words = [word for _, value in self._fields() for word in _words(value)]
        return np.array([self._numba_type_.signature, *words], np.uint64)

    @cached_property
    def address(self) -> int:
        """The address of ``_memory``, valid during the lifetime of the structure."""
        return int(self._memory.ctypes.data)

    def _fields(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in fields(cast(Any, self))]


def _type_key(value: Any) -> Any:
    """Return a key that determines the type of a field. It is faster to compute than numba's type."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned
    if isinstance(value, Struct):
        return value._numba_type_
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


class StructType(types.Type):
    """numba's type of a structure."""

    def __init__(
        self, structure: type[Struct], members: tuple[tuple[str, types.Type], ...], constant_path: str
    ) -> None:
        self.members, self.constant_path = members, constant_path
        digest = sha256(repr((structure.__module__, members)).encode()).hexdigest()[:12]
        super().__init__(f"{structure.__name__}_{digest}")
        self.signature: Final = int(sha256(self.name.encode()).hexdigest()[:16], 16)
        """A hash of the type. It is the first word in memory; kernels use it to check an argument's type."""


_STRUCT_TYPES: Final[dict[tuple[Any, ...], StructType]] = {}
"""Maps a class, with the type keys of its fields, to the type of its structures."""

register_model(StructType)(models.OpaqueModel)


@infer_getattr
class _StructFields(AttributeTemplate):
    key = StructType

    def generic_resolve(self, structure: Any, name: str) -> Any:  # type: ignore[override]
        return dict(structure.members).get(name)


@lower_getattr_generic(StructType)
def _read_field(context: Any, builder: Any, structure: StructType, address: Any, name: str) -> Any:
    members = dict(structure.members)
    if structure.constant_path:
        module, _, instance = structure.constant_path.rpartition(".")
        value = getattr(getattr(import_module(module), instance), name)
        return context.get_constant_generic(builder, members[name], value)
    names = list(members)
    offset = 1 + sum(_word_count(members[before]) for before in names[: names.index(name)])
    return _read(context, builder, members[name], builder.bitcast(address, _WORD_TYPE.as_pointer()), offset)


@lower_constant(StructType)
def _address_of_constant(context: Any, builder: Any, structure: StructType, value: Any) -> Any:
    assert structure.constant_path, "a global structure that a kernel reads must be constant"
    return ir.Constant(cgutils.voidptr_t, None)  # the address of a constant structure is never read


def _word_count(field_type: Any) -> int:
    """Return the number of machine words in a field of the given type."""
    if isinstance(field_type, types.Array):
        return 1 + int(field_type.ndim)
    return sum(map(_word_count, field_type.types)) if isinstance(field_type, _TUPLE_TYPE) else 1


def _read(context: Any, builder: Any, field_type: Any, words: Any, offset: int) -> Any:
    """Generate the code that reads a field of type ``field_type``, starting at word ``offset``."""
    if isinstance(field_type, _TUPLE_TYPE):
        values = []
        for element_type in field_type.types:
            values.append(_read(context, builder, element_type, words, offset))
            offset += _word_count(element_type)
        return context.make_tuple(builder, field_type, values)
    first = _read_word(builder, words, offset)
    value_type = context.get_value_type(field_type)
    if isinstance(field_type, StructType):
        return builder.inttoptr(first, value_type)
    if isinstance(field_type, types.Array):
        shape = [_read_word(builder, words, offset + 1 + axis) for axis in range(field_type.ndim)]
        return _make_array(context, builder, field_type, first, shape)
    return builder.trunc(first, value_type) if value_type.width < _WORD_TYPE.width else first


def _read_word(builder: Any, words: Any, offset: int) -> Any:
    word = builder.load(builder.gep(words, [ir.Constant(_WORD_TYPE, offset)]))
    # No kernel writes to these words, so LLVM may assume that they do not change.
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _make_array(context: Any, builder: Any, array_type: types.Array, address: Any, shape: list[Any]) -> Any:
    """Generate the code that makes an array from its address and shape."""
    array = context.make_array(array_type)(context, builder)
    size = ir.Constant(_WORD_TYPE, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(address, context.get_data_type(array_type.dtype).as_pointer())
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


@unbox(StructType)
def _unbox(struct: StructType, value: Any, context: Any) -> NativeValue:
    """Generate the code that reads the address of an argument, and rejects a structure of another type."""
    api, builder = context.pyapi, context.builder
    address = api.object_getattr_string(value, "address")
    number = api.number_as_ssize_t(address)
    api.decref(address)
    failed = cgutils.alloca_once_value(builder, cgutils.is_not_null(builder, api.err_occurred()))
    with builder.if_then(builder.not_(builder.load(failed)), likely=True):
        signature = builder.load(builder.inttoptr(number, _WORD_TYPE.as_pointer()))
        mismatch = builder.icmp_unsigned("!=", signature, ir.Constant(_WORD_TYPE, struct.signature))
        with builder.if_then(mismatch, likely=False):
            api.err_set_string("PyExc_TypeError", f"a kernel needs a structure of the type {struct.name}")
            builder.store(cgutils.true_bit, failed)
    return NativeValue(builder.inttoptr(number, cgutils.voidptr_t), is_error=builder.load(failed))
