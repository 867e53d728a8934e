"""Which slots hold positions, and the rank of each: all about a table that needs no values of moves."""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.kernels.best import NO_RANK, ProofGame, Range, canonical_slot_of
from tbgen.verify.kernels.bitboards import ZERO, Board, bit
from tbgen.verify.kernels.findings import ENDED, MISSING, NOWHERE, Place, ProofScratch, note
from tbgen.verify.kernels.keys import key_of, level_of
from tbgen.verify.kernels.moves import attacked, legal_moves, legal_targets, place, takers_en_passant


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
