"""The arrays that the kernels of the proof read: a table, its men, and all that its moves lead to."""

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import PIECE_ORDER
from tbgen.board.material import Material
from tbgen.compiler.jit import python_of
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES
from tbgen.index.table import Table
from tbgen.verify.en_passant import rows_of_rights
from tbgen.verify.geometry import KING, PAWN
from tbgen.verify.kernels.best import ProofGame, ProofScratch
from tbgen.verify.kernels.leaving import Leaving
from tbgen.verify.kernels.moves import ProofMen
from tbgen.verify.kernels.resets import PROMOTIONS, Resets, reset_number
from tbgen.verify.sub_tables import SubTables

_MEN = PIECE_ORDER + "P"
_MOST_MEN = 8
_FULL_BOARD = 32
"""Men of a cell at most."""


def game_of_table(table: Table, sub_tables: SubTables) -> ProofGame:
    """Return a table and what its moves lead to; its window is empty.

    :raises KeyError: if a sub-table is missing, or a side to move that a move leads to.
    """
    layout = table.layout
    men = men_of(layout)
    none, no_ways = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return ProofGame(
        men,
        table.value,
        table.depth,
        resets_of(layout, men, sub_tables),
        Leaving(no_ways, none, np.zeros(0, np.uint8), np.zeros(0, np.uint16), 0),
        False,
        rows_of_rights(layout, table.ep_config),
        table.ep_value,
        table.ep_depth,
        table.variant.resets,
        0,
        np.empty((2, 0), np.int32),
    )


def game_of_cell(
    men: ProofMen, leaving: Leaving, value: NDArray[np.uint8], depth: NDArray[np.uint16], allowed: int = 0
) -> ProofGame:
    """Return one of the games of a cell with what is claimed, shape (2, slots) each; its window is all."""
    none, one, two = (np.zeros((0,) * axes, np.int64) for axes in (1, 1, 2))
    no_codes, no_plies = np.zeros(0, np.uint8), np.zeros(0, np.uint16)
    resets = Resets(
        none, none, two, none, none, two, none, two, one, np.zeros(0, np.int32), no_codes, no_plies
    )
    no_rows, key = np.zeros((0, 16), np.int32), np.zeros(value.shape, np.int32)
    no_rights = no_codes.reshape(0, 0), no_plies.reshape(0, 0)
    return ProofGame(men, value, depth, resets, leaving, True, no_rows, *no_rights, True, 0, key, allowed)


def men_of(layout: Layout) -> ProofMen:
    """Return the men of a layout."""
    white, black = layout.white_pawns, layout.black_pawns
    kinds, colours = layout.kinds + (PAWN,) * (white + black), layout.colours + (0,) * white + (1,) * black
    return proof_men(
        kinds, colours, layout.free, layout.placements, layout.phase_size, triangle=not layout.pawns
    )


def proof_men(
    kinds: Sequence[int],
    colours: Sequence[int],
    free: int,
    placements: Sequence[Sequence[int]],
    phase_size: int = 0,
    triangle: bool = False,
) -> ProofMen:
    """Return men of these kinds and colours, ``free`` of which come first; the others stand on the squares of
    a placement."""
    kind, colour = np.array(kinds, np.int64), np.array(colours, np.int64)
    kings = np.flatnonzero(kind == KING)[np.argsort(colour[kind == KING])]
    reach = kind + (kind == PAWN) * colour
    still = np.array(placements, np.uint8).reshape(len(placements), len(kinds) - free)
    return ProofMen(kind, colour, reach, kings, free, triangle, phase_size, still)


def _changes(men: ProofMen) -> Iterator[tuple[int, int, int]]:
    """Yield captured man, promoting pawn and promotion of every reset."""
    kinds, colours = men.kinds.tolist(), men.colours.tolist()
    captured = [-1, *(man for man, kind in enumerate(kinds) if kind != KING)]
    for victim in captured:
        yield victim, 0, 0
        for pawn, kind in enumerate(kinds):
            if kind == PAWN and (victim < 0 or (colours[victim] != colours[pawn] and kinds[victim] != PAWN)):
                yield from ((victim, pawn, promotion) for promotion in range(1, 1 + PROMOTIONS))


