"""The checks of positions and states: the slots that contain positions, their ranks, and their results.

Legality and ranks do not depend on results. The result of a state must follow from its best move.
"""

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.layout import IMAGE
from tbgen.verify.geometry import PAWN
from tbgen.verify.kernels.best import (
    NO_RANK,
    ProofGame,
    Range,
    canonical_slot_of,
    destination,
    find_best,
    raise_by_en_passant,
    state_grade,
    state_pivot,
)
from tbgen.verify.kernels.moves import (
    ONE,
    ZERO,
    Bitboard,
    ProofMen,
    between,
    bit,
    count_bits,
    count_en_passant,
    count_in,
    find_moves,
    first_bit,
    is_legal,
    legal_positions,
    place_men,
    sources,
)
from tbgen.verify.kernels.resets import PROMOTIONS
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

IMAGES = np.array(IMAGE, np.int64)


@kernel
def find_legal(game: ProofGame, part: Range, scratch: ProofScratch) -> None:
    """Find the legal positions, canonical or not, in a range of batch slots."""
    for first_slot in range(part[0], part[1], 64):
        occupied = place_men(game.men, game.base + first_slot, scratch.squares)
        for side in range(2):
            legal = legal_positions(game.men, scratch.squares, occupied, side) if occupied else ZERO
            game.legal[side, first_slot >> 6] = legal


@kernel
def survey(game: ProofGame, part: Range, scratch: ProofScratch) -> int:
    """Fill ``game.rank`` with the ranks of the canonical legal positions in a range of batch slots; return
    their number.

    :func:`find_legal` must have processed all slots to which quiet moves lead.
    """
    game.rank[0, part[0] : part[1]] = NO_RANK
    game.rank[1, part[0] : part[1]] = NO_RANK
    positions = 0
    for first_slot in range(part[0], part[1], 64):
        white, black = game.legal[0, first_slot >> 6], game.legal[1, first_slot >> 6]
        if white | black:
            occupied = place_men(game.men, game.base + first_slot, scratch.squares)
            canonical = _canonical_positions(game, first_slot, white | black, scratch)
            positions += _find_ranks(game, first_slot, 0, occupied, white & canonical, scratch)
            positions += _find_ranks(game, first_slot, 1, occupied, black & canonical, scratch)
    return positions


@inlined
def _canonical_positions(
    game: ProofGame, first_slot: int, legal: Bitboard, scratch: ProofScratch
) -> Bitboard:
    """Those legal positions of a word that have canonical slots."""
    canonical = ZERO
    while legal:
        position = first_bit(legal)
        legal &= legal - ONE
        if not game.is_cell:
            scratch.squares[game.men.free_count - 1] = position
        if game.is_cell or canonical_slot_of(game, scratch) == game.base + first_slot + position:
            canonical |= bit(position)
    return canonical


@inlined
def _find_ranks(
    game: ProofGame,
    first_slot: int,
    side: int,
    occupied: Bitboard,
    positions: Bitboard,
    scratch: ProofScratch,
) -> int:
    """Find the ranks of some legal positions of a word, and return their number."""
    if positions == ZERO:
        return 0
    men = game.men
    counts = scratch.move_count
    other = 1 - side
    unchecked = game.legal[other, first_slot >> 6]
    last = men.free_count - 1
    counts[:] = 0
    find_moves(men, occupied, side, positions, scratch)
    for index in range(scratch.count[0]):
        if scratch.victim[index] >= 0 or scratch.man[index] > last:
            _count_exit(men, occupied, index, scratch)
        elif scratch.man[index] == last:
            count_in(counts, int64(0), scratch.positions[index] & sources(unchecked, scratch.target[index]))
        else:
            _count_move(game, first_slot >> 6, other, index, scratch)
    count = count_bits(positions)
    remaining = positions
    while remaining:
        position = first_bit(remaining)
        remaining &= remaining - ONE
        game.rank[side, first_slot + position] = 2 * int64(counts[position]) + int64(
            unchecked >> np.uint64(position) & ONE
        )
    return count


@inlined
def _count_move(game: ProofGame, word: int, other: int, move: int, scratch: ProofScratch) -> None:
    """Count a listed quiet move in the positions in which it is legal; ``other`` is the side not to move."""
    man, target, positions = scratch.man[move], scratch.target[move], scratch.positions[move]
    target_word, symmetry = destination(game.men, word, man, target, scratch.squares)
    legal = game.legal[other, target_word]
    if symmetry == 0:
        count_in(scratch.move_count, int64(0), positions & legal)
        return
    while positions:
        position = first_bit(positions)
        positions &= positions - ONE
        if legal & bit(IMAGES[symmetry, position]):
            scratch.move_count[position] += 1


