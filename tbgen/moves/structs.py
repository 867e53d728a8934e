"""Structures for the moves of men, the positions of a phase, and the positions after zeroing moves.

This module does not import numba, nor the arrays of :mod:`tbgen.moves.geometry`, which take time to make.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN
from tbgen.compiler.structs import Codes, Ints, Plies, Struct, Word, Words
from tbgen.index.zeroing import PROMOTED

MAX_TARGETS = 63
"""Greatest number of squares to which one man can move."""
NO_PAIR, IMAGE_PAIR = -1, -2
"""Elements of ``Frame.pair_numbers`` for king pairs without a number: pairs without legal positions, and
pairs whose image has a number."""

FROZEN = 2
"""Element of ``Frame.mover_colours``, instead of a colour, for a man that does not move within the phase."""

NO_DIGIT = 62
"""Shift of a scalar without a digit in the word number: it shifts every word number to 0."""
NO_PROVER = -1
"""Value of ``Pool.prover`` for a pool of values."""
NO_EXIT = 65535
"""Value of ``Exits.min_depth`` for a position without an exit."""


@dataclass(frozen=True, eq=False)
class Movement(Struct):
    """The moves of some kinds of men. The first axis of each array is the kind."""

    way_count: Ints
    """int64 (kinds,): number of *ways* of a man. A way is a direction in which the man leaps or rides."""
    leap_count: Ints
    """int64 (kinds,): number of ways that are leaps (of one step). These ways come before the rides."""
    way_squares: NDArray[np.int8]
    """int8 (kinds, 64, max ways, 8): squares on each way of a man, by kind, square of the man and way. The
    first element is the number of squares; the squares follow, nearest first."""
    length: Ints
    """int64 (kinds, max ways): greatest number of steps on a way."""
    rotation: Words
    """uint64 (kinds, max ways): number of bits by which a step rotates a word."""
    landing: Words
    """uint64 (kinds, max ways): squares on which a step can end."""
    shared_steps: Ints
    """int64 (kinds, max ways): bit n is set if, whenever n steps of this ride are possible, another way leads
    to the same square. The move is then counted only on the other way."""
    has_shared_steps: bool
    """Whether any bit of ``shared_steps`` is set."""
    leap_targets: Ints
    """int64 (kinds, 64, 1 + max leaps): number of squares to which a man leaps, followed by these squares."""
    attacks: Words
    """uint64 (kinds, 64): squares that a man attacks on an empty board."""
    passed_squares: Words
    """uint64 (kinds, 64, 64): squares that must be empty for a move from one square to another."""


@dataclass(frozen=True, eq=False)
class Targets(Struct):
    """The directory of the pool of a table.

    A *target* is the material that one type of move leads to. The side to move, the captured man and the
    promotion determine the type. Unless stated otherwise, arrays are indexed by target.
    """

    number: Ints
    """int64 (2, CAPTURED_PAWN + 1, 5): number of the target of a move, by side to move, captured man and kind
    of the promoted man. An index of 0 stands for no captured or promoted man."""
    swapped: Ints
    """int64: 1 if the colours are swapped in the target, else 0."""
    free_count: Ints
    """int64: number of free men."""
    source: Ints
    """int64 (targets, MAX_MEN): index in ``Men.squares`` of each free man of the target."""
    pawn_count: Ints
    """int64: number of pawns."""
    phase_size: Ints
    """int64: number of slots of a phase."""
    block_at: Ints
    """int64: index in ``start`` of the first block of the target. Each phase has a block."""
    start: Ints
    """int64 (blocks, 2): index in the pool of the first slot of a block, by side to move in the target; -1 if
    the block is not in the pool."""
    rows_at: Ints
    """int64: index in ``rows`` of the first pawn placement of the target."""
    rows: NDArray[np.int32]
    """int32: twice the phase, plus one if it is mirrored. The pawn squares are the digits, in base 64, of the
    index."""
    ep_row: NDArray[np.int32]
    """int32 (phases, 16): row of an en passant configuration, -1 if there is none. The second index is the
    file of the pawn that can be captured, plus 8 if this pawn is Black's."""
    ep_offset: int
    """Index in the pool of the first en passant position."""


@dataclass(frozen=True, eq=False)
class Men(Struct):
    """The men after a move, for all squares of the bit man at once."""

    squares: Ints
    """int64 (32,): squares of the men. At most one remaining man has the square ``VARIABLE``. The last
    element is the square of a promoted man."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns."""
    scratch: Ints
    """int64 (MAX_MEN,): scratch memory of ``slots_after``."""


def make_men() -> Men:
    """Return buffers for the men of a position."""
    return Men(np.zeros(PROMOTED + 1, np.int64), np.zeros(2, np.uint64), np.zeros(MAX_MEN, np.int64))


