"""Structures that the kernels of packed tables read, and constants of the code in which tables are packed.

Rows are described in :mod:`tbgen.tables.kernels.rows`, blocks and their contexts in
:mod:`tbgen.tables.kernels.blocks`, questions in :mod:`tbgen.tables.kernels.questions`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.structs import Codes, Ints, Plies, Struct, Words

KING_CLASSES = 96
"""Number of king classes."""

TOTAL_BITS = 12
TOTAL = 1 << TOTAL_BITS
"""Sum of the shares of all symbols in a context."""
SEARCH_WIDTH = 16
"""Number of symbols whose intervals are searched at once."""

Bytes = NDArray[np.uint8]
Frequencies = NDArray[np.uint16]

LINE_BYTES = 64
"""Size in bytes of a *line* of a model, which is also that of a line in a processor's cache."""
LINE_EDGES = LINE_BYTES // 2
"""Number of uint16 elements of a line. The first ``SEARCH_WIDTH`` + 1 are edges."""
FIRST_SYMBOL = 2 * (SEARCH_WIDTH + 1)
"""Index of the first symbol among the bytes of a line."""
LINE_WORDS = LINE_BYTES // 4
"""Number of uint32 elements of a line. The last is the number of the line with the next symbols."""
MAX_CONTEXTS = (1 << 16) - 1
"""Maximum number of contexts of a model with shares of their own."""

MAX_BLOCK_ROWS = 64
MAX_BLOCK_SLOTS = 64 * MAX_BLOCK_ROWS

SELF = 0
"""Value symbol: the value is the position score, at depth 0."""
CAPTURE = 1
"""Value symbol: the best capture gives value and depth, and no position of the derived side depends on
this position."""
FIRST_VALUE = 2
"""First symbol of an explicit value. More frequent values have smaller symbols."""
NOWHERE = 255
"""Replaces the value symbol of a slot without a position."""

Levels = tuple[int, ...]
"""The number of contexts of the first level of a tree, and for each later level the number of contexts that
refine one context of the level before."""

VALUE_CLASSES = 32
"""Number of classes of the value symbol of the left or upper neighbour. All symbols from 30 on have class 30;
class 31 means that there is no neighbour."""
CORNER_CLASSES = 8
"""Number of classes of the value symbol of the corner. All symbols from 6 on have class 6; class 7 means that
there is no corner."""
VALUE_LEVELS = (4 * VALUE_CLASSES, VALUE_CLASSES, CORNER_CLASSES, KING_CLASSES)
"""Levels of the contexts of a value symbol: first the two hints (whether the side to move is in check, and
whether it attacks a man) and the left neighbour, then the upper neighbour, then the corner, then the king
class."""

SYMBOL_CLASSES = 16
"""Number of classes of the value symbol of the position itself. All symbols from 15 on have class 15."""
FROM_ONE, FROM_CORNER, FROM_NONE = 5, 6, 7
"""How the expected half depth of a position follows from the neighbours with its symbol, if the left and the
upper neighbour do not both have it: from one of these two, from the corner, or not at all. Smaller numbers
are classes of the difference between the half depths of the left and the upper neighbour."""
HALF_CLASSES = 108
"""Number of classes of half depths."""
DEPTH_LEVELS = (8 * SYMBOL_CLASSES, HALF_CLASSES, 4, 4, KING_CLASSES)
"""Levels of the contexts of a half depth: first the class of the position's value symbol and how the expected
half depth follows, then the class of the expected half depth, then the two hints, then how the corner
compares with the expected half depth, then the king class."""

