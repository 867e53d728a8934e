"""LineMaker of play that show the proved bounds, and holds of one man by another.

In the line of an exact value, White chooses moves by their lower bounds and Black by their upper bounds. In
the line of one bound of an interval, both sides choose by that bound: one side follows the proof, and the
other side concedes as little as possible.

A *hold* shows how one man holds another: for every square of one man, the *changer*, it gives the square of
the other man, the *blocker*, from which the changer's side can never get more than a bound. This is Heiner
Marxen's analysis of positions in which one man of each side moves ("Virtual pieces", 2002). Corresponding
squares are a special case.
"""

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import chess

from tbgen.beyond.forcing import ForcingProof
from tbgen.beyond.knowledge import Known, UnmadeLayerError, carried_score
from tbgen.beyond.search import Search
from tbgen.board.rules import position_score
from tbgen.board.score import Code, GScore, fold, of_code, of_gscore, to_gscore
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import CellPosition, Step
from tbgen.errors import MissingLayerError, MissingTableError
from tbgen.probe.moves import LinePly

Line = tuple[LinePly, ...]
"""Moves until the accrued score is the one that the line shows, or until nothing more is proved."""
MAX_PLAN_PLIES: Final = 12


class PlanMove(NamedTuple):
    """A move of a plan.

    :ivar move: the move.
    :ivar san: the move in SAN.
    :ivar accrued: the accrued score after the move.
    """

    move: chess.Move
    san: str
    accrued: GScore

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


Plan = tuple[PlanMove, ...]
"""The first moves of a line."""

_UNKNOWN_DEPTH: Final = 1 << 20
"""Depth in plies of a bound that only Syzygy files have: larger than any real depth."""


class _LineGoal(NamedTuple):
    """A bound of a state, with its depth."""

    value: Code
    depth: int
    """Plies; 0 if the depth is not available."""


class _LineMove(NamedTuple):
    """A move with the bound of the state after it."""

    step: Step
    accrued: Code
    """The accrued score after the move."""
    goal: _LineGoal
    """The bound of the state after the move."""


@dataclass(frozen=True)
class LineMaker:
    """Makes lines from the results of searches.

    :param searches: the searches that prove the lower and the upper bound; they share their knowledge.
    :param accrued: the accrued score of the initial state.
    :param proofs: for each end, the forcing moves that prove the bound; None if a search proves it.
    :param exact: whether searches prove the value.
    """

    searches: Sequence[Search]
    accrued: Code
    proofs: Sequence[ForcingProof | None] = (None, None)
    exact: bool = False

    @property
    def _known(self) -> Known:
        return self.searches[LOWER].known

    def line(self, end: int) -> Line:
        """Return the play that shows the lower or upper bound, or best play if searches prove the value."""
        line = list(self._play(end))
        return tuple(LinePly(*ply, len(line) - number) for number, ply in enumerate(line, 1))

    def plan(self, end: int) -> Plan:
        """Return the first moves of the line of one bound, as far as they need no large layer to be made."""
        plan: list[PlanMove] = []
        with contextlib.suppress(UnmadeLayerError):
            plan.extend(islice(self._play(end), MAX_PLAN_PLIES))
        return tuple(plan)

    def _play(self, end: int) -> Iterator[PlanMove]:
        """Yield the line of one bound; a line of forcing moves ends when a position is repeated."""
        if (proof := self.proofs[end]) is not None:
            return self._forcing_line(self.accrued, proof)
        black, white = (UPPER, LOWER) if self.exact else (end, end)
        return self._moves(self.accrued, black, white)

    def _moves(self, accrued: Code, black: int, white: int) -> Iterator[PlanMove]:
        """Yield the line in which Black and White choose moves by their bounds at these ends."""
        here = {end: self.searches[end].position for end in (black, white)}
        seen: set[tuple[str, Code]] = set()
        while True:
            board = here[white].board
            end = white if board.turn else black
            state = board.epd(), accrued
            goal = self._goal(here[white], accrued, white)
            if state in seen or goal.value == accrued or goal.depth == _UNKNOWN_DEPTH:
                return
            seen.add(state)
            if self._known.tables.has_cell(here[end].cell):
                yield from self._line_in_tables(board, GScore.from_code(accrued))
                return
            if not all(position.cell in self._known.cells for position in here.values()):
                return
            best = self._best_move(here[end], accrued, end)
            move, claims = best.step.move, self._bounds_by_end(here, accrued)
            steps = {each: self._step(position, move) for each, position in here.items()}
            inside = {each: step.after for each, step in steps.items() if step.inside}
            after = self._bounds_by_end(inside, best.accrued)
            if any(_is_worse(after[each], claims[each], each) for each in after):
                return  # the bound does not follow from the bounds of the moves
            accrued = best.accrued
            yield PlanMove(move, board.san(move), GScore.from_code(accrued))
            if not all(step.inside or step.zeroing for step in steps.values()):
                return
            here = {each: step.after for each, step in steps.items()}

    def _forcing_line(self, accrued: Code, proof: ForcingProof) -> Iterator[PlanMove]:
        """Yield play that shows a bound by forcing moves, and continues in tables."""
        board, score = self.searches[LOWER].position.board.copy(stack=False), of_code(accrued)
        for move in proof.line():
            san, zeroing = board.san(move), board.is_zeroing(move)
            board.push(move)
            after = of_gscore(position_score(board))
            score = after if zeroing else fold(score, after)
            yield PlanMove(move, san, to_gscore(score))
        if self._known.tables.fresh_value(board) is not None and any(board.legal_moves):
            yield from self._line_in_tables(board.copy(stack=False), to_gscore(score))

    def _line_in_tables(self, board: chess.Board, accrued: GScore) -> Iterator[PlanMove]:
        """Yield best play from a position that a table contains, as far as the tables store it."""
        with contextlib.suppress(MissingLayerError, MissingTableError):
            for ply in self._known.tables.tablebase.line(board, accrued):
                yield PlanMove(ply.move, ply.san, ply.accrued)

    def _bounds_by_end(self, states: dict[int, CellPosition], accrued: Code) -> dict[int, Code]:
        """Return the lower or upper bound of each state, by end."""
        return {end: self._goal(position, accrued, end).value for end, position in states.items()}

    def _step(self, position: CellPosition, move: chess.Move) -> Step:
        return next(step for step in position.moves() if step.move == move)

    def _best_move(self, position: CellPosition, accrued: Code, end: int) -> _LineMove:
        """Return the best move of a state by the lower or upper bounds.

        Among moves with the best bound, the mover prefers the smallest depth if the bound is better than the
        accrued score, else the greatest.
        """
        choices = []
        for step in position.moves():
            score = step.after.position_score if step.zeroing else carried_score(step, accrued)
            has_goal = step.inside or step.zeroing
            goal = self._goal(step.after, score, end) if has_goal else _LineGoal(WORST[end], 0)
            choices.append(_LineMove(step, score, goal))
        white = position.board.turn
        value = (min if white else max)(choice.goal.value for choice in choices)
        sign = 1 if white == (value < accrued) else -1
        best = (choice for choice in choices if choice.goal.value == value)
        return min(
            best, key=lambda choice: (sign * choice.goal.depth, _uci_for_mover(choice.step.move, white))
        )

    def _goal(self, position: CellPosition, accrued: Code, end: int) -> _LineGoal:
        """Return the lower or upper bound of a state, with its depth."""
        if position.is_over:
            return _LineGoal(position.position_score, 0)
        if self._known.tables.has_cell(position.cell):
            found = self._known.tables.tablebase.probe(position.board, GScore.from_code(accrued))
            return _LineGoal(found.value.code, found.depth or 0)
        if position.board.has_legal_en_passant():
            best = self._best_move(position, accrued, end).goal
            return _LineGoal(best.value, 0 if best.value == accrued else min(best.depth + 1, _UNKNOWN_DEPTH))
        value, depths = self.searches[end].state(position, accrued)
        combined = value.within(self._known.universal_bounds(position))
        if combined[end] != value[end]:
            return _LineGoal(combined[end], _UNKNOWN_DEPTH)
        return _LineGoal(value[end], depths[end] if depths else 0)


