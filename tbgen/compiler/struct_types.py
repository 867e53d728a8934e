"""numba's types of structures (:mod:`tbgen.compiler.structs`), and the code that reads their fields."""

from importlib import import_module
from typing import Any, Final

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_constant, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, register_model, unbox
from numba.np.arrayobj import populate_array

from tbgen.compiler.structs import Struct

_WORD_TYPE: Final = ir.IntType(64)
_TUPLE_TYPE: Final[Any] = types.BaseTuple


class StructType(types.Type):
    """numba's type of a structure."""

    def __init__(self, struct: Struct) -> None:
        super().__init__(struct.type_name.text)
        self.signature: Final = struct.type_name.signature
        self.members: Final = {name: typeof(value) for name, value in struct.members()}
        self.constant_path: Final = struct.constant_path


_STRUCT_TYPES: Final[dict[str, StructType]] = {}
"""Maps the name of a type of structures to the type."""


def _type_of(struct: Struct) -> StructType:
    name = struct.type_name.text
    if name not in _STRUCT_TYPES:
        _STRUCT_TYPES[name] = StructType(struct)
    return _STRUCT_TYPES[name]


Struct._numba_type_ = property(_type_of)

register_model(StructType)(models.OpaqueModel)


@infer_getattr
class _StructFields(AttributeTemplate):
    key = StructType

    def generic_resolve(self, structure: Any, name: str) -> Any:  # type: ignore[override]
        return structure.members.get(name)


@lower_getattr_generic(StructType)
def _read_field(context: Any, builder: Any, structure: StructType, address: Any, name: str) -> Any:
    members = structure.members
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
    word = _read_word(builder, words, offset)
    value_type = context.get_value_type(field_type)
    if isinstance(field_type, StructType):
        return builder.inttoptr(word, value_type)
    if isinstance(field_type, types.Array):
        shape = [_read_word(builder, words, offset + 1 + axis) for axis in range(field_type.ndim)]
        return _make_array(context, builder, field_type, word, shape)
    return builder.trunc(word, value_type) if value_type.width < _WORD_TYPE.width else word


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
