"""Finding the moves of a phase: ranks, numbers of quiet moves, exits and canonical slots."""

import numpy as np

from tbgen.board.score import NONE
from tbgen.compiler.jit import jit, kernel
from tbgen.moves.kernels.best_exits import ExitSearch, record_exits, reset_exits
from tbgen.moves.kernels.canonical import mark_canonical
from tbgen.moves.kernels.frame import enter_word
from tbgen.moves.kernels.moves import (
    MAX_WORD_MOVES,
    MOVE_SLICE,
    SLICES,
    MoveBuffer,
    count_quiet_moves,
    move_buffer,
)
from tbgen.moves.kernels.words import ALL, ZERO, Codes, Plies, Words, add, put
from tbgen.moves.structs import Exits, Men, PhaseMoves, Pool


@kernel
def _count_moves_and_find_exits(
    moves: PhaseMoves, pool: Pool, buffer: MoveBuffer, men: Men, start: int, stop: int
) -> None:
    """Implement ``prepare_words`` except for the canonical slots; ``buffer`` and ``men`` are scratch
    memory."""
    frame, phase = moves.frame, moves.phase
    for word in range(start, stop):
        for side in range(2):
            legal = phase.legal[side, word]
            other = phase.legal[1 - side]
            slices = phase.rank_bits[side, word]
            slices[:] = ZERO
            if legal:
                slices[0] = legal & other[word]
                count_quiet_moves(frame, word, side, legal, other, buffer, slices)
                put(phase.quiet_counts[side], word * 64, ALL, 0)
                for index in range(MOVE_SLICE, SLICES):
                    add(phase.quiet_counts[side], word * 64, slices[index], 1 << (index - MOVE_SLICE))
            first_slot = (side * frame.words + word) * 64
            exits = moves.exits
            reset_exits(exits, first_slot)
            if legal:
                occupied = enter_word(frame, word, men)
                record_exits(
                    ExitSearch(
                        frame, pool, exits, side, first_slot, legal, occupied, men, slices, False, True
                    )
                )
            phase.alive[side, word] = legal


@jit
def prepare_words(moves: PhaseMoves, pool: Pool, symmetric: bool, men: Men, start: int, stop: int) -> None:
    """Find ranks, numbers of quiet moves, exits and canonical slots of the words ``start`` to ``stop`` - 1.

    ``alive`` is set to the legal positions. ``symmetric`` says whether the pawns of the phase are their own
    mirror image. ``mark_legal`` must already have processed all words of the phase. ``men`` is
    scratch memory.
    """
    _count_moves_and_find_exits(moves, pool, move_buffer(MAX_WORD_MOVES), men, start, stop)
    mark_canonical(moves.frame, moves.like_men, symmetric, moves.phase.canonical, start, stop)


@jit
def find_side_exits(
    moves: PhaseMoves,
    pool: Pool,
    side: int,
    captures_only: bool,
    among: Words,
    exits: Exits,
    men: Men,
    start: int,
    stop: int,
) -> None:
    """Find the exits of the positions with ``side`` to move, in the words ``start`` to ``stop`` - 1.

    Positions of ``among``, uint64 (words,), get their best zeroing move, or their best capture if
    ``captures_only``. Other positions have no exit. ``exits`` is the output, with one element for each slot.
    ``men`` is scratch memory.
    """
    frame = moves.frame
    legal = moves.phase.legal[side]
    slices = np.empty(SLICES, np.uint64)
    for word in range(start, stop):
        mask = legal[word] & among[word]
        first_slot = word * 64
        reset_exits(exits, first_slot)
        if mask:
            occupied = enter_word(frame, word, men)
            search = ExitSearch(
                frame, pool, exits, side, first_slot, mask, occupied, men, slices, captures_only, False
            )
            record_exits(search)


@kernel
def clear_images(canonical: Words, value: Codes, depth: Plies) -> None:
    """Clear the values and depths of the slots that are not canonical."""
    for word in range(len(canonical)):
        put(value, word * 64, ~canonical[word], NONE)
        put(depth, word * 64, ~canonical[word], 0)
