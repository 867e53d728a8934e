"""The states of one layer: whether each is what the best move makes of it."""

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.kernels.best import NO_RANK, ProofGame, Range, is_claimed, level_held, right_key
from tbgen.verify.kernels.findings import WRONG, ProofScratch, note
from tbgen.verify.kernels.keys import MIDDLE, Accrued, key_of, level_of


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
