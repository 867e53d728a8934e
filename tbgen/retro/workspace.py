"""Allocating the workspace of the kernels for one phase of a table, with the frame that describes its men.

Also the expansion of a table from its canonical slots to all slots.
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
from tbgen.retro.kernels.best_exits import ExitBuffer, Exits
from tbgen.retro.kernels.canonical import canonical_words, expand_words
from tbgen.retro.kernels.en_passant import Right
from tbgen.retro.kernels.frame import Frame, Phase
from tbgen.retro.kernels.functions import SlotNumbers
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.moves import MAX_SCALARS, MAX_WORD_MOVES, SLICES, MoveBuffer
from tbgen.retro.kernels.sweep import BATCH, Attacker, Scratch, Sets, SweepResults
from tbgen.retro.kernels.targets import men_buffer
from tbgen.retro.kernels.words import ALL, Codes, Ints, Words
from tbgen.system.memory import use_large_pages

# Allocators align to 16 bytes. A record of 64 bytes then usually lies in two cache lines: every access needs
# both, and a prefetch loads only one. Large arrays are mapped from the system in large pages, which the
# system allocates when threads first write to them, in parallel.
CACHE_LINE: Final = 64
"""Size of a cache line in bytes."""
_MIN_LARGE_BYTES: Final = 4 << 20
"""Size in bytes from which an array has a memory mapping of its own."""
_MAX_NODES: Final = 1 << 32
"""Number of nodes that can be numbered: events store nodes in four bytes."""


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros that is aligned to a cache line; the system allocates memory only for the
    pages that are written to.

    :raises MemoryError: if the system has too little memory.
    """
    size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if size >= _MIN_LARGE_BYTES:
        return np.frombuffer(_mapped_memory(size), dtype, size // np.dtype(dtype).itemsize).reshape(shape)
    buffer = np.zeros(size + CACHE_LINE, np.uint8)
    first = -buffer.ctypes.data % CACHE_LINE
    return buffer[first : first + size].view(dtype).reshape(shape)


def _mapped_memory(size: int) -> mmap.mmap:
    """Return ``size`` bytes of private memory, which the system gets back when the last array in it is
    deleted."""
    try:
        memory = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise MemoryError(f"cannot allocate {size} bytes of memory: {error}") from error
    use_large_pages(memory)
    return memory


def frame_of(layout: Layout) -> Frame:
    """Return the frame of a layout without pawns; ``place_pawns`` sets those of one phase."""
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

    A layout with pawns has none: moves of pawns lead to slots with like men in any order.
    """
    ranges = [(first, min(stop, layout.free - 1)) for first, stop in layout.like_men if not layout.pawns]
    return np.array([each for each in ranges if each[1] - each[0] > 1], np.int64).reshape(-1, 2)


def place_pawns(frame: Frame, layout: Layout, phase: int) -> None:
    """Set the pawns of a frame to those of a phase."""
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


def make_sets(words: int, remaining: Codes, changed: Words) -> Sets:
    """Return empty sets for one attacker, with these arrays of counters and changes."""
    wanted, ready, caught = zeros((3, words), np.uint64)
    return Sets(wanted, remaining, ready, caught, changed)


def make_scratch(words: int, parts: int) -> Scratch:
    """Return scratch memory for one attacker whose sweeps are divided into ``parts``."""
    marks, moves_shape = words // 64 + 1, (parts, BATCH + MAX_WORD_MOVES)
    # Neighbouring squares belong to different parts, so that the parts have about equally much work.
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
        MoveBuffer(
            np.empty(moves_shape, np.int64),
            np.empty(moves_shape, np.uint64),
            np.empty(moves_shape, np.int64),
            np.empty((parts, MAX_SCALARS), np.int64),
        ),
        ExitBuffer(exit_buffers(1), python_of(men_buffer)(), np.empty(SLICES, np.uint64)),
        np.zeros(1, np.int64),
    )


def make_phase(words: int, score_resets: bool) -> Phase:
    """Return the sets and counters of one phase, all zeros.

    :raises OverflowError: if events cannot number all its nodes.
    """
    if (nodes := 2 * 64 * words) > _MAX_NODES:
        raise OverflowError(f"{nodes} nodes are more than the {_MAX_NODES} that four bytes can number")
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
    """Return the workspace of the attacker ``side`` (0 White, 1 Black) in one phase; its sweeps are divided
    into ``parts``."""
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


def slot_numbers(slots: int) -> SlotNumbers:
    """Return slot numbers for ``slots`` slots, all 0."""
    return SlotNumbers(zeros(slots, np.uint16), zeros(slots, np.uint16))


def exit_buffers(size: int) -> Exits:
    """Return uninitialized exits of ``size`` positions."""
    return Exits(np.empty(size, np.uint8), np.empty(size, np.uint16), np.empty(size, np.uint16))


def right_buffers(size: int) -> Right:
    """Return uninitialized arrays for an en passant right in a phase of ``size`` slots."""
    return Right(np.empty(size, np.uint8), exit_buffers(size))


def score_resets(variant: Variant) -> bool:
    """Return whether captures and pawn moves reset the accrued score in a variant
    (:attr:`Phase.score_resets`); in the other variant that the kernels solve, nothing does.

    :raises UsageError: if the kernels do not solve the variant.
    """
    match variant.resets:
        case Resets.ZEROING_MOVES:
            return True
        case Resets.NOTHING:
            return False
        case other:
            raise unlisted(other)


def make_workspace(layout: Layout, variant: Variant, parts: int = 1) -> Workspace:
    """Return the workspace in which any phase of a layout can be solved.

    :param parts: greatest number of parts of a sweep, 1 to 64. There is only one part if 64 neighbouring
        words have Black's king on different squares.
    """
    frame = frame_of(layout)
    return workspace_of(frame, score_resets(variant), like_men(layout), parts if frame.scalars > 2 else 1)


def workspace_of(frame: Frame, resets: bool, like: Ints, parts: int = 1) -> Workspace:
    """Return the workspace in which phases of a frame can be solved.

    The exits share the arrays of the results if captures and pawn moves reset the accrued score.
    """
    phase = make_phase(frame.words, resets)
    white, black = (make_attacker(side, frame, phase, parts) for side in SIDES)
    if resets:
        exits = Exits(white.results.value, white.results.depth, black.results.depth)
    else:
        exits = exit_buffers(2 * frame.words * 64)
    return Workspace(frame, phase, (white, black), exits, like)


def expand(layout: Layout, phase: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
    """Copy value and depth of each canonical slot of a phase to all slots that stand for the same position.

    :param value: uint8 (phase size,), with one side to move.
    :param depth: uint16 (phase size,), likewise.
    """
    like, mirrored = like_men(layout), mirrors_itself(layout, phase)
    if len(like) or mirrored or not layout.pawns:
        frame = frame_of(layout)
        canonical, all_slots = np.empty(frame.words, np.uint64), np.full(frame.words, ALL)
        canonical_words(frame, like, mirrored, canonical, 0, frame.words)
        expand_words(frame, like, mirrored, canonical, all_slots, value, depth, 0, frame.words)
