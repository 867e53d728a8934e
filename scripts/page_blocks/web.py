"""Blocks about the HTTP API, from its OpenAPI description."""

import re
from typing import Any, Final

from page_blocks.docstrings import attribute_docstrings
from page_blocks.markdown import table
from tbgen.board.variant import Variant
from tbgen.text import size_text
from tbgen.web import configuration
from tbgen.web.endpoints import REFUSALS, openapi

_WHOLE_GAME: Final = f"/{Variant.WHOLE_GAME}"


def endpoints() -> str:
    """Return a table of all endpoints. Those of whole-game mobility are left out: r-mobility has the same."""
    paths: dict[str, Any] = openapi("")["paths"]
    rows = [
        (f"`{method.upper()} {path}`", _summary(operation), _request(operation), _answer(operation))
        for path, operations in paths.items()
        if not path.startswith(_WHOLE_GAME)
        for method, operation in operations.items()
    ]
    return table(("request", "answer", "parameters or body", "document"), rows)


def refusals() -> str:
    """Return a table of the error codes."""
    rows = [
        (str(status), f"`{code}`", text) for status, codes in REFUSALS.items() for code, text in codes.items()
    ]
    return table(("status", "`code`", "meaning"), rows)


def limits() -> str:
    """Return a table of the limits of requests."""
    meanings = attribute_docstrings(configuration)
    numbers = {name: value for name, value in vars(configuration).items() if isinstance(value, int | float)}
    rows = [(meanings[name], _amount(name, value)) for name, value in numbers.items()]
    return table(("limit", ""), rows)


def _amount(name: str, number: float) -> str:
    """Return the number of a constant with the unit that its name states."""
    if name.endswith("_BYTES"):
        return size_text(int(number))
    return f"{number:,.0f}" + (" s" if name.endswith("_SECONDS") else "")


def _summary(operation: dict[str, Any]) -> str:
    summary: str = operation["summary"]
    return re.sub(rf" (in|for|by) {Variant.R_MOBILITY.label}\b", "", summary)


def _request(operation: dict[str, Any]) -> str:
    """Return the parameters of a request, the optional ones in brackets, or the type of its body."""
    if "requestBody" in operation:
        ((media_type, content),) = operation["requestBody"]["content"].items()
        return _name(content["schema"]) or f"`{media_type}`"
    names = [
        f"`{parameter['name']}`" if parameter["required"] else f"[`{parameter['name']}`]"
        for parameter in operation.get("parameters", ())
    ]
    return ", ".join(names)


def _answer(operation: dict[str, Any]) -> str:
    ((media_type, content),) = operation["responses"]["200"]["content"].items()
    return _name(content["schema"]) or f"`{media_type.partition(';')[0]}`"


def _name(schema: dict[str, Any]) -> str:
    """Return the name of a document; an empty string if the schema describes none."""
    return f"`{schema['$ref'].rpartition('/')[2]}`" if "$ref" in schema else ""
