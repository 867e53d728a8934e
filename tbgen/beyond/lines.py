"""Lines of play that show what is proved, and how one man holds another.

In the line of an exact value, White plays by the lower ends of what his moves lead to and Black by the upper
ones. In the line of one end of an interval both play by that end: one side as the proof has it, the other so
that it concedes the least.

How one man holds another: where the blocker stands for every square of the changer. Heiner Marxen's analysis
of positions in which one man of each side moves ("Virtual pieces", 2002): the *blocker* keeps the *changer*
from more than a bound, for ever. Corresponding squares are its special case.
"""

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import chess

from tbgen.beyond.forcing import ForcingProof
from tbgen.beyond.knowledge import Known, UnmadeLayerError, carried
from tbgen.beyond.search import Search
from tbgen.board.rules import position_score
from tbgen.board.score import Code, GScore, fold, of_code, of_gscore, to_gscore
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import CellPosition, Step
from tbgen.errors import MissingLayerError, MissingTableError
from tbgen.probe.moves import LinePly

Line = tuple[LinePly, ...]
"""Moves up to where the accrued score is what the line shows, or where nothing more is known."""
PLAN: Final = 12
"""Plies of a plan at most."""


class PlanMove(NamedTuple):
    """A move of a plan.

    :ivar move: the move.
    :ivar san: the same in SAN.
    :ivar accrued: the accrued score after it.
    """

    move: chess.Move
    san: str
    accrued: GScore

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


Plan = tuple[PlanMove, ...]
"""How a line begins."""

_UNKNOWN: Final = 1 << 20
"""Plies to what only Syzygy files know: more than any depth."""


class _LineGoal(NamedTuple):
    """One end of what is known of a state."""

    value: Code
    depth: int
    """Plies; 0 where they are not known."""


class _LineMove(NamedTuple):
    """A move."""

    step: Step
    accrued: Code
    """The accrued score after it."""
    goal: _LineGoal
    """Of the state after it."""


@dataclass(frozen=True)
class Lines:
    """Makes lines of what has been found.

    :param found: the searches that prove the lower and the upper end, which share what they know.
    :param accrued: the accrued score of the given state.
    :param proofs: the forcing moves that prove an end, where these do and no search.
    :param exact: whether searches prove the value.
    """

    found: Sequence[Search]
    accrued: Code
    proofs: Sequence[ForcingProof | None] = (None, None)
    exact: bool = False

    @property
    def _known(self) -> Known:
        return self.found[LOWER].known

    def line(self, end: int) -> Line:
        """Return the play that shows one end of what is known, or best play if searches prove the value."""
        line = list(self._play(end))
        return tuple(LinePly(*ply, len(line) - number) for number, ply in enumerate(line, 1))

    def plan(self, end: int) -> Plan:
        """Return how the line of one end begins, as far as that is known without making layers."""
        plan: list[PlanMove] = []
        with contextlib.suppress(UnmadeLayerError):
            plan.extend(islice(self._play(end), PLAN))
        return tuple(plan)

    def _play(self, end: int) -> Iterator[PlanMove]:
        """Yield the line of one end; by forcing moves, until a position comes about again."""
        if (proof := self.proofs[end]) is not None:
            return self._of_proof(self.accrued, proof)
        black, white = (UPPER, LOWER) if self.exact else (end, end)
        return self._moves(self.accrued, black, white)

    def _moves(self, accrued: Code, black: int, white: int) -> Iterator[PlanMove]:
        """Yield the line in which Black and White play by these ends."""
        here = {end: self.found[end].given for end in (black, white)}
        seen: set[tuple[str, Code]] = set()
        while True:
            board = here[white].board
            end = white if board.turn else black
            state = board.epd(), accrued
            goal = self._goal(here[white], accrued, white)
            if state in seen or goal.value == accrued or goal.depth == _UNKNOWN:
                return
            seen.add(state)
            if self._known.tables.has_cell(here[end].cell):
                yield from self._in_tables(board, GScore.from_code(accrued))
                return
            if not all(position.cell in self._known.cells for position in here.values()):
                return
            best = self._best(here[end], accrued, end)
            move, claims = best.step.move, self._ends(here, accrued)
            steps = {each: self._step(position, move) for each, position in here.items()}
            inside = {each: step.after for each, step in steps.items() if step.inside}
            after = self._ends(inside, best.accrued)
            if any(_is_worse(after[each], claims[each], each) for each in after):
                return  # that so much is known does not come from what is known of moves
            accrued = best.accrued
            yield PlanMove(move, board.san(move), GScore.from_code(accrued))
            if not all(step.inside or step.zeroing for step in steps.values()):
                return
            here = {each: step.after for each, step in steps.items()}

    def _of_proof(self, accrued: Code, proof: ForcingProof) -> Iterator[PlanMove]:
        """Yield play that shows a bound by forcing moves, and goes on in tables."""
        board, score = self.found[LOWER].given.board.copy(stack=False), of_code(accrued)
        for move in proof.line():
            san, zeroing = board.san(move), board.is_zeroing(move)
            board.push(move)
            own = of_gscore(position_score(board))
            score = own if zeroing else fold(score, own)
            yield PlanMove(move, san, to_gscore(score))
        if self._known.tables.fresh_value(board) is not None and any(board.legal_moves):
            yield from self._in_tables(board.copy(stack=False), to_gscore(score))

    def _in_tables(self, board: chess.Board, accrued: GScore) -> Iterator[PlanMove]:
        """Yield best play from a position that a table holds, as far as tables tell it."""
        with contextlib.suppress(MissingLayerError, MissingTableError):
            for ply in self._known.tables.tablebase.line(board, accrued):
                yield PlanMove(ply.move, ply.san, ply.accrued)

    def _ends(self, states: dict[int, CellPosition], accrued: Code) -> dict[int, Code]:
        """Return one end of each state, by ends."""
        return {end: self._goal(position, accrued, end).value for end, position in states.items()}

    def _step(self, position: CellPosition, move: chess.Move) -> Step:
        return next(step for step in position.moves() if step.move == move)

    def _best(self, position: CellPosition, accrued: Code, end: int) -> _LineMove:
        """Return the best move of a state by an end: a value better than the accrued score sooner, others
        later."""
        choices = []
        for step in position.moves():
            score = step.after.own if step.zeroing else carried(step, accrued)
            known = step.inside or step.zeroing
            goal = self._goal(step.after, score, end) if known else _LineGoal(WORST[end], 0)
            choices.append(_LineMove(step, score, goal))
        white = position.board.turn
        value = (min if white else max)(choice.goal.value for choice in choices)
        sign = 1 if white == (value < accrued) else -1
        kept = (choice for choice in choices if choice.goal.value == value)
        return min(
            kept, key=lambda choice: (sign * choice.goal.depth, _seen_by_mover(choice.step.move, white))
        )

    def _goal(self, position: CellPosition, accrued: Code, end: int) -> _LineGoal:
        """Return one end of what is known of a state."""
        if position.over:
            return _LineGoal(position.own, 0)
        if self._known.tables.has_cell(position.cell):
            found = self._known.tables.tablebase.probe(position.board, GScore.from_code(accrued))
            return _LineGoal(found.value.code, found.depth or 0)
        if position.board.has_legal_en_passant():
            best = self._best(position, accrued, end).goal
            return _LineGoal(best.value, 0 if best.value == accrued else min(best.depth + 1, _UNKNOWN))
        value, depths = self.found[end].state(position, accrued)
        together = value.within(self._known.sure(position))
        if together[end] != value[end]:
            return _LineGoal(together[end], _UNKNOWN)
        return _LineGoal(value[end], depths[end] if depths else 0)


