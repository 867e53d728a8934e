"""Compiling the kernels that look positions up in packed tables, so that it is a step of its own."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Final

from tbgen.board.material import Material
from tbgen.board.score import Code
from tbgen.compiler.cache import compiling
from tbgen.errors import TbgenError
from tbgen.index.exits import BestExit
from tbgen.index.layout import SIDES, Layout, Side, Slot, layout_of
from tbgen.index.position import board_of, locate, validate
from tbgen.index.table import NO_SCORE
from tbgen.packed.file import PackedFile

FAMILY: Final = __name__
"""Name of these kernels in the cache."""

_logger = logging.getLogger(__name__)


def compile_kernels_by(path: Path, material: Material) -> None:
    """Compile every kernel that asking takes, if that is still to do, by asking the table of a file."""
    with compiling(FAMILY, "that probe packed tables", "about half a minute", _logger.warning) as needed:
        if needed:
            with suppress(TbgenError), PackedFile(path, material=material, exits=no_exits) as file:
                ask(file)


def ask(file: PackedFile) -> None:
    """Ask a file that knows no exits about some positions, alone and together; its answers may be wrong."""
    slots = list(islice(_slots(layout_of(Material.parse(file.info.material))), 4))
    code = Code(2) if file.info.stores_accrued else NO_SCORE
    file.learn(product(SIDES, slots[2:], [NO_SCORE, code]), _no_exits_of_many)
    for side, slot in product(SIDES, slots[:2]):
        with suppress(TbgenError):
            file.fresh(side, slot)
        if file.info.stores_accrued:
            with suppress(TbgenError):
                file.accrued(side, slot, Code(2))


def _slots(layout: Layout) -> Iterator[Slot]:
    """Yield canonical slots of positions that are legal and go on, whoever is to move."""
    rng = Random(0)
    while True:
        slot = Slot(rng.randrange(layout.size))
        with suppress(ValueError):
            boards = [board_of(layout, side, slot) for side in SIDES]
            for board in boards:
                validate(board)
            if all(any(board.legal_moves) for board in boards):
                yield locate(boards[0]).slot


def no_exits(side: Side, slot: Slot, ep_square: int = -1, *, captures_only: bool = False) -> BestExit | None:
    """Say that a position has no exit."""
    return None


def _no_exits_of_many(
    side: Side, slots: Sequence[Slot], *, captures_only: bool = False
) -> list[BestExit | TbgenError | None]:
    return [None] * len(slots)
