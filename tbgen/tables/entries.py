"""The kernels that look up positions, compiled together. Edits of code that calls them do not change them."""

from collections.abc import Iterable
from typing import Any

from tbgen.compiler.object_writer import compile_objects
from tbgen.tables.kernels.questions import answer, ask, find_bounds, find_values, list_open_questions
from tbgen.tables.kernels.rows import find_ranks
from tbgen.tables.kernels.zeroing import find_exits, list_zeroing


def compile_kernels(examples: Iterable[tuple[Any, ...]]) -> tuple[dict[str, int], bytes]:
    """Compile the kernels, given examples of their arguments."""
    kernels = ask, answer, find_values, find_bounds, list_open_questions, find_ranks, list_zeroing, find_exits
    return compile_objects(zip(kernels, examples, strict=True))