def _is_worse(code: Code, claim: Code, end: int) -> bool:
    """Whether less is known of an end than is claimed."""
    return code > claim if end == LOWER else code < claim


def _seen_by_mover(move: chess.Move, white: bool) -> str:
    """Return a move as White would have it, so that lines of swapped colours are the same."""
    if white:
        return move.uci()
    origin, target = map(chess.square_mirror, (move.from_square, move.to_square))
    return chess.Move(origin, target, move.promotion).uci()


@dataclass(frozen=True)
class Hold:
    """What the blocker guarantees, and how. Squares are numbers of python-chess (0 for a1, 63 for h8).

    :ivar holder: the blocker's side.
    :ivar value: the holder gets this score at least.
    :ivar blocker: the blocker's square in the given position.
    :ivar changer: the changer's square in the given position.
    :ivar squares: the blocker's squares by the changer's square, with the changer to move: all that can come
        about while the blocker holds, the nearest first.
    :ivar distances: plies until the holder has the value, where they are known: by the changer's square, with
        the changer to move and the blocker on the nearest of its squares.
    """

    holder: chess.Color
    value: GScore
    blocker: chess.Square
    changer: chess.Square
    squares: dict[chess.Square, tuple[chess.Square, ...]]
    distances: dict[chess.Square, int]


def holds(search: Search) -> tuple[Hold, ...]:
    """Return what a search has proved of a cell in which one man of each side is mobile, White's hold first;
    nothing if others are."""
    root = search.given
    of_white = root.mobile & root.board.occupied_co[chess.WHITE]
    if (
        root.over
        or of_white.bit_count() != 1
        or root.mobile.bit_count() != 2
        or root.cell not in search.known.cells
    ):
        return ()
    found = search.state(root, search.accrued).value
    return tuple(_hold(search, end, found[end]) for end in ENDS if found[end] != WORST[end])


def _hold(search: Search, end: int, bound: Code) -> Hold:
    holder = chess.WHITE if end == LOWER else chess.BLACK
    root, accrued = search.given, search.accrued
    squares: dict[chess.Square, dict[chess.Square, None]] = {}
    distances: dict[chess.Square, int] = {}
    waiting, seen = deque([(root, accrued)]), {_key(root, accrued)}
    while waiting:
        here, score = waiting.popleft()
        blocker, changer = _men(here, holder)
        if here.board.turn != holder:
            if changer not in squares and (depths := search.state(here, score).depths) is not None:
                distances[changer] = depths[end]
            squares.setdefault(changer, {})[blocker] = None
        for step in here.moves():
            if not step.inside:
                continue
            held = carried(step, score)
            key = _key(step.after, held)
            if key not in seen:
                seen.add(key)
                value = search.state(step.after, held).value[end]
                if value <= bound if end == LOWER else value >= bound:
                    waiting.append((step.after, held))
    stood = {square: tuple(own) for square, own in sorted(squares.items())}
    return Hold(holder, GScore.from_code(bound), *_men(root, holder), stood, distances)


def _men(position: CellPosition, holder: chess.Color) -> tuple[chess.Square, chess.Square]:
    """Return the squares of the blocker and of the changer."""
    sides = (position.mobile & position.board.occupied_co[colour] for colour in (holder, not holder))
    blocker, changer = map(chess.msb, sides)
    return blocker, changer


def _key(position: CellPosition, accrued: Code) -> tuple[int, ...]:
    return position.board.turn, *position.board.occupied_co, accrued
