"""Docstrings of classes and of their attributes, as Markdown."""

import re
from functools import cache
from types import ModuleType

from tbgen import documents


@cache
def attribute_rows(owner: type | ModuleType) -> list[tuple[list[str], str]]:
    """Return the attributes of a class, or the constants of a module, with their docstrings as Markdown."""
    return [(names, markdown(docstring)) for names, docstring in documents.attribute_docstrings(owner)]


def attribute_docstrings(owner: type | ModuleType) -> dict[str, str]:
    """Return the docstring of each attribute of a class, or of each constant of a module."""
    return {name: docstring for names, docstring in attribute_rows(owner) for name in names}


def markdown(docstring: str) -> str:
    """Return reStructuredText as one paragraph of Markdown, without a full stop after a single sentence."""
    text = " ".join(re.sub(r":\w+:`~?([^`]*)`", r"`\1`", docstring).replace("``", "`").split())
    text = re.sub(r"\bdocs/(\w+\.md)(#[\w-]+)?", r"[\1](\1\2)", text)
    return text if re.search(r"\. [A-Z]", text) else text.removesuffix(".")


def first_sentence(docstring: str) -> str:
    """Return the first sentence of a docstring as Markdown, without its full stop."""
    return markdown(re.split(r"(?<=\.)\s", docstring)[0])
