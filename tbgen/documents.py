"""JSON documents, which are structs of msgspec.

The fields of a struct are the keys of its document, in the same order. JSON Schema is derived from the class.
An omitted optional field is ``UNSET``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from inspect import getsource
from os.path import expanduser
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Annotated, Any, Generic, Self, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

__all__ = [
    "UNSET",
    "Count",
    "Document",
    "EndsDocument",
    "Plies",
    "Share",
    "SideName",
    "UnsetType",
    "attribute_docstrings",
    "decoder",
    "encoded",
    "field_docstrings",
    "from_builtins",
    "json_text",
    "schema_components",
    "to_builtins",
]

Value = TypeVar("Value")
AnyStruct = TypeVar("AnyStruct", bound=Struct)

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Plies: TypeAlias = Annotated[int, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0)]
SideName: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": ["white", "black"]})]


def to_builtins(value: Any) -> Any:
    """Return a document, or a container of documents, as dicts, lists, strings and numbers.

    Scores, materials and paths become strings, even as keys; fractions become numbers.
    """
    return msgspec.to_builtins(value, enc_hook=_builtin, str_keys=True)


def from_builtins(builtins: Any, struct: type[AnyStruct]) -> AnyStruct:
    """Return a struct from dicts, lists, strings and numbers; strings may also stand for other values.

    :raises ValidationError: if a field is missing or invalid.
    """
    return msgspec.convert(builtins, struct, strict=False, dec_hook=_parsed)


def decoder(document_type: Any) -> msgspec.json.Decoder[Any]:
    """Return a decoder of JSON, in which strings also stand for scores and other values that have a text."""
    return msgspec.json.Decoder(document_type, dec_hook=_parsed)


def encoded(document: Any) -> bytes:
    """Return the JSON of a document, or of a container of documents, without white space."""
    return msgspec.json.encode(document, enc_hook=_builtin)


def json_text(document: Any, indent: int | None = 2, separators: tuple[str, str] | None = None) -> str:
    """Return a document, or a container of documents, as JSON with only ASCII characters.

    File names may contain lone surrogates, which :func:`encoded` could not encode.
    """
    return json.dumps(to_builtins(document), indent=indent, separators=separators)


def schema_components(types: Iterable[Any], ref_template: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the JSON Schemas of types, and those of the documents in them, by name.

    The schema of a class that msgspec does not support is its attribute ``JSON_SCHEMA``.
    """
    return msgspec.json.schema_components(types, schema_hook=_json_schema, ref_template=ref_template)


def attribute_docstrings(owner: type | ModuleType) -> list[tuple[list[str], str]]:
    """Return the attributes of a class, or the constants of a module, with the docstrings that follow them.

    A docstring also describes the attributes directly before that have none. Attributes at the end without a
    docstring are returned with an empty one.
    """
    tree = ast.parse(dedent(getsource(owner))).body
    body = tree[0].body if isinstance(tree[0], ast.ClassDef) else tree
    docstrings: list[tuple[list[str], str]] = []
    names: list[str] = []
    for node in body:
        match node:
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                names.append(name)
            case ast.Expr(ast.Constant(str(docstring))) if names:
                docstrings.append((names, " ".join(docstring.split())))
                names = []
    return [*docstrings, (names, "")] if names else docstrings


def field_docstrings(document_type: type[Document]) -> dict[str, str]:
    """Return the docstrings that describe a single field of a document, inherited fields included."""
    bases = document_type.__mro__[: document_type.__mro__.index(Document)]
    rows = [row for owner in reversed(bases) for row in attribute_docstrings(owner)]
    return {names[0]: docstring for names, docstring in rows if docstring and len(names) == 1}


def _json_schema(value_type: type) -> dict[str, Any]:
    schema: dict[str, Any] = value_type.JSON_SCHEMA  # type: ignore[attr-defined]
    return schema


def _builtin(value: object) -> float | str:
    return float(value) if isinstance(value, Fraction) else str(value)


def _parsed(value_type: type, builtin: Any) -> Any:
    """Return a value of a type that msgspec does not support; most such types have a method ``parse``."""
    if value_type is Fraction:
        try:
            return Fraction(builtin)
        except ZeroDivisionError as error:
            raise ValueError(str(error)) from None
    return Path(expanduser(builtin)) if value_type is Path else _cached_parse(value_type, builtin)


@lru_cache(1 << 12)  # a report repeats the same few scores thousands of times
def _cached_parse(value_type: type, text: str) -> Any:
    return value_type.parse(text)  # type: ignore[attr-defined]


@cache
def _copied_names(document_type: type[Struct], source_fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the fields that a document copies: required fields, and those among
    ``source_fields``, the fields of a struct."""
    fields = msgspec.structs.fields(document_type)
    return tuple(field.name for field in fields if field.required or field.name in source_fields)


class Document(Struct, forbid_unknown_fields=True):
    """Base class of all documents."""

    @classmethod
    def of(cls, *sources: Any, **others: Any) -> Self:
        """Return a document. Each field is the attribute of the same name of the first object that has it.

        An optional field is copied only from a struct.

        :param others: the values of fields that are not copied.
        """
        for source in sources:
            for name in _copied_names(cls, getattr(source, "__struct_fields__", ())):
                if name not in others and (value := getattr(source, name, UNSET)) is not UNSET:
                    others[name] = value
        return cls(**others)

    @classmethod
    def read(cls, builtins: Any) -> Self:
        """Return a document from the result of :meth:`builtins`.

        :raises ValidationError: if a field is missing or invalid.
        """
        return from_builtins(builtins, cls)

    def builtins(self) -> dict[str, Any]:
        """Return the document as dicts, lists, strings and numbers, as :func:`to_builtins` does."""
        document: dict[str, Any] = to_builtins(self)
        return document


class EndsDocument(Document, Generic[Value]):
    """A value for each bound of an interval."""

    lower: Value
    upper: Value