@dataclass(frozen=True, eq=False)
class Routes(Struct):
    """The directory of the pool of a cell: the blocks to which moves out of the cell lead.

    The *route* of a move is the change of pawns, frozen men and mobile men, encoded as ``((origin * 65 +
    target) * ROUTE_VICTIMS + victim) * KIND_COUNT + promotion``:

    - ``origin`` is the square from which a pawn or frozen man moves, ``NO_SQUARE`` if a mobile man moves;
    - ``target`` is the square to which this man moves; if a mobile man moves, the square of the pawn or
      frozen man that it captures; ``NO_SQUARE`` if there is neither;
    - ``victim`` is 1 + the index of the captured mobile man, or of the mobile man that captures a pawn or
      frozen man; 0 if there is neither.

    The block of a route contains the positions that the route leads to. They are numbered by the squares of
    the mobile men except ``victim``, in order.
    """

    block: NDArray[np.int16]
    """int16 (ROUTE_COUNT,): index of the block of each route; empty in pools of tables."""
    start: Ints
    """int64: index in the pool of each block's first slot; -1 - code if a bound with this code replaces the
    block."""
    frozen: Ints
    """int64 (free,): square of each frozen man of the frame, -1 for mobile men."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns in the cell."""
    unknown_code: int
    """Code to use where a block contains NONE, because the value is unknown."""


@dataclass(frozen=True, eq=False)
class Pool(Struct):
    """Values and depths of all targets, with their directory."""

    value: Codes
    """uint8 codes."""
    depth: Plies
    """uint16 plies; empty if depths are not computed."""
    targets: Targets
    routes: Routes
    proofs: Words
    """uint64 (n,): instead of values, whether the prover of one end of a cell has proved the threshold for
    each target; block starts then count bits, and are multiples of 64, ``NOTHING_PROVED`` or ``ALL_PROVED``.
    Empty in pools of values."""
    prover: int
    """The side that proves the threshold, 0 White or 1 Black; ``NO_PROVER`` in pools of values."""


@dataclass(frozen=True, eq=False)
class Frame(Struct):
    """The geometry of one phase."""

    moves: Movement
    """The moves of the kinds of the free men."""
    kinds: Ints
    """int64 (free,): index of the kind of each free man in ``moves``."""
    colours: Ints
    """int64 (free,): colour of each free man, 0 White, 1 Black."""
    mover_colours: Ints
    """int64 (free,): colour of each free man that moves within the phase, ``FROZEN`` for a frozen man."""
    shifts: Ints
    """int64 (free - 1,): shift of each scalar's square in the word number, ``NO_DIGIT`` for a frozen scalar.
    If there are no pawns, the kings have the shift of their pair."""
    frozen_squares: Ints
    """int64 (free - 1,): square of each frozen scalar, 0 for each mobile scalar."""
    bit_man_squares: Word
    """Squares on which the bit man may stand."""
    scalars: int
    """Number of scalars."""
    pawnless: bool
    """Whether the material has no pawns. White's king is then in the triangle."""
    king_pairs: Ints
    """int64 (pairs, 2): squares of White's and Black's king in each pair; no pairs if there are pawns. If
    Black's king is the bit man, its element is 0."""
    pair_numbers: Ints
    """int64 (10, 64): number of each pair, by the triangle coordinate of White's king and the square of
    Black's king; ``NO_PAIR`` or ``IMAGE_PAIR`` for a pair without a number."""
    words: int
    """Number of words for one side to move."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns in this phase."""
    castlings: Ints
    """int64 (n, 4): castling rights. Each row contains the indices of king and rook, then their squares after
    castling. Both men are frozen, because the right is lost when either of them moves."""
    like_scalars: Ints
    """int64 (n, 2): half-open ranges of like scalars, which have the same kind and colour. Only words in
    which like scalars are sorted by square are solved; all others have no positions marked as legal."""


@dataclass(frozen=True, eq=False)
class Phase(Struct):
    """Data of one phase that both attackers share. Each set is uint64 (2, words), by side to move."""

    legal: Words
    """Legal positions."""
    alive: Words
    """Positions still in the layers."""
    departed: Words
    """Positions that have left the layers since the last inner sweeps: those settled last and, after the next
    outer sweeps, also those that the outer sweeps have decided. If one layer is solved alone, these are the
    positions outside the layer to which positions in the layer can move."""
    rank_bits: Words
    """uint64 (2, words, SLICES): bit-sliced ranks (``tbgen.moves.kernels.moves``)."""
    canonical: Words
    """uint64 (words,): canonical slots."""
    quiet_counts: Codes
    """uint8 (2, 64 * words): numbers of quiet moves; the outer sweeps decrement them."""
    score_resets: bool
    """Whether captures and pawn moves reset the accrued score. If not, there are no layers and no inner
    sweeps."""


@dataclass(frozen=True, eq=False)
class Exits(Struct):
    """The best exit of each position. The arrays have one element per node (docs/glossary.md)."""

    value: Codes
    """uint8: codes of the values. If depths are not computed, NONE marks positions without an exit."""
    min_depth: Plies
    """uint16: smallest depths in plies, NO_EXIT for positions without an exit; empty if depths are not
    computed."""
    max_depth: Plies
    """uint16: greatest depths in plies; empty if depths are not computed."""


SpareMemory = tuple[Exits, Codes]
"""Memory that a solved phase leaves free: for the exits with one side to move, and a byte for each slot."""


@dataclass(frozen=True, eq=False)
class PhaseMoves(Struct):
    """The positions of one phase, with their moves."""

    frame: Frame
    phase: Phase
    exits: Exits
    """The best exits of the positions with White to move, then of those with Black to move."""
    like_men: Ints
    """int64 (n, 2): half-open ranges of like men, which have the same kind and colour."""
