"""What keeps the ends of an interval apart, for a reader: the moves whose worth would have to be known.

Between the ends lies the play in which White chooses moves by the upper ends of what they are worth and Black
by the lower ones, the best that they may still hope for (docs/solve.md). A *gap* is a kind of move of this
play that leads to where nothing exact is known, and nothing has been solved that play could be followed into.
"""

from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final, NamedTuple

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.knowledge import UnmadeLayerError, best_of, carried
from tbgen.beyond.play import followed
from tbgen.beyond.search import Search
from tbgen.beyond.structures import cells_below, seconds_to_solve, values_take
from tbgen.board.score import Code
from tbgen.cells.bounds import WORST
from tbgen.cells.cell import MOST_MOBILE, Cell, CellPosition, Step
from tbgen.costs import seconds_of

_STATES: Final = 200
"""States that are looked at."""
_CELLS: Final = 200
"""Cells up to which they are counted."""


class Need(StrEnum):
    """What it takes to know more of a gap."""

    TIME = "time"
    """The cell that it leads to has not been solved."""
    MEMORY = "memory"
    """That cell takes more memory than is left."""
    MEN = "mobile men"
    """It is the quiet move of a frozen man, or leads to more kings and pieces than can be mobile."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A kind of move that keeps the ends apart.

    :ivar side: whose move it is.
    :ivar man: what moves, such as ``g-pawn`` or ``rook``.
    :ivar deed: what it does, such as ``promotes`` or ``captures the h-pawn``.
    :ivar positions: in how many positions, of those that were looked at.
    :ivar need: what it takes to know more.
    :ivar mobile: how many men have to be mobile.
    :ivar memory: bytes that a cell with so many mobile men takes.
    :ivar seconds: about how long it takes; None where no such cell can be solved.
    """

    side: chess.Color
    man: str
    deed: str
    positions: int
    need: Need
    mobile: int
    memory: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The cells that would tell more: those that gaps lead to, and those below them without promotions.

    :ivar cells: how many there are; a few hundred stand for more.
    :ivar seconds: about how long they take.
    :ivar memory: bytes that the largest takes.
    """

    cells: int
    seconds: float
    memory: int


class _GapKind(NamedTuple):
    """What moves of one gap have in common."""

    side: chess.Color
    man: str
    deed: str
    need: Need
    mobile: int


class Gaps:
    """Finds the gaps of a search that has ended.

    :param search: one whose ends differ.
    :param memory: bytes that are allowed.
    :param threads: with which cells would be solved.
    """

    def __init__(self, search: Search, memory: int, threads: int) -> None:
        self._search, self._window = search, search.answer().value
        self._memory, self._threads = memory, threads
        self._boards: defaultdict[_GapKind, set[str]] = defaultdict(set)
        self._takes: dict[_GapKind, tuple[float | None, int]] = {}
        """Seconds and bytes that one of them takes."""
        self._homes: dict[Cell, None] = {}
        """Cells that could be solved, in the order in which they were found."""
        self._queue: list[tuple[int, int, int, CellPosition, Code]] = []
        self._seen: set[tuple[str, int, Code]] = set()
        self._found = Counter[Cell]()
        """How many states of each cell: the more, the later others of it are looked at."""
        if search.given.cell in search.known.cells:
            self._add(0, search.given, search.accrued)
        for _ in range(_STATES):
            if not self._queue:
                break
            *_, deviations, here, accrued = heappop(self._queue)
            self._look_at(here, accrued, deviations)

    def found(self) -> tuple[Gap, ...]:
        """Return the gaps, those of most positions first."""
        gaps = (
            Gap(*kind[:3], len(boards), kind.need, kind.mobile, memory, seconds)
            for kind, boards in self._boards.items()
            for seconds, memory in [self._takes[kind]]
        )
        return tuple(sorted(gaps, key=lambda gap: (-gap.positions, gap.side, gap.man, gap.deed)))

    def narrowing(self) -> Narrowing | None:
        """Return what the cells take that could be solved; None if there are none."""
        cells: dict[Cell, None] = {}
        for home in self._homes:
            cells |= dict.fromkeys(cells_below(home, self._is_held, most=_CELLS - len(cells)))
        if not cells:
            return None
        memory = memory_needed(max(cell.size for cell in cells))
        return Narrowing(len(cells), seconds_to_solve(cells, self._threads), memory)

    def _is_held(self, cell: Cell) -> bool:
        return cell in self._search.known.cells or self._search.known.holds(cell)

    def _look_at(self, here: CellPosition, accrued: Code, deviations: int) -> None:
        now = self._search.state(here, accrued).value
        if now.seen(self._window).exact:
            return
        scores, moves = dict[chess.Move, Code](), list[tuple[Step, Answer]]()
        for step in here.moves():
            scores[step.move], then = self._after(step, accrued)
            moves.append((step, then))
        if all(scores[step.move] == carried(step, accrued) for step, _ in moves if step.inside):
            now = now.within(best_of([then.value for _, then in moves], here.board))
        for step, _ in followed(moves, now, here.board, self._window):
            if step.inside or (step.zeroing and step.after.cell in self._search.known.cells):
                self._add(deviations, step.after, scores[step.move])
            else:
                self._note(here, step)
            deviations += 1

    def _after(self, step: Step, accrued: Code) -> tuple[Code, Answer]:
        """Return the accrued score after a move, and what is known then. Where it would take a layer to tell,
        the state counts as fresh."""
        own = step.after.own
        if step.zeroing:
            return own, Answer(self._search.known.worth(step.after))
        if not step.inside:
            return accrued, Answer(WORST)
        with suppress(UnmadeLayerError):
            return carried(step, accrued), self._search.state(step.after, carried(step, accrued))
        return own, self._search.state(step.after, own)

    def _add(self, deviations: int, position: CellPosition, accrued: Code) -> None:
        key = position.board.epd(), position.mobile, accrued
        if key not in self._seen:
            self._seen.add(key)
            self._found[position.cell] += 1
            place = deviations + self._found[position.cell]
            heappush(self._queue, (place, len(self._seen), deviations, position, accrued))

    def _note(self, here: CellPosition, step: Step) -> None:
        """Take note of a move that nothing exact is known of."""
        board, move = here.board, step.move
        piece = board.piece_at(move.from_square)
        assert piece is not None
        need, mobile, seconds, memory = self._needed(here, step)
        kind = _GapKind(piece.color, _man(piece, move.from_square), _deed(board, move), need, mobile)
        self._boards[kind].add(board.epd())
        self._takes[kind] = seconds, memory

    def _needed(self, here: CellPosition, step: Step) -> tuple[Need, int, float | None, int]:
        """Return what it takes to know more of a move, the number of mobile men, seconds and bytes."""
        known, cell = self._search.known, step.after.cell
        pieces = (step.after.board.occupied & ~step.after.board.pawns).bit_count()
        if step.zeroing and pieces <= max(len(cell.mobile), MOST_MOBILE):
            self._homes[cell.canonical()[0]] = None
            mobile, memory = len(cell.mobile), memory_needed(cell.size)
            seconds = seconds_of("cell", cell.size, self._threads)
        else:
            wholes, ends = self._search.unsolved_promotions(cell if step.zeroing else here.cell)
            if not wholes:
                return Need.MEN, pieces, None, memory_needed(64**pieces)
            seconds, memory = values_take(wholes, known.won.mobile, self._threads, len(ends))
            mobile = pieces
        fits = memory <= self._memory - known.nbytes
        return Need.TIME if fits else Need.MEMORY, mobile, seconds, memory


def _man(piece: chess.Piece, square: chess.Square) -> str:
    """Return a man's name; pawns have that of their file."""
    name = chess.piece_name(piece.piece_type)
    return f"{chess.FILE_NAMES[chess.square_file(square)]}-{name}" if piece.piece_type == chess.PAWN else name


def _deed(board: chess.Board, move: chess.Move) -> str:
    """Return what a move does."""
    if move.promotion:
        return "promotes"
    if not board.is_capture(move):
        return "moves on" if board.is_zeroing(move) else f"leaves {chess.square_name(move.from_square)}"
    victim = board.piece_at(move.to_square)
    return "captures en passant" if victim is None else f"captures the {_man(victim, move.to_square)}"