@inlined
def _count_exit(men: ProofMen, occupied: Bitboard, move: int, scratch: ProofScratch) -> None:
    """Count a listed zeroing move or exit in the positions in which it is legal."""
    man = scratch.man[move]
    positions = scratch.positions[move]
    last = men.free_count - 1
    while positions:
        position = first_bit(positions)
        positions &= positions - ONE
        full = occupied
        target = scratch.target[move]
        if last >= 0:
            scratch.squares[last] = position
            full |= bit(position)
            target = position if target < 0 else target
        if is_legal(men, full, man, target, scratch.victim[move], scratch.squares):
            promotes = men.kinds[man] == PAWN and not 8 <= target < 56
            scratch.move_count[position] += PROMOTIONS if promotes else 1


@kernel
def check_values(game: ProofGame, part: Range, scratch: ProofScratch) -> int:
    """Compare the values of a range of batch slots with the ranks that :func:`survey` has computed.

    Record positions without values, values without positions, and wrong values of mates and stalemates.
    Return the number of values.
    """
    values = 0
    for index in range(part[0], part[1]):
        slot = game.base + index
        for side in range(2):
            rank, code = int64(game.rank[side, index]), int64(game.value[side, slot])
            _check_value(scratch, (0, side, slot), rank, code, int64(game.depth[side, slot]))
            values += code != NONE
    return values


@kernel
def survey_en_passant(game: ProofGame, scratch: ProofScratch) -> int:
    """Fill in the ranks of the positions of the batch with an en passant right, and check their values.

    The checks are those of :func:`check_values`. Return the number of these positions.
    """
    entries, size = game.en_passant, game.men.phase_size
    positions = 0
    for row in range(entries.config.shape[0]):
        start = int64(entries.config[row, 0]) * size - game.base
        square = int64(entries.config[row, 1])
        if not 0 <= start < game.rank.shape[1]:
            continue
        for index in range(size):
            rank = _en_passant_rank(game, start + index, square, scratch)
            entries.rank[row, index] = rank
            positions += rank != NO_RANK
            place = 1, (1 if square < 32 else 0), row * size + index
            code, depth = int64(entries.value[row, index]), int64(entries.depth[row, index])
            _check_value(scratch, place, rank, code, depth)
    return positions


@inlined
def _check_value(scratch: ProofScratch, place: Place, rank: int, code: int, depth: int) -> None:
    """Record an error of a stored value that shows without looking at any move."""
    if rank == NO_RANK:
        if code != NONE or depth != 0:
            record(scratch, NOWHERE, place, 0, grade_of(code, depth, 0), 0)
    elif code == NONE:
        record(scratch, MISSING, place, 0, 0, 0)
    elif rank < 2:
        pivot = position_worth(rank, place[1])
        stored = grade_of(code, depth, pivot)
        expected = pivot << 16
        if stored != expected:
            record(scratch, WRONG_END, place, pivot, stored, expected)


@inlined
def _en_passant_rank(game: ProofGame, index: int, square: int, scratch: ProofScratch) -> int:
    """Rank of the position at ``index`` of the batch with the right to capture en passant on ``square``;
    ``NO_RANK`` if there is no such position."""
    side = 1 if square < 32 else 0
    last = game.men.free_count - 1
    rank = int64(game.rank[side, index])
    origin = square + 8 - 16 * side
    if rank == NO_RANK:
        return NO_RANK
    occupied = place_men(game.men, game.base + index, scratch.squares) | bit(scratch.squares[last])
    if occupied & (bit(square) | bit(origin)):
        return NO_RANK
    captures = count_en_passant(game.men, scratch.squares, occupied, side, square)
    return rank + 2 * captures if captures else NO_RANK


