"""Docstrings of classes and of their attributes, as Markdown."""

import ast
import inspect
import re
import textwrap
from functools import cache
from types import ModuleType


@cache
def attribute_rows(owner: type | ModuleType) -> list[tuple[list[str], str]]:
    """Return the attributes of a class, or the constants of a module, with the docstrings that follow them.

    A docstring also describes the attributes directly before that have none; attributes at the end may have
    none.
    """
    source = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    body = source[0].body if isinstance(source[0], ast.ClassDef) else source
    rows: list[tuple[list[str], str]] = []
    names: list[str] = []
    for node in body:
        match node:
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                names.append(name)
            case ast.Expr(ast.Constant(str(docstring))) if names:
                rows.append((names, markdown(docstring)))
                names = []
    return [*rows, (names, "")] if names else rows


def attribute_docstrings(owner: type | ModuleType) -> dict[str, str]:
    """Return the docstring of each attribute of a class, or of each constant of a module."""
    return {name: docstring for names, docstring in attribute_rows(owner) for name in names}


def markdown(docstring: str) -> str:
    """Return reStructuredText as one paragraph of Markdown, without a full stop after a single sentence."""
    text = " ".join(re.sub(r":\w+:`~?([^`]*)`", r"`\1`", docstring).replace("``", "`").split())
    text = re.sub(r"\bdocs/(\w+\.md)", r"[\1](\1)", text)
    return text if re.search(r"\. [A-Z]", text) else text.removesuffix(".")


def first_sentence(docstring: str) -> str:
    """Return the first sentence of a docstring as Markdown, without its full stop."""
    return markdown(re.split(r"(?<=\.)\s", docstring)[0])
