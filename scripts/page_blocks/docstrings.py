"""Docstrings of classes and of their attributes, as Markdown."""

import ast
import inspect
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any


@cache
def attribute_docstrings(owner: Any) -> dict[str, str]:
    """Return the docstrings that follow the attributes of a class or the constants of a module, by name.

    Those of a base class come first; a class may replace them.
    """
    found: dict[str, str] = {}
    for base in reversed(getattr(owner, "__mro__", (owner,))):
        if base.__module__.startswith("tbgen.") if isinstance(base, type) else True:
            found |= _docstrings_in(textwrap.dedent(inspect.getsource(base)))
    return found


def _docstrings_in(source: str) -> dict[str, str]:
    tree = ast.parse(source)
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else tree.body
    found = {}
    for node, following in pairwise(body):
        match node, following:
            case (
                ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]),
                ast.Expr(ast.Constant(str(docstring))),
            ):
                found[name] = markdown(docstring)
    return found


def markdown(docstring: str) -> str:
    """Return reStructuredText as one paragraph of Markdown, without a full stop after a single sentence."""
    text = " ".join(re.sub(r":\w+:`~?([^`]*)`", r"`\1`", docstring).replace("``", "`").split())
    text = re.sub(r"\bdocs/(\w+\.md)", r"[\1](\1)", text)
    return text if re.search(r"\. [A-Z]", text) else text.removesuffix(".")


def first_sentence(docstring: str) -> str:
    """Return the first sentence of a docstring as Markdown, without its full stop."""
    return markdown(re.split(r"(?<=\.)\s", docstring)[0])