@kernel
def prove(game: ProofGame, accrued: Accrued, part: Range, scratch: ProofScratch) -> int:
    """Prove the states of a layer in a range of batch slots, and return their number.

    The states are of two kinds. With the pivot ``MIDDLE`` (:mod:`tbgen.verify.kernels.results`), a fresh
    state belongs to the layer if the position rank is at least the layer's rank; else, if the position score
    is the layer's accrued score. The other states are those that :func:`stores_state` accepts. If results
    may deviate from those of the best moves in one direction (``game.deviation`` is not 0), only the states
    that :func:`has_entry` accepts are proved. In whole-game mobility, each position has only its fresh state,
    and the pivot of the layer is ``MIDDLE``.
    """
    states = 0
    for first_slot in range(part[0], part[1], 64):
        for side in range(2):
            positions = _states_of_word(game, accrued, first_slot, side)
            if positions == ZERO:
                continue
            ply = find_best(game, first_slot, side, accrued.pivot, positions, scratch)
            while positions:
                position = first_bit(positions)
                positions &= positions - ONE
                index = first_slot + position
                slot = game.base + first_slot + position
                states += 1
                pivot = state_pivot(game, int64(game.rank[side, index]), side, accrued.pivot)
                stored = int64(game.grade[side, index])
                if not game.has_score_resets:
                    stored = grade_of(int64(game.value[side, slot]), int64(game.depth[side, slot]), pivot)
                expected = state_grade(game, ply, position, pivot, scratch)
                deviation = stored - expected
                if deviation != 0 and deviation * game.deviation >= 0:  # it is not allowed
                    record(scratch, WRONG, (0, side, slot), pivot, stored, expected)
    return states


@inlined
def _states_of_word(game: ProofGame, accrued: Accrued, first_slot: int, side: int) -> Bitboard:
    """The proved states of a layer, in the word at ``first_slot`` of the batch, with one side to move."""
    rank = accrued.rank
    slot = game.base + first_slot
    ranks = game.rank[side]
    fresh = ZERO
    if accrued.pivot == MIDDLE:
        fresh = between(ranks, first_slot, rank, NO_RANK - 1)
    elif position_worth(rank, side) == accrued.pivot:
        fresh = between(ranks, first_slot, rank, rank)
    others = ZERO
    if game.max_rank[first_slot >> 6] >= rank:
        others = between(ranks, first_slot, rank, NO_RANK - 1) & between(
            game.value[side], slot, rank, 255 - rank
        )
    positions = fresh | others if game.deviation == 0 else others
    return _selected(game.selected, side, first_slot, positions)


@inlined
def _selected(selected: NDArray[np.bool_], row: int, first_slot: int, positions: Bitboard) -> Bitboard:
    """The selected positions among some positions of a word. The word begins at ``first_slot`` in a row of
    ``selected``, whose columns are slots; if the array is empty, all positions are selected."""
    chosen = positions
    remaining = positions if selected.size else ZERO
    while remaining:
        position = first_bit(remaining)
        remaining &= remaining - ONE
        if not selected[row, first_slot + position]:
            chosen &= ~bit(position)
    return chosen


@kernel
def prove_en_passant(game: ProofGame, accrued: Accrued, scratch: ProofScratch) -> int:
    """Prove the states of a layer at the en passant positions of the batch, and return their number.

    En passant positions have only fresh states.
    """
    entries, size = game.en_passant, game.men.phase_size
    states = 0
    for row in range(entries.config.shape[0]):
        start = int64(entries.config[row, 0]) * size - game.base
        square = int64(entries.config[row, 1])
        side = 1 if square < 32 else 0
        ranks = entries.rank[row]
        is_own = accrued.pivot == MIDDLE or position_worth(accrued.rank, side) == accrued.pivot
        if not 0 <= start < game.grade.shape[1] or not is_own:
            continue
        max_rank = NO_RANK - 1 if accrued.pivot == MIDDLE else accrued.rank
        for first_slot in range(0, size, 64):
            positions = between(ranks, first_slot, accrued.rank, max_rank)
            positions = _selected(entries.selected, row, first_slot, positions)
            if positions == ZERO:
                continue
            ply = find_best(game, start + first_slot, side, accrued.pivot, positions, scratch)
            raise_by_en_passant(game, ply, square, positions, scratch)
            while positions:
                position = first_bit(positions)
                positions &= positions - ONE
                states += 1
                index = first_slot + position
                pivot = state_pivot(game, int64(ranks[index]), side, accrued.pivot)
                stored = grade_of(int64(entries.value[row, index]), int64(entries.depth[row, index]), pivot)
                expected = state_grade(game, ply, position, pivot, scratch)
                if stored != expected:
                    record(scratch, WRONG, (1, side, row * size + index), pivot, stored, expected)
    return states
