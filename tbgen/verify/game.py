"""The arrays that the kernels of the proof read: a table or cell, its men, and the results of its moves."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant, unlisted_error
from tbgen.compiler.jit import python_of
from tbgen.index.layout import IMAGE, MIRROR_FILES, SIDES, Layout, layout_of
from tbgen.index.table import Table
from tbgen.verify.geometry import KING, PAWN, pawn_reach, reach_of, steps_of, ways_of
from tbgen.verify.kernels.best import NO_RANK, OWN, EnPassantEntries, ProofGame
from tbgen.verify.kernels.moves import ProofMen
from tbgen.verify.kernels.resets import PROMOTIONS, CellExits, FreshArrays, ProofResets, reset_number
from tbgen.verify.kernels.results import COLUMNS, MAX_MOVES, ProofScratch
from tbgen.verify.sub_tables import SubTables

SELECT_ALL: Final = np.zeros((2, 0), np.bool_)
"""``ProofGame.selected`` if all positions are selected."""
_MAX_TABLE_MEN: Final = 8
_MAX_CELL_MEN: Final = 32


def allowed_rights(layout: Layout) -> NDArray[np.int32]:
    """Return int32 (n, 2): phase and target square of every en passant capture that the pawns allow.

    A capture is allowed if a pawn is on the target square of a double step, no pawn is on the start square or
    on the passed square, and a pawn of the other side attacks the passed square. Rows are in ascending order
    of phase, then square.
    """
    configs = []
    for phase, placement in enumerate(layout.placements):
        white, black = placement[: layout.white_pawns], placement[layout.white_pawns :]
        for target in (*range(16, 24), *range(40, 48)):
            ahead = 8 if target < 32 else -8
            movers, enemies = (white, black) if target < 32 else (black, white)
            if target + ahead not in movers or {target, target - ahead} & {*placement}:
                continue
            if any(
                enemy // 8 == (target + ahead) // 8 and abs(enemy - target - ahead) == 1 for enemy in enemies
            ):
                configs.append((phase, target))
    return np.array(configs, np.int32).reshape(-1, 2)


def rows_of_rights(layout: Layout, configs: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return int32 (phases, 16): the row of each configuration, by phase and file of its target square.

    The index of the file is 0..7 if Black captures, 8..15 if White captures. Elements without a configuration
    are -1.
    """
    rows = np.full((len(layout.placements), 16), -1, np.int32)
    for row, (phase, target) in enumerate(configs.tolist()):
        rows[phase, target % 8 + (8 if target > 31 else 0)] = row
    return rows


def game_of_table(table: Table, sub_tables: SubTables) -> ProofGame:
    """Return the game of a table. Its batch is empty, and all positions are selected.

    :raises KeyError: if a sub-table that a move leads to, or its side to move, is missing.
    :raises UsageError: if tables of this variant cannot be proved.
    """
    layout, config = table.layout, table.ep_config
    men = men_of(layout)
    rows = rows_of_rights(layout, config)
    value, depth = table.ep_value, table.ep_depth
    entries = EnPassantEntries(config, rows, value, depth, np.full_like(value, NO_RANK), SELECT_ALL)
    resets = resets_of(layout, men, sub_tables)
    arrays = no_positions(0), no_ranks(0), SELECT_ALL
    game = ProofGame(
        men, table.value, table.depth, *arrays, *_batch_arrays(0), resets=resets, en_passant=entries
    )
    return replace(game, has_score_resets=has_score_resets(table.variant))


def game_of_batch(game: ProofGame, base: int, stop: int, selected: NDArray[np.bool_]) -> ProofGame:
    """Return the game of a table with the slots ``base`` to ``stop`` - 1 as its batch.

    :param selected: the selected positions of the batch, as in ``ProofGame.selected``.
    """
    grade, max_rank, original = _batch_arrays(stop - base)
    return replace(
        game,
        base=base,
        legal=no_positions(stop - base),
        rank=no_ranks(stop - base),
        selected=selected,
        grade=grade,
        max_rank=max_rank,
        original=original,
    )