def _after(men: ProofMen, captured: int, pawn: int, promotion: int) -> tuple[Material, bool, list[int]]:
    """Return the material after a reset, whether it is swapped, and which man each of its men was."""
    kinds, colours = men.kinds.tolist(), men.colours.tolist()
    if promotion:
        kinds[pawn] = promotion
    left = [man for man in range(len(kinds)) if man != captured]
    sides = ["".join(_MEN[kinds[man]] for man in left if colours[man] == colour) for colour in (0, 1)]
    material, swapped = Material.of_sides(sides[0], sides[1])
    layout = layout_of(material)
    wanted = [*zip(layout.kinds, layout.colours, strict=True)]
    wanted += [(PAWN, 0)] * layout.white_pawns + [(PAWN, 1)] * layout.black_pawns
    source = []
    for kind, colour in wanted:
        found = next(man for man in left if (kinds[man], colours[man] ^ swapped) == (kind, colour))
        left.remove(found)
        source.append(found)
    return material, swapped, source


def _to_move(men: ProofMen, change: tuple[int, int, int], swap: bool) -> Side:
    """Return who is to move after a capture or promotion, seen with the colours of the table it leads to."""
    captured, pawn, _ = change
    mover = int(men.colours[pawn]) if captured < 0 else 1 - int(men.colours[captured])
    return SIDES[1 - mover ^ swap]


def _phase_keys(layout: Layout) -> NDArray[np.int32]:
    keys = np.full(64**layout.pawns, -1, np.int32)
    if not layout.pawns:
        keys[0] = 0
        return keys
    white = layout.white_pawns
    for placement, row in layout.rows.items():
        mirrored = tuple(IMAGE[MIRROR_FILES][square] for square in placement)
        own_mirror = set(mirrored[:white]) == set(placement[:white]) and set(mirrored[white:]) == set(
            placement[white:]
        )
        for squares, mark in ((mirrored, 1), (placement, 2 if own_mirror else 0)):
            for first in permutations(squares[:white]):
                for second in permutations(squares[white:]):
                    key = 0
                    for square in first + second:
                        key = 64 * key + square
                    keys[key] = 4 * row + mark
    return keys


def resets_of(layout: Layout, men: ProofMen, sub_tables: SubTables) -> Resets:
    """Return the resets of a layout.

    :raises KeyError: if a sub-table is missing, or a side to move that a move leads to.
    """
    numbers = {layout.material: 0}
    count = python_of(reset_number)(men, len(men.kinds), 0, 0)
    table, swapped = np.zeros((2, count), np.int64)
    source = np.zeros((count, _MOST_MEN), np.int64)
    for change in _changes(men):
        material, swap, origin = _after(men, *change)
        reset = python_of(reset_number)(men, *change)
        table[reset] = numbers.setdefault(material, len(numbers))
        swapped[reset] = swap
        if material != layout.material:
            sub_tables.places[material, _to_move(men, change, swap)]
        source[reset, : len(origin)] = origin
    layouts = [layout_of(material) for material in numbers]
    alike = np.zeros((len(layouts), _MOST_MEN), np.int64)
    for number, other in enumerate(layouts):
        for start, stop in other.like_men:
            alike[number, start + 1 : stop] = 1
    keys = [_phase_keys(other) for other in layouts]
    nowhere = len(sub_tables.value)
    starts = [[sub_tables.places.get((other.material, side), nowhere) for side in SIDES] for other in layouts]
    return Resets(
        table,
        swapped,
        source,
        np.array([other.free for other in layouts], np.int64),
        np.array([other.pawns for other in layouts], np.int64),
        alike,
        np.array([other.phase_size for other in layouts], np.int64),
        np.array(starts, np.int64),
        np.concatenate([[0], np.cumsum([len(key) for key in keys])[:-1]]),
        np.concatenate(keys),
        sub_tables.value,
        sub_tables.depth,
    )


def new_scratch() -> ProofScratch:
    """Return working space."""
    return ProofScratch(
        np.zeros(_FULL_BOARD, np.int64), np.zeros(_FULL_BOARD, np.uint64), np.zeros(16, np.int64)
    )
