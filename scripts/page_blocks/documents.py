"""Blocks about documents: their fields, which are the keys of JSON, and the words that some fields have."""

from collections.abc import Iterator
from enum import StrEnum
from pkgutil import resolve_name

from msgspec import Struct

from page_blocks.docstrings import attribute_rows
from page_blocks.markdown import table


def fields(module: str, *names: str) -> str:
    """Return a table of the fields of documents."""
    rows = [row for name in names for row in _rows(resolve_name(f"{module}:{name}"))]
    return table(("field", "meaning"), rows)


def _rows(document: type[Struct]) -> Iterator[tuple[str, str]]:
    base = document.__mro__[1]
    name, tag = document.__name__, document.__struct_config__.tag
    yield (
        f"**`{name}`**" if tag in (None, name) else f"**`type` `{tag}`**",
        "" if not getattr(base, "__struct_fields__", ()) else f"The fields of `{base.__name__}`, and",
    )
    for attributes, meaning in attribute_rows(document):
        yield ", ".join(f"`{name}`" for name in attributes), meaning


def members(module: str, name: str) -> str:
    """Return a table of the values of an enumeration."""
    enumeration: type[StrEnum] = resolve_name(f"{module}:{name}")
    rows = [
        (", ".join(f"`{enumeration[member]}`" for member in names), meaning)
        for names, meaning in attribute_rows(enumeration)
    ]
    return table(("value", "meaning"), rows)