FUNCTION_CLASSES = 32
"""Number of classes of the function of the left or upper neighbour. All functions from 30 on have class 30;
class 31 means that there is no neighbour."""
CORNER_FUNCTION_CLASSES = 16
"""Number of classes of the function of the corner. All functions from 14 on have class 14; class 15 means
that there is no corner."""
LEFT_CONTEXTS = SYMBOL_CLASSES * FUNCTION_CLASSES
"""Number of contexts of a function by the value symbol and the left neighbour."""
FUNCTION_LEVELS = (LEFT_CONTEXTS + 1, FUNCTION_CLASSES, CORNER_FUNCTION_CLASSES, KING_CLASSES)
"""Levels of the contexts of a function: first the classes of the position's value symbol and of the left
neighbour's function, then the class of the upper neighbour's function, then that of the corner's function,
then the king class.
The last context of the first level is that of the highest byte of a function's number."""
HIGH_BYTE_CONTEXT = LEFT_CONTEXTS * FUNCTION_CLASSES * CORNER_FUNCTION_CLASSES
"""Context of the highest byte of a function's number, on the last level but one. Its king class is 0."""
SAME_AS_LEFT, SAME_AS_UP, FUNCTION_ESCAPE = 253, 254, 255
"""Function symbols that do not stand for functions of the same number: the function is that of the left or
the upper neighbour, or its number follows as bytes."""

HALF_ESCAPE = 255
"""Symbol of a half depth: the half depth follows as bytes."""
HALF_DEPTH_BYTES = 2
"""Number of bytes of a half depth."""
MAX_STEPS = 5
"""Maximum number of steps of one kind that encode a position: a function symbol and four bytes."""

CAPTURE_FLAG = 0x8000
"""Flag in the depth of a position whose value symbol is CAPTURE."""

UNANSWERED = -2
"""Replaces a symbol that has not been decoded yet."""

SYMBOL, HALF_DEPTH, FUNCTION = range(3)
"""Columns of answers:

- the value symbol, DAMAGED or UNANSWERED
- half the depth, rounded down, if the symbol stands for a value, that is, if it is not SELF, CAPTURE, DAMAGED
  or UNANSWERED
- the number of the function, if the question asks for it
"""
ROW_QUESTIONS = 2 * 64
"""Number of questions about a row: two for each square of the row man."""
INDEX_BITS = 28
"""Number of bits of the index of a question in a batch."""

Flags = NDArray[np.bool_]

UNSTORED = -2
"""Replaces a value that is not stored because the best capture gives it."""
ORIGIN, TARGET, SLOT, PASSED = range(4)
"""Columns of a list of moves:

- the number of the position before the move
- the number of the *target*, which is the table after the move with its side to move
- the canonical slot after the move
- the square, as mapped in the target, that a pawn has passed in a double step, if this pawn can be captured
  en passant; else -1
"""
COLUMNS = 4
"""Number of columns of a list of moves."""
MAX_ZEROING = 64
"""Upper bound of the number of zeroing moves of a position: twelve for each pawn, and one capture for each
pair of other men."""


@dataclass(frozen=True, eq=False)
class Rows(Struct):
    """The rows of a table with one side to move, for the kernels."""

    side: int
    """The side to move, 0 White or 1 Black."""
    kinds: Ints
    """int64 (free,): kind of each free man, in the order of the layout."""
    colours: Ints
    """int64 (free,): colour of each free man, 0 White or 1 Black."""
    order: Ints
    """int64 (free,): free men in the order of the digits, most significant first; the row man is last."""
    men: Ints
    """int64 (free,): free men in the order of the layout."""
    like_men: Ints
    """int64 (n, 2): ranges of free men of the same kind and colour."""
    pawnless: bool
    """Whether the table has no pawns. The square of White's king is then restricted to the triangle."""
    rows_per_phase: int
    """Number of rows of one phase."""
    pawns: Words
    """uint64 (phases, 2): squares of White's and Black's pawns."""
    row_shift: int
    """Shift of the row man's square in a slot."""
    block_rows: int
    """Number of rows of a block, a power of two."""
    king_mask: int
    """63 if the row man is the king of the side to move, else 0."""
    is_symmetric: Ints
    """int64 (phases,): 1 if the placement of the phase is its own mirror image, else 0."""


