"""The checks of positions and states: the slots that contain positions, their ranks, and their results.

Legality and ranks do not depend on results. The result of a state must follow from its best move.
"""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.kernels.best import (
    NO_RANK,
    ProofGame,
    Range,
    best_grade,
    canonical_slot_of,
    has_entry,
    state_pivot,
)
from tbgen.verify.kernels.moves import (
    ZERO,
    Bitboard,
    attacked,
    bit,
    count_en_passant,
    count_moves,
    find_legal_targets,
    place_men,
)
from tbgen.verify.kernels.results import (
    MIDDLE,
    MISSING,
    NOWHERE,
    WRONG,
    WRONG_END,
    Accrued,
    Place,
    ProofScratch,
    grade_of,
    position_worth,
    record,
)


@kernel
def survey(game: ProofGame, part: Range, scratch: ProofScratch) -> int:
    """Fill ``game.rank`` with the ranks of the canonical legal positions in a range; return their number."""
    positions = 0
    for slot in range(part[0], part[1]):
        occupied = place_men(game.men, slot, scratch.squares)
        canonical = occupied != ZERO and (game.is_cell or canonical_slot_of(game, scratch) == slot)
        for side in range(2):
            rank = _rank(game, side, occupied, 0, scratch) if canonical else NO_RANK
            game.rank[side, slot] = rank
            positions += rank != NO_RANK
    return positions


@inlined
def _rank(game: ProofGame, side: int, occupied: Bitboard, captures: int, scratch: ProofScratch) -> int:
    """Rank of the position in ``scratch.squares``; ``NO_RANK`` if the position is not legal.

    ``captures`` is the number of legal en passant captures.
    """
    men, squares = game.men, scratch.squares
    if attacked(men, squares, occupied, squares[men.king_index[1 - side]], side):
        return NO_RANK
    check = find_legal_targets(men, squares, occupied, side, scratch.targets)
    return 2 * (count_moves(men, scratch.targets) + captures) + (0 if check else 1)


@kernel
def check_values(game: ProofGame, part: Range, scratch: ProofScratch) -> int:
    """Compare the values of a range of slots with the ranks that :func:`survey` has computed.

    Record positions without values, values without positions, and wrong values of mates and stalemates.
    Return the number of values.
    """
    values = 0
    for slot in range(part[0], part[1]):
        for side in range(2):
            rank, code = int64(game.rank[side, slot]), int64(game.value[side, slot])
            _check_value(scratch, (0, side, slot), rank, code, int64(game.depth[side, slot]))
            values += code != NONE
    return values


@kernel
def survey_en_passant(game: ProofGame, scratch: ProofScratch) -> int:
    """Fill in the ranks of the positions with an en passant right, and check the values of these positions.

    The checks are those of :func:`check_values`. Return the number of these positions.
    """
    entries, size = game.en_passant, game.men.phase_size
    positions = 0
    for row in range(entries.config.shape[0]):
        phase, square = int64(entries.config[row, 0]), int64(entries.config[row, 1])
        for index in range(size):
            rank = _en_passant_rank(game, phase * size + index, square, scratch)
            entries.rank[row, index] = rank
            positions += rank != NO_RANK
            place = 1, (1 if square < 32 else 0), row * size + index
            code, depth = int64(entries.value[row, index]), int64(entries.depth[row, index])
            _check_value(scratch, place, rank, code, depth)
    return positions


@inlined
def _check_value(scratch: ProofScratch, place: Place, rank: int, code: int, depth: int) -> None:
    """Record what is wrong with a stored value, if that can be seen without the values after the moves."""
    if rank == NO_RANK:
        if code != NONE or depth != 0:
            record(scratch, NOWHERE, place, 0, grade_of(code, depth, 0), 0)
    elif code == NONE:
        record(scratch, MISSING, place, 0, 0, 0)
    elif rank < 2:
        pivot = position_worth(rank, place[1])
        stored, expected = grade_of(code, depth, pivot), pivot << 16
        if stored != expected:
            record(scratch, WRONG_END, place, pivot, stored, expected)


