"""Making the arrays that the kernels work on: room for one phase of a table, and what its men are.

And from the canonical slots of a stored table to all its slots.
"""

import mmap
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tbgen.board.kinds import KINDS
from tbgen.board.variant import Resets, Variant, unlisted
from tbgen.compiler.jit import python_of
from tbgen.index.layout import MIRROR_FILES, SIDES, Layout
from tbgen.retro.geometry import ORTHODOX, movement_of
from tbgen.retro.kernels.best_exits import Exits, OneExit
from tbgen.retro.kernels.canonical import canonical_words, expand_words
from tbgen.retro.kernels.en_passant import Right
from tbgen.retro.kernels.frame import Frame, Phase
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.moves import MOST_MOVES, MOST_SCALARS, SLICES, MovesFound
from tbgen.retro.kernels.sweep import BATCH, Attacker, Scratch, Sets, SweepResults
from tbgen.retro.kernels.targets import room_for_men
from tbgen.retro.kernels.words import ALL, Codes, Ints, Words
from tbgen.system.memory import use_large_pages

# Allocators align to 16 bytes. A record of 64 bytes then lies across two cache lines, only one of which a
# prefetch brings, and every visit takes both. Large arrays have memory of their own, straight from the system
# and in large pages. It is taken by the threads that write to it, all at once.
LINE: Final = 64
"""Bytes of a cache line."""
_LARGE: Final = 4 << 20
"""Bytes from which on an array is large."""
_MOST_NODES: Final = 1 << 32
"""Events keep nodes in four bytes."""


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of this shape that begins with a cache line; its memory is taken when it is
    written to.

    :raises MemoryError: if there is too little.
    """
    size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if size >= _LARGE:
        return np.frombuffer(_own_memory(size), dtype, size // np.dtype(dtype).itemsize).reshape(shape)
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(dtype).reshape(shape)


def _own_memory(size: int) -> mmap.mmap:
    """Return so many bytes of memory that nobody else uses; it goes back to the system with its arrays."""
    try:
        memory = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise MemoryError(f"no {size} bytes of memory: {error}") from error
    use_large_pages(memory)
    return memory


def frame_of(layout: Layout) -> Frame:
    """Return a frame without pawns on it; ``place_pawns`` sets them for one phase."""
    scalars = layout.free - 1
    colours = np.array(layout.colours, np.int64)
    kinds = layout.material.kinds
    return Frame(
        ORTHODOX if kinds is KINDS else movement_of(kinds),
        np.array(layout.kinds, np.int64),
        colours,
        colours,
        np.array([6 * (scalars - 1 - man) for man in range(scalars)], np.int64),
        np.zeros(scalars, np.int64),
        ALL,
        scalars,
        not layout.pawns,
        layout.phase_size // 64,
        np.zeros(2, np.uint64),
        np.zeros((0, 4), np.int64),
        _like_scalars(layout),
    )


def _like_scalars(layout: Layout) -> Ints:
    """Return the ranges of like scalars as int64 (n, 2).

    There are none with pawns, whose moves lead to slots with like men in any order.
    """
    ranges = [(first, min(stop, layout.free - 1)) for first, stop in layout.like_men if not layout.pawns]
    return np.array([each for each in ranges if each[1] - each[0] > 1], np.int64).reshape(-1, 2)


def place_pawns(frame: Frame, layout: Layout, phase: int) -> None:
    """Set the frame's pawns to those of a phase."""
    placement = layout.placements[phase]
    for colour, squares in enumerate((placement[: layout.white_pawns], placement[layout.white_pawns :])):
        frame.pawns[colour] = sum(1 << square for square in squares)


def like_men(layout: Layout) -> Ints:
    """Return the ranges of like free men as int64 (n, 2)."""
    return np.array(layout.like_men, np.int64).reshape(-1, 2)


def mirrors_itself(layout: Layout, phase: int) -> bool:
    """Whether a pawn placement is its own mirror image."""
    placement = layout.placements[phase]
    return bool(placement) and layout.placement_of(placement, MIRROR_FILES) == placement


def make_sets(words: int, left: Codes, changed: Words) -> Sets:
    """Return empty sets for one attacker."""
    wanted, ready, caught = zeros((3, words), np.uint64)
    return Sets(wanted, left, ready, caught, changed)