@dataclass(frozen=True, eq=False)
class Model(Struct):
    """The shares of the symbols in each context.

    The symbols of a context are sorted by descending share. A line has up to ``SEARCH_WIDTH`` of them.
    """

    tree_node: NDArray[np.uint16]
    """uint16 (contexts,): the tree node of each context of the last level but one. Contexts without shares of
    their own, also on the last level, have the tree node of their parent."""
    divided: int
    """Number of tree nodes that the king class divides, at least 1. They have the smallest numbers. The
    number of any other tree node, less ``divided``, is the first line of the context."""
    first_line: NDArray[np.uint16]
    """uint16 (``KING_CLASSES`` * divided,): by king class, then by tree node, first line of the context."""
    edge: Frequencies
    """uint16 (lines * ``LINE_EDGES``,): in each line, the start of the first interval, then the end of each
    interval; ``TOTAL`` in unused places."""
    symbol: Bytes
    """uint8 (lines * ``LINE_BYTES``,): the memory of ``edge``; in each line, the symbols of the intervals."""
    next_line: NDArray[np.uint32]
    """uint32 (lines * ``LINE_WORDS``,): the memory of ``edge``; in each line, the number of the next line."""


@dataclass(frozen=True, eq=False)
class Stream(Struct):
    """The coded blocks. The bytes of each block are those of its value symbols, followed by those of its half
    depths, followed by those of its functions."""

    data: Bytes
    """uint8 (n,): the bytes of all blocks."""
    start: Ints
    """int64 (ceil(blocks / 64),): index of the first byte of every 64th block."""
    value_length: NDArray[np.uint16]
    """uint16 (blocks,): number of bytes of the value symbols of each block."""
    depth_length: NDArray[np.uint16]
    """uint16 (blocks,): number of bytes of the half depths of each block."""
    function_length: NDArray[np.uint16]
    """uint16 (blocks,): number of bytes of the functions of each block; 0 if all are function 0."""
    checksum: NDArray[np.uint16]
    """uint16 (blocks,): checksum of each block."""


@dataclass(frozen=True, eq=False)
class Coding(Struct):
    """The data needed to decode a table."""

    rows: Rows
    code: Codes
    """uint8 (symbols,): code of each value symbol; meaningless for SELF and CAPTURE."""
    escape_bytes: int
    """Number of bytes of a function number after FUNCTION_ESCAPE."""
    value_model: Model
    depth_model: Model
    function_model: Model
    stream: Stream
    entry_start: Ints
    """int64 (functions + 1,): index of the first entry of each function; the last element is the number of
    entries."""
    entry_accrued: Codes
    """uint8 (entries,): code of A."""
    entry_value: Codes
    """uint8 (entries,): code of V(P, A); NONE for A itself, FRESH for W."""


@dataclass(frozen=True, eq=False)
class Content(Struct):
    """The content of the stored side of a table. The arrays are indexed by slot."""

    value: Codes
    """uint8 (size,): codes of W."""
    depth: Plies
    """uint16 (size,): D in plies. CAPTURE_FLAG is set when a value that is not stored is decoded."""
    function_number: NDArray[np.uint32]
    """uint32 (size,): number of the function of each position; empty if the table has no functions."""
    omitted: Words
    """uint64 (size / 64,): positions whose values are not stored; empty if the blocks are to be decoded."""


@dataclass(frozen=True, eq=False)
class RowBlock(Struct):
    """A decoded block: at most ``MAX_BLOCK_ROWS`` rows of 64 slots."""

    masks: Words
    """uint64 (MAX_BLOCK_ROWS,): positions of each row; bit s stands for the square s of the row man."""
    checks: Words
    """uint64 (MAX_BLOCK_ROWS,): positions of each row in which the side to move is in check."""
    captures: Words
    """uint64 (MAX_BLOCK_ROWS,): positions of each row in which the side to move attacks a man."""
    kings: Ints
    """int64 (MAX_BLOCK_ROWS,): for each row, what its king classes have in common: a summand, and in the
    lowest 16 bits an index (``kings_of``)."""
    symbol: Bytes
    """uint8 (MAX_BLOCK_SLOTS,): value symbols; NOWHERE in slots without a position."""
    half_depth: Plies
    """uint16 (MAX_BLOCK_SLOTS,): half the depth of each explicit value."""
    function_number: NDArray[np.uint32]
    """uint32 (MAX_BLOCK_SLOTS,): number of the function of each position."""


