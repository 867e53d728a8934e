"""What is checked of positions and states: which slots hold positions, their ranks, and their values.

Legality and ranks need no values of moves. A state has to be what the best move makes of it.
"""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.kernels.best import (
    NO_RANK,
    ProofGame,
    Range,
    canonical_slot_of,
    is_claimed,
    level_held,
    right_key,
)
from tbgen.verify.kernels.moves import (
    ZERO,
    Board,
    attacked,
    bit,
    legal_moves,
    legal_targets,
    place,
    takers_en_passant,
)
from tbgen.verify.kernels.results import (
    ENDED,
    MIDDLE,
    MISSING,
    NOWHERE,
    WRONG,
    Accrued,
    Place,
    ProofScratch,
    key_of,
    level_of,
    note,
)


@kernel
def survey(game: ProofGame, part: Range, scratch: ProofScratch) -> int:
    """Put the rank of every canonical legal position of a range of slots into ``game.rank``; return their
    number."""
    positions = 0
    for slot in range(part[0], part[1]):
        occupied = place(game.men, slot, scratch.squares)
        canonical = occupied != ZERO and (game.is_cell or canonical_slot_of(game, scratch) == slot)
        for side in range(2):
            own = _rank(game, side, occupied, 0, scratch) if canonical else NO_RANK
            game.rank[side, slot] = own
            positions += own != NO_RANK
    return positions


@inlined
def _rank(game: ProofGame, side: int, occupied: Board, captures: int, scratch: ProofScratch) -> int:
    """Rank of the position on ``scratch.squares`` with some en passant captures besides its other moves,
    ``NO_RANK`` if it is not legal."""
    men, squares = game.men, scratch.squares
    if attacked(men, squares, occupied, squares[men.king[1 - side]], side):
        return NO_RANK
    check = legal_targets(men, squares, occupied, side, scratch.targets)
    return 2 * (legal_moves(men, scratch.targets) + captures) + (0 if check else 1)


@kernel
def compare(game: ProofGame, part: Range, scratch: ProofScratch) -> int:
    """Compare the values of a range of slots with the ranks that :func:`survey` has found.

    A position without a value, a value without a position and a wrong value of an ended game are findings.
    Return the number of values.
    """
    values = 0
    for slot in range(part[0], part[1]):
        for side in range(2):
            own, code = int64(game.rank[side, slot]), int64(game.value[side, slot])
            _compare(scratch, (0, side, slot), own, code, int64(game.depth[side, slot]))
            values += code != NONE
    return values


@kernel
def survey_en_passant(game: ProofGame, scratch: ProofScratch) -> int:
    """Do both for positions with an en passant right; return their number."""
    entries, size = game.en_passant, game.men.phase_size
    positions = 0
    for row in range(entries.config.shape[0]):
        phase, square = int64(entries.config[row, 0]), int64(entries.config[row, 1])
        for index in range(size):
            own = _en_passant_rank(game, phase * size + index, square, scratch)
            entries.rank[row, index] = own
            positions += own != NO_RANK
            where = 1, (1 if square < 32 else 0), row * size + index
            code, depth = int64(entries.value[row, index]), int64(entries.depth[row, index])
            _compare(scratch, where, own, code, depth)
    return positions


@inlined
def _compare(scratch: ProofScratch, where: Place, rank: int, code: int, depth: int) -> None:
    """Note what is wrong with a stored value, apart from the moves."""
    if rank == NO_RANK:
        if code != NONE or depth != 0:
            note(scratch, NOWHERE, where, 0, key_of(code, depth, 0), 0)
    elif code == NONE:
        note(scratch, MISSING, where, 0, 0, 0)
    elif rank < 2:
        level = level_of(rank, where[1])
        stored, right = key_of(code, depth, level), level << 16
        if stored != right:
            note(scratch, ENDED, where, level, stored, right)


@inlined
def _en_passant_rank(game: ProofGame, slot: int, square: int, scratch: ProofScratch) -> int:
    """Rank of a position with the right to capture on ``square``, ``NO_RANK`` if it is not one."""
    side = 1 if square < 32 else 0
    occupied = place(game.men, slot, scratch.squares)
    origin = square + 8 - 16 * side
    if occupied == ZERO or occupied & (bit(square) | bit(origin)) or canonical_slot_of(game, scratch) != slot:
        return NO_RANK
    captures = takers_en_passant(game.men, scratch.squares, occupied, side, square)
    return _rank(game, side, occupied, captures, scratch) if captures else NO_RANK


@kernel
def prove(game: ProofGame, accrued: Accrued, part: Range, scratch: ProofScratch) -> int:
    """Prove the states of a layer at a range of window slots.

    These are the positions of the layer's rank or more whose own score is worth its level (``MIDDLE``: all),
    and those with a value of such rank that have inherited the accrued score; only those that are claimed
    where claims may be less than what follows. In whole-game mobility each position has one state, that of
    its own score, and the level is ``MIDDLE``. Return the number of states.
    """
    states = 0
    for index in range(part[0], part[1]):
        slot = game.base + index
        for side in range(2):
            own = int64(game.rank[side, slot])
            if not _is_asked(own, accrued) or (game.selected.size and not game.selected[side, slot]):
                continue
            code = int64(game.value[side, slot])
            fresh = game.allowed == 0 and _is_fresh(own, side, accrued)
            if not (fresh or is_claimed(game, own, code, accrued, side)):
                continue
            states += 1
            level, stored = level_held(game, own, side, accrued.level), int64(game.key[side, index])
            if not game.score_resets:
                stored = key_of(code, int64(game.depth[side, slot]), level)
            right = right_key(game, slot, side, -1, level, scratch)
            if stored != right if game.allowed == 0 else (stored - right) * game.allowed > 0:
                note(scratch, WRONG, (0, side, slot), level, stored, right)
    return states


@kernel
def prove_en_passant(game: ProofGame, accrued: Accrued, scratch: ProofScratch) -> int:
    """The same for the en passant positions of the window, whose only states are the fresh ones."""
    entries, size = game.en_passant, game.men.phase_size
    states = 0
    for row in range(entries.config.shape[0]):
        start, square = int64(entries.config[row, 0]) * size, int64(entries.config[row, 1])
        side = 1 if square < 32 else 0
        if not 0 <= start - game.base < game.key.shape[1]:
            continue
        for index in range(size):
            own = int64(entries.rank[row, index])
            if not (_is_asked(own, accrued) and _is_fresh(own, side, accrued)):
                continue
            if entries.selected.size and not entries.selected[row, index]:
                continue
            states += 1
            level = level_held(game, own, side, accrued.level)
            stored = key_of(int64(entries.value[row, index]), int64(entries.depth[row, index]), level)
            right = right_key(game, start + index, side, square, level, scratch)
            if stored != right:
                note(scratch, WRONG, (1, side, row * size + index), level, stored, right)
    return states


@inlined
def _is_asked(own: int, accrued: Accrued) -> bool:
    """Whether there is a position, of the rank of a layer or more."""
    return accrued.rank <= own != NO_RANK


@inlined
def _is_fresh(own: int, side: int, accrued: Accrued) -> bool:
    """Whether the state of a position with this rank and side to move in a layer is its fresh one."""
    return accrued.level == MIDDLE or level_of(own, side) == accrued.level
