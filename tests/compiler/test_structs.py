"""Structures as arguments of kernels: their types are checked, and kernels allocate no memory."""

import pickle
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.compiler.jit import inlined, kernel, with_fixed_types
from tbgen.compiler.structs import Struct
from tbgen.index.layout import layout_of
from tbgen.moves.frames import frame_of, like_men_of, make_exits, make_phase
from tbgen.moves.geometry import ORTHODOX
from tbgen.moves.structs import PhaseMoves


@dataclass(frozen=True, eq=False)
class Numbers(Struct):
    """An array of numbers, and the number of elements in use."""

    number: NDArray[Any]
    counted: int


@dataclass(frozen=True, eq=False)
class OtherNumbers(Struct):
    """A structure of another type with the same fields."""

    number: NDArray[Any]
    counted: int


@kernel
def total(numbers: Numbers) -> int:
    found = 0
    for at in range(numbers.counted):
        found += numbers.number[at]
    return found


def test_a_structure_of_another_type_is_refused() -> None:
    call, number = with_fixed_types(total), np.arange(5)
    assert call(Numbers(number, 4)) == 6
    others: tuple[Any, ...] = (
        OtherNumbers(number, 4),
        Numbers(number.astype(np.uint8), 4),
        Numbers(number, True),
    )
    for other in others:
        with pytest.raises(TypeError, match="a kernel needs a structure of the type Numbers_"):
            call(other)
    assert call(Numbers(number, 5)) == 10


def test_a_kernel_allocates_nothing() -> None:
    def allocating(size: int) -> float:
        return float(np.zeros(size).sum())

    for decorated in (kernel(allocating), inlined(allocating)):
        with pytest.raises(NumbaError, match="zeros"):
            decorated(3)
    assert total(Numbers(np.arange(5), 5)) == 10
    for code in cast(Any, total).entry.inspect_llvm().values():
        assert "NRT_" not in code


def test_a_structure_is_pickled_without_its_address() -> None:
    """Another process reads its own memory; what kernels read as constants exists once."""
    layout = layout_of(Material.parse("KBvK"))
    kept = Numbers(np.arange(5), 5)
    moves = PhaseMoves(frame_of(layout), make_phase(640, True), make_exits(2), like_men_of(layout))
    assert (total(kept), kept.address > 0, moves.address > 0) == (10, True, True)
    numbers, again = pickle.loads(pickle.dumps((kept, moves)))
    kept.number[:] = 7
    assert (total(kept), total(numbers)) == (35, 10)
    assert (again.type_name, again.frame.moves) == (moves.type_name, ORTHODOX)
    assert len({each.address for each in (again, again.phase, moves, moves.phase)}) == 4