@inlined
def _en_passant_rank(game: ProofGame, slot: int, square: int, scratch: ProofScratch) -> int:
    """Rank of the position in ``slot`` with the right to capture en passant on ``square``; ``NO_RANK`` if
    there is no such position."""
    side = 1 if square < 32 else 0
    occupied = place_men(game.men, slot, scratch.squares)
    origin = square + 8 - 16 * side
    if occupied == ZERO or occupied & (bit(square) | bit(origin)) or canonical_slot_of(game, scratch) != slot:
        return NO_RANK
    captures = count_en_passant(game.men, scratch.squares, occupied, side, square)
    return _rank(game, side, occupied, captures, scratch) if captures else NO_RANK


@kernel
def prove(game: ProofGame, accrued: Accrued, part: Range, scratch: ProofScratch) -> int:
    """Prove the states of a layer in a range of batch slots, and return their number.

    The states are of two kinds. The fresh state of a position belongs to the layer if the position score is
    the layer's accrued score. In a layer with the pivot ``MIDDLE`` (see :mod:`tbgen.verify.kernels.results`),
    it belongs to the layer if the position rank is at least the rank of the layer. The other states are those
    that :func:`stores_state` accepts. If results may deviate from those of the best moves in one direction
    (``game.deviation`` is not 0), only the states that :func:`has_entry` accepts are proved. In whole-game
    mobility, each position has only its fresh state, and the pivot of the layer is ``MIDDLE``.
    """
    states = 0
    for index in range(part[0], part[1]):
        slot = game.base + index
        for side in range(2):
            rank = int64(game.rank[side, slot])
            if not _is_in_layer(rank, accrued) or (game.selected.size and not game.selected[side, slot]):
                continue
            code = int64(game.value[side, slot])
            fresh = game.deviation == 0 and _is_fresh(rank, side, accrued)
            if not (fresh or has_entry(game, rank, code, accrued, side)):
                continue
            states += 1
            pivot, stored = state_pivot(game, rank, side, accrued.pivot), int64(game.grade[side, index])
            if not game.has_score_resets:
                stored = grade_of(code, int64(game.depth[side, slot]), pivot)
            expected = best_grade(game, slot, side, -1, pivot, scratch)
            if stored != expected if game.deviation == 0 else (stored - expected) * game.deviation > 0:
                record(scratch, WRONG, (0, side, slot), pivot, stored, expected)
    return states


@kernel
def prove_en_passant(game: ProofGame, accrued: Accrued, scratch: ProofScratch) -> int:
    """Prove the states of a layer at the en passant positions of the batch, and return their number.

    En passant positions have only fresh states.
    """
    entries, size = game.en_passant, game.men.phase_size
    states = 0
    for row in range(entries.config.shape[0]):
        start, square = int64(entries.config[row, 0]) * size, int64(entries.config[row, 1])
        side = 1 if square < 32 else 0
        if not 0 <= start - game.base < game.grade.shape[1]:
            continue
        for index in range(size):
            rank = int64(entries.rank[row, index])
            if not (_is_in_layer(rank, accrued) and _is_fresh(rank, side, accrued)):
                continue
            if entries.selected.size and not entries.selected[row, index]:
                continue
            states += 1
            pivot = state_pivot(game, rank, side, accrued.pivot)
            stored = grade_of(int64(entries.value[row, index]), int64(entries.depth[row, index]), pivot)
            expected = best_grade(game, start + index, side, square, pivot, scratch)
            if stored != expected:
                record(scratch, WRONG, (1, side, row * size + index), pivot, stored, expected)
    return states


@inlined
def _is_in_layer(position_rank: int, accrued: Accrued) -> bool:
    """Whether a slot has a position whose rank is at least the rank of the layer."""
    return accrued.rank <= position_rank != NO_RANK


@inlined
def _is_fresh(position_rank: int, side: int, accrued: Accrued) -> bool:
    """Whether the state of a position with this rank and side to move is fresh in the layer of
    ``accrued``."""
    return accrued.pivot == MIDDLE or position_worth(position_rank, side) == accrued.pivot