def _is_worse(code: Code, claim: Code, end: int) -> bool:
    """Return whether a lower or upper bound is worse than a claim."""
    return code > claim if end == LOWER else code < claim


def _uci_for_mover(move: chess.Move, white: bool) -> str:
    """Return a move in UCI notation, mirrored for Black, so that both colours break ties alike."""
    if white:
        return move.uci()
    origin, target = map(chess.square_mirror, (move.from_square, move.to_square))
    return chess.Move(origin, target, move.promotion).uci()


@dataclass(frozen=True)
class Hold:
    """The score that a blocker guarantees, and its squares. Squares are numbers (0 for a1, 63 for h8).

    :ivar holder: the side of the blocker.
    :ivar value: the score that the holder gets at least.
    :ivar blocker: the blocker's square in the initial position.
    :ivar changer: the changer's square in the initial position.
    :ivar squares: for each square of the changer, with the changer to move, the squares on which the blocker
        holds it and which play can reach, the nearest first.
    :ivar distances: plies until the holder has the value, by the changer's square, with the changer to move
        and the blocker on the nearest of its squares; squares without an available depth are missing.
    """

    holder: chess.Color
    value: GScore
    blocker: chess.Square
    changer: chess.Square
    squares: dict[chess.Square, tuple[chess.Square, ...]]
    distances: dict[chess.Square, int]


def holds(search: Search) -> tuple[Hold, ...]:
    """Return the holds that a search has proved, White's first.

    The result is empty unless exactly one man of each side is mobile.
    """
    root = search.position
    of_white = root.mobile & root.board.occupied_co[chess.WHITE]
    if (
        root.is_over
        or of_white.bit_count() != 1
        or root.mobile.bit_count() != 2
        or root.cell not in search.known.cells
    ):
        return ()
    found = search.state(root, search.accrued).value
    return tuple(_hold(search, end, found[end]) for end in ENDS if found[end] != WORST[end])


def _hold(search: Search, end: int, bound: Code) -> Hold:
    holder = chess.WHITE if end == LOWER else chess.BLACK
    root, accrued = search.position, search.accrued
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
            accrued_after = carried_score(step, score)
            key = _key(step.after, accrued_after)
            if key not in seen:
                seen.add(key)
                value = search.state(step.after, accrued_after).value[end]
                if value <= bound if end == LOWER else value >= bound:
                    waiting.append((step.after, accrued_after))
    blocker_squares = {square: tuple(found) for square, found in sorted(squares.items())}
    return Hold(holder, GScore.from_code(bound), *_men(root, holder), blocker_squares, distances)


def _men(position: CellPosition, holder: chess.Color) -> tuple[chess.Square, chess.Square]:
    """Return the squares of the blocker and of the changer."""
    sides = (position.mobile & position.board.occupied_co[colour] for colour in (holder, not holder))
    blocker, changer = map(chess.msb, sides)
    return blocker, changer


def _key(position: CellPosition, accrued: Code) -> tuple[int, ...]:
    return position.board.turn, *position.board.occupied_co, accrued