def _batch_arrays(slots: int) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]:
    """Return ``grade``, ``max_rank`` and ``original`` of a :class:`ProofGame`, for a batch of this size."""
    words = -(-slots // 64)
    return np.zeros((2, slots), np.int32), np.zeros(words, np.uint8), np.full(words, OWN)


def has_score_resets(variant: Variant) -> bool:
    """Return whether captures and pawn moves reset the accrued score.

    Each variant is listed here, so that the proof uses no property of variants that the solver uses.

    :raises UsageError: if tables of this variant cannot be proved.
    """
    match variant:
        case Variant.R_MOBILITY:
            return True
        case Variant.WHOLE_GAME:
            return False
        case other:
            raise unlisted_error(other)


def no_positions(slots: int) -> NDArray[np.uint64]:
    """Return an empty set of positions with either side to move, as in ``ProofGame.legal``."""
    return np.zeros((2, -(-slots // 64)), np.uint64)


def no_ranks(slots: int) -> NDArray[np.uint8]:
    """Return the ranks of slots without positions, as in ``ProofGame.rank``."""
    return np.full((2, slots), NO_RANK, np.uint8)


def game_of_cell(
    men: ProofMen, exits: CellExits, goals: FreshArrays, legal: NDArray[np.uint64], rank: NDArray[np.uint8]
) -> ProofGame:
    """Return one of the games of a cell. The batch of the game contains all slots.

    :param goals: values and depths to prove, shape (2, slots) each.
    """
    arrays = *goals, legal, rank, SELECT_ALL, *_batch_arrays(rank.shape[1])
    return ProofGame(men, *arrays, exits=exits, is_cell=True)


def men_of(layout: Layout) -> ProofMen:
    """Return the men of a layout."""
    names = _kind_names(layout.material)
    men = proof_men(_kinds_and_colours(layout), layout.free_count, layout.placements, names)
    return men._replace(in_triangle=not layout.pawns, phase_size=layout.phase_size)


def _kind_names(material: Material) -> list[str]:
    """Return the names of the kinds, indexed by their numbers in the proof, where the pawn is 5."""
    names = [kind.name for kind in material.kinds]
    return [*names[:PAWN], "P", *names[PAWN:]]


def _kinds_and_colours(layout: Layout) -> list[tuple[int, int]]:
    """Return kind and colour of every man, pawns last."""
    pawns = [(PAWN, 0)] * layout.white_pawns + [(PAWN, 1)] * layout.black_pawns
    kinds = [kind if kind < PAWN else kind + 1 for kind in layout.kinds]
    return [*zip(kinds, layout.colours, strict=True), *pawns]


def proof_men(
    men: Sequence[tuple[int, int]],
    free: int,
    placements: Sequence[Sequence[int]],
    names: Sequence[str] = "KQRBNP",
) -> ProofMen:
    """Return men as the kernels read them.

    :param men: kind and colour of every man. The first ``free`` men are mobile.
    :param placements: for each phase, the squares of the other men.
    :param names: names of the kinds, indexed by their numbers.
    """
    steps_by_man = [[] if kind == PAWN else steps_of(names[kind]) for kind, _ in men]
    ways = max(map(len, steps_by_man))
    delta, inside, rides = map(np.array, zip(*(ways_of(steps, ways) for steps in steps_by_man), strict=True))
    reach = [
        reach_of(steps) if steps else pawn_reach(colour)
        for steps, (_, colour) in zip(steps_by_man, men, strict=True)
    ]
    kind, colour = np.array(men, np.int64).T.copy()
    kings = np.flatnonzero(kind == KING)[np.argsort(colour[kind == KING])]
    still_squares = np.array(placements, np.uint8).reshape(len(placements), len(men) - free)
    moves = np.array(reach, np.uint64), delta, inside, rides
    return ProofMen(kind, colour, kings, free, False, 0, still_squares, *moves)


def resets_of(layout: Layout, men: ProofMen, sub_tables: SubTables) -> ProofResets:
    """Return the resets of a layout.

    :raises KeyError: if a sub-table that a move leads to, or its side to move, is missing.
    """
    number_of_material = {layout.material: 0}
    count = python_of(reset_number)(men, len(men.kinds), 0, 0)
    table, swapped = np.zeros((2, count), np.int64)
    source = np.zeros((count, _MAX_TABLE_MEN), np.int64)
    names = _kind_names(layout.material)
    for change in _changes(men):
        mover, material, swap, origin = _after_reset(men, names, *change)
        reset = python_of(reset_number)(men, *change)
        table[reset] = number_of_material.setdefault(material, len(number_of_material))
        swapped[reset] = swap
        if material != layout.material and SIDES[1 - mover ^ swap] not in sub_tables.sides[material]:
            raise KeyError(material, SIDES[1 - mover ^ swap])
        source[reset, : len(origin)] = origin
    layouts = [layout_of(material) for material in number_of_material]
    alike = np.zeros((len(layouts), _MAX_TABLE_MEN), np.int64)
    for index, other in enumerate(layouts):
        for start, stop in other.like_men:
            alike[index, start + 1 : stop] = 1
    sizes = [(other.free_count, other.pawns, other.phase_size, 64**other.pawns) for other in layouts]
    free, pawns, phase_size, keys = np.array(sizes, np.int64).T.copy()
    key_start = np.cumsum(keys) - keys
    phases = np.concatenate([_phase_entries(other) for other in layouts])
    first_block = np.array(
        [sub_tables.first_block.get(material, -1) for material in number_of_material], np.int64
    )
    block_arrays = first_block, sub_tables.start, key_start, phases, sub_tables.value, sub_tables.depth
    return ProofResets(table, swapped, source, free, pawns, alike, phase_size, *block_arrays)


def _changes(men: ProofMen) -> Iterator[tuple[int, int, int]]:
    """For every reset, yield captured man (-1 for none), promoting pawn, and promotion (0 for none)."""
    kinds, colours = men.kinds.tolist(), men.colours.tolist()
    for victim in (-1, *np.flatnonzero(men.kinds != KING).tolist()):
        yield victim, 0, 0
        for pawn in np.flatnonzero(men.kinds == PAWN).tolist():
            if victim < 0 or (colours[victim] != colours[pawn] and kinds[victim] != PAWN):
                yield from ((victim, pawn, promotion) for promotion in range(1, 1 + PROMOTIONS))


def _after_reset(
    men: ProofMen, names: Sequence[str], captured: int, pawn: int, promotion: int
) -> tuple[int, Material, bool, list[int]]:
    """Return the moving side, the material after a reset, whether it is swapped, and, for each man of this
    material, its index in ``men``.

    The moving side is arbitrary if a pawn moves without capturing or promoting. The material is swapped if
    its White is Black in ``men``.
    """
    kinds, colours = men.kinds.tolist(), men.colours.tolist()
    mover = colours[pawn] if captured < 0 else 1 - colours[captured]
    if promotion:
        kinds[pawn] = promotion
    remaining = [man for man in range(len(kinds)) if man != captured]
    white, black = ("".join(names[kinds[man]] for man in remaining if colours[man] == side) for side in SIDES)
    material, swapped = Material.of_sides(white, black)
    after = _kind_names(material)
    order = [(after[kind], colour) for kind, colour in _kinds_and_colours(layout_of(material))]
    origin = sorted(remaining, key=lambda man: order.index((names[kinds[man]], colours[man] ^ swapped)))
    return mover, material, swapped, origin


def _phase_entries(layout: Layout) -> NDArray[np.int32]:
    """Return the part of ``ProofResets.phases`` for a table."""
    entries = np.zeros(64**layout.pawns, np.int32)
    white = layout.white_pawns
    for placement, row in layout.phase_by_placement.items():
        for symmetry in (0, MIRROR_FILES):
            squares = [IMAGE[symmetry][square] for square in placement]
            for order in product(permutations(squares[:white]), permutations(squares[white:])):
                key = 0
                for square in (*order[0], *order[1]):
                    key = 64 * key + square
                entries[key] |= 4 * row | 1 << symmetry
    return entries


def new_scratch(capacity: int = 0) -> ProofScratch:
    """Return a workspace that stores up to ``capacity`` findings."""
    man, target, victim = np.empty((3, MAX_MOVES), np.int64)
    return ProofScratch(
        squares=np.zeros(_MAX_CELL_MEN, np.int64),
        squares_after=np.zeros(16, np.int64),
        originals=np.zeros(64, np.int64),
        count=np.zeros(1, np.int64),
        man=man,
        target=target,
        victim=victim,
        positions=np.empty(MAX_MOVES, np.uint64),
        row=np.empty(192, np.int32),
        move_count=np.empty(64, np.uint8),
        best=np.empty(64, np.int32),
        findings=np.empty((capacity, COLUMNS), np.int64),
        total=np.zeros(1, np.int64),
    )