def make_scratch(words: int, parts: int) -> Scratch:
    """Return working memory for one attacker whose sweeps are shared out among ``parts``."""
    marks, room = words // 64 + 1, (parts, BATCH + MOST_MOVES)
    # Neighbouring squares to different parts, so that these have about the same to do.
    part_of = np.array([(square + square // 8) % parts for square in range(64)], np.int64)
    squares = np.bincount(part_of, minlength=parts)
    return Scratch(
        zeros((2, words), np.uint64),
        np.zeros((2, marks), np.uint64),
        np.zeros((parts, 2, marks // 64 + 1), np.uint64),
        np.empty((2, 2 * words), np.int32),
        np.empty((2, 2 * words), np.uint64),
        np.zeros((parts, 2), np.int64),
        2 * words * np.concatenate([[0], np.cumsum(squares)]) // 64,
        part_of,
        np.zeros(parts, np.int64),
        np.zeros((parts, 2, marks), np.uint64),
        MovesFound(
            np.empty(room, np.int64),
            np.empty(room, np.uint64),
            np.empty(room, np.int64),
            np.empty((parts, MOST_SCALARS), np.int64),
        ),
        OneExit(room_for_exits(1), python_of(room_for_men)(), np.empty(SLICES, np.uint64)),
        np.zeros(1, np.int64),
    )


def make_phase(words: int, score_resets: bool) -> Phase:
    """Return room for one phase.

    :raises OverflowError: if it has more nodes than events have numbers for.
    """
    if (nodes := 2 * 64 * words) > _MOST_NODES:
        raise OverflowError(f"{nodes} nodes are more than the {_MOST_NODES} that four bytes can number")
    legal, alive, settled = zeros((3, 2, words), np.uint64)
    return Phase(
        legal,
        alive,
        settled,
        zeros((2, words, SLICES), np.uint64),
        zeros(words, np.uint64),
        zeros((2, 64 * words), np.uint8),
        score_resets,
    )


def make_attacker(side: int, frame: Frame, phase: Phase, parts: int) -> Attacker:
    """Return room for the attacker ``side``, 0 White or 1 Black, in one phase; its sweeps are shared out
    among ``parts``."""
    words = frame.words
    layered, changed = words if phase.score_resets else 0, zeros((2, words), np.uint64)
    values, depths = zeros(128 * layered, np.uint8), zeros(128 * layered, np.uint16)
    return Attacker(
        side,
        frame,
        phase,
        make_sets(words, phase.quiet[1 - side], changed),
        make_sets(layered, zeros(64 * layered, np.uint8), changed),
        make_scratch(words, parts),
        SweepResults(values, depths, np.array([0, 64 * words], np.int64)),
        zeros((2, layered), np.uint64),
        zeros((2, layered), np.uint64),
        np.zeros(1, np.int64),
    )


def room_for_exits(size: int) -> Exits:
    """Return room for the exits of ``size`` positions, not filled in."""
    return Exits(np.empty(size, np.uint8), np.empty(size, np.uint16), np.empty(size, np.uint16))


def room_for_right(size: int) -> Right:
    """Return room for the positions of a phase of that size, not filled in."""
    return Right(np.empty(size, np.uint8), room_for_exits(size))


def score_resets(variant: Variant) -> bool:
    """Tell which of the games that the kernels solve a variant is: whether captures and pawn moves reset the
    accrued score (:attr:`Phase.score_resets`), or nothing does.

    :raises UsageError: if it is neither.
    """
    match variant.resets:
        case Resets.ZEROING_MOVES:
            return True
        case Resets.NOTHING:
            return False
        case other:
            raise unlisted(other)


def make_workspace(layout: Layout, variant: Variant, parts: int = 1) -> Workspace:
    """Return room to solve any phase of a layout in a variant.

    Sweeps are shared out among at most ``parts``, between 1 and 64; where Black's king does not stand on one
    square in 64 neighbouring words there is only one.
    """
    frame = frame_of(layout)
    return workspace_of(frame, score_resets(variant), like_men(layout), parts if frame.scalars > 2 else 1)


def workspace_of(frame: Frame, resets: bool, like: Ints, parts: int = 1) -> Workspace:
    """Return room to solve phases of a frame; results take the room of the exits if captures and pawn moves
    reset the accrued score."""
    phase = make_phase(frame.words, resets)
    white, black = (make_attacker(side, frame, phase, parts) for side in SIDES)
    if resets:
        exits = Exits(white.results.value, white.results.depth, black.results.depth)
    else:
        exits = room_for_exits(2 * frame.words * 64)
    return Workspace(frame, phase, (white, black), exits, like)


def expand(layout: Layout, phase: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
    """Copy the values and depths of a phase's canonical slots with one side to move (both (phase size,)) to
    all slots that stand for the same position."""
    like, mirrored = like_men(layout), mirrors_itself(layout, phase)
    if len(like) or mirrored or not layout.pawns:
        frame = frame_of(layout)
        canonical, all_slots = np.empty(frame.words, np.uint64), np.full(frame.words, ALL)
        canonical_words(frame, like, mirrored, canonical, 0, frame.words)
        expand_words(frame, like, mirrored, canonical, all_slots, value, depth, 0, frame.words)