@dataclass(frozen=True, eq=False)
class Buffers(Struct):
    """Buffers of one thread for encoding, decoding and looking up positions."""

    squares: Ints
    """int64 (MAX_MEN,): squares of the men in the current row or position."""
    child: Ints
    """int64 (MAX_MEN,): squares of the men after a move."""
    image: Ints
    """int64 (MAX_MEN,): squares of the men in the image of a position under a symmetry."""
    steps: Ints
    """int64 (3, MAX_STEPS * MAX_BLOCK_SLOTS): coding steps (symbols and bytes) of the value symbols, half
    depths and functions of a block in decoding order."""
    above: Ints
    """int64 (3, 64): symbol, half depth and function of the previous position in each column."""
    block: RowBlock


@dataclass(frozen=True, eq=False)
class Encoding(Struct):
    """The data needed to encode a table."""

    rows: Rows
    symbol_of_code: Ints
    """int64 (256,): value symbol of each code that occurs; -1 for other codes."""
    escape_bytes: int
    """Number of bytes of a function number after FUNCTION_ESCAPE."""
    value_model: Model
    depth_model: Model
    function_model: Model


@dataclass(frozen=True, eq=False)
class Batch(Struct):
    """Positions that are looked up together, with all questions about them."""

    is_derived: Flags
    """bool (n,): whether the derived side is to move."""
    slot: Ints
    """int64 (n,): canonical slots."""
    accrued: Ints
    """int64 (n,): codes of accrued scores, -1 for fresh states."""
    question_start: Ints
    """int64 (n,): index of the first question of each position."""
    question_end: Ints
    """int64 (n,): index after the last question of each position."""
    rank: Ints
    """int64 (n,): position ranks."""
    is_beaten: Flags
    """bool (n,): whether the value does not matter to the caller (``find_bounds``)."""
    exits: Ints
    """int64 (n, 3): code of the value of the best zeroing moves; smallest and greatest depth after these
    moves. The code is NONE if there are no zeroing moves, and DAMAGED if the value is unavailable."""
    is_exception: Flags
    """bool (n,): whether the position is an exception, whose ``value`` and ``depth`` are not derived."""
    value: Ints
    """int64 (n,): code of W; UNSTORED if the best capture gives W; DAMAGED if W is unavailable."""
    depth: Ints
    """int64 (n,): D in plies."""
    accrued_value: Ints
    """int64 (n,): code of V(P, A). DAMAGED if it is unavailable or not needed. It is not needed for fresh
    states, nor where the rank of A exceeds the rank of W, because V(P, A) is then W."""
    bound: Ints
    """int64 (n, 2): which values do not matter to the caller, by the numbers of ``find_bounds``."""
    position: Ints
    """int64 (n,): the positions whose values are found next."""

    question: Ints
    """int64 (questions,): the encoded questions."""
    question_rank: NDArray[np.uint8]
    """uint8 (questions,): position rank of the position asked about."""
    answer: NDArray[np.int32]
    """int32 (questions, 3): the answers, in the columns SYMBOL, HALF_DEPTH and FUNCTION."""
    capture_slot: Ints
    """int64 (questions,): slot of the position asked about if its best capture must be looked up, else -1."""
    best_capture: Ints
    """int64 (questions, 3): the best captures of the position asked about, in the form of ``exits``."""
    key: Ints
    """int64 (questions,): the keys of the questions that are answered next: each is a question, shifted by
    ``INDEX_BITS``, with its index in the lower bits."""


@dataclass(frozen=True, eq=False)
class ZeroingMoves(Struct):
    """Zeroing moves of positions without an en passant right. Arrays that a kernel does not use may be
    empty."""

    slot: Ints
    """int64 (positions,): slots of the positions, canonical or not."""
    exits: Ints
    """int64 (positions, 3): the best moves, in the form of ``Batch.exits``."""
    move: Ints
    """int64 (moves, COLUMNS): the moves."""
    entry: Ints
    """int64 (moves, 2): the code of W, and D in plies, after each move."""
    bound: Ints
    """int64 (moves, 2): which values after a move do not matter, by the numbers of ``find_bounds``."""


@dataclass(frozen=True, eq=False)
class RankedPositions(Struct):
    """Positions and their ranks."""

    slot: Ints
    """int64 (n,): slots."""
    rank: Ints
    """int64 (n,): position ranks."""
