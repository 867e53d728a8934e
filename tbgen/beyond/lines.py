"""Lines of play that show the proved bounds, and how one man holds another.

In the line of an exact value, White chooses moves by their lower bounds and Black by their upper bounds. In
the line of one bound of an interval, both sides choose moves by that bound. One side then follows the proof,
and the other side concedes as little as possible.

A *hold* shows how one man, the *blocker*, restrains an enemy man, the *changer*. For every square of the
changer it lists the squares of the blocker on which the changer's side can never get more than a certain
score. This is Heiner Marxen's analysis of positions in which one man of each side moves ("Virtual pieces",
2002). Corresponding squares are a special case.
"""

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import chess

from tbgen.beyond.forcing import ForcingProof
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import UnmadeLayerError
from tbgen.beyond.search import Search
from tbgen.board.rules import position_score
from tbgen.board.score import Code, GScore, fold, signed_of, to_gscore, to_signed
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import CellPosition, CellState, Step
from tbgen.errors import MissingLayerError, MissingTableError
from tbgen.probe.moves import LinePly

Line = tuple[LinePly, ...]
"""Moves until the accrued score equals the value or bound that the line shows, or until the proof ends."""
MAX_PLAN_PLIES: Final = 12
"""Maximum length of a plan in plies."""


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
"""Depth of a bound from an exit source without depths, such as Syzygy files. No real depth is that great."""


class _LineGoal(NamedTuple):
    """One bound of a state, with its depth."""

    value: Code
    depth: int
    """Depth in plies; 0 if it is unavailable."""


class _LineMove(NamedTuple):
    """A move, and one bound of the state after the move."""

    step: Step
    after: CellState
    """The state after the move."""
    goal: _LineGoal
    """The bound after the move, with its depth."""


@dataclass(frozen=True)
class Hold:
    """The score that a blocker guarantees, and the squares on which it does so.

    Squares are numbers from 0 (a1) to 63 (h8).

    :ivar holder: the side of the blocker.
    :ivar value: the score that the holder is sure of.
    :ivar blocker: the blocker's square in the initial position.
    :ivar changer: the changer's square in the initial position.
    :ivar squares: for each square of the changer, with the changer to move, the squares on which the blocker
        guarantees the score. Only squares that play can reach are listed, the nearest first.
    :ivar distances: for each square of the changer, the plies until the accrued score equals ``value``. The
        changer is to move, and the blocker is on the first of its ``squares``. Squares for which no depth
        is available are missing.
    """

    holder: chess.Color
    value: GScore
    blocker: chess.Square
    changer: chess.Square
    squares: dict[chess.Square, tuple[chess.Square, ...]]
    distances: dict[chess.Square, int]


class EndProof(NamedTuple):
    """The proof of a lower or an upper bound.

    :ivar search: the search that proves the bound, or else the search that proved the best earlier one.
    :ivar forcing: the forcing moves that prove the bound; None if the search proves it.
    :ivar holds: the holds that belong to the bound.
    """

    search: Search
    forcing: ForcingProof | None = None
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True)
class LineMaker:
    """Makes lines from the proofs of bounds.

    :param proofs: the proof of the lower bound, and that of the upper bound. Their searches share their
        knowledge.
    :param accrued: the accrued score of the initial state.
    :param exact: whether the searches prove the value.
    """

    proofs: Sequence[EndProof]
    accrued: Code
    exact: bool

    @property
    def _exits(self) -> ExitBounds:
        return self.proofs[LOWER].search.exits

    def line(self, end: int) -> Line:
        """Return play that shows the lower or upper bound; best play if the searches prove the value."""
        line = list(self._play(end, find_depths=True))
        if self.exact:
            line = self._without_repetition(line)
        return tuple(LinePly(*ply, len(line) - number) for number, ply in enumerate(line, 1))

    def _without_repetition(self, line: list[PlanMove]) -> list[PlanMove]:
        """Return best play up to its last capture or pawn move if it repeats a position before it reaches the
        value. No depths are known after this move, so the moves after it only keep the value."""
        root = CellState(self.proofs[LOWER].search.state.position, self.accrued)
        board = root.position.board.copy(stack=False)
        kept = 0
        for number, ply in enumerate(line, 1):
            kept = number if board.is_zeroing(ply.move) else kept
            board.push(ply.move)
        reached = not line or line[-1].accrued.code == self._goal(root, LOWER).value
        return line if reached or not board.is_repetition(2) else line[:kept]

    def plan(self, end: int) -> Plan:
        """Return the first moves of a bound's line, up to where a large layer would have to be made."""
        plan: list[PlanMove] = []
        with contextlib.suppress(UnmadeLayerError):
            plan.extend(islice(self._play(end), MAX_PLAN_PLIES))
        return tuple(plan)

    def _play(self, end: int, *, find_depths: bool = False) -> Iterator[PlanMove]:
        """Yield the line of one bound. A line of forcing moves ends when a position is repeated.

        :param find_depths: whether to solve cells again that lack depths.
        """
        if (proof := self.proofs[end].forcing) is not None:
            return self._forcing_line(self.accrued, proof)
        black, white = (UPPER, LOWER) if self.exact else (end, end)
        return self._line_from_searches(black, white, find_depths)

    def _line_from_searches(self, black_end: int, white_end: int, find_depths: bool) -> Iterator[PlanMove]:
        """Yield the line in which both sides choose moves by bounds.

        :param black_end: ``LOWER`` or ``UPPER``: the bounds by which Black chooses.
        :param white_end: ``LOWER`` or ``UPPER``: the bounds by which White chooses.
        """
        ends = (black_end, white_end)
        states = {end: CellState(self.proofs[end].search.state.position, self.accrued) for end in ends}
        seen: set[tuple[str, Code]] = set()
        while True:
            if find_depths:
                for end, state in states.items():
                    self.proofs[end].search.find_depths(state.position)
            board = states[white_end].position.board
            accrued = states[white_end].accrued
            goal = self._goal(states[white_end], white_end)
            key = board.epd(), accrued
            if key in seen or goal.value == accrued or goal.depth == _UNKNOWN_DEPTH:
                return
            seen.add(key)
            mover_end = white_end if board.turn else black_end
            if self._exits.tables.has_cell(states[mover_end].cell):
                yield from self._line_in_tables(board, GScore.from_code(accrued))
                return
            if not all(self._exits.has_solved(state.cell.canonical()[0]) for state in states.values()):
                return
            move = self._best_move(states[mover_end], mover_end).step.move
            steps = {end: self._find_step(state.position, move) for end, state in states.items()}
            after = {end: states[end].after(step) for end, step in steps.items()}
            inside = {end: after[end] for end, step in steps.items() if step.is_inside}
            claims, claims_after = self._bounds_by_end(states), self._bounds_by_end(inside)
            if any(_is_worse(claims_after[end], claims[end], end) for end in inside):
                return  # a bound after the move is worse, so it does not prove the bound before it
            yield PlanMove(move, board.san(move), GScore.from_code(after[white_end].accrued))
            if not all(step.is_inside or step.zeroing for step in steps.values()):
                return
            states = after

    def _forcing_line(self, accrued: Code, proof: ForcingProof) -> Iterator[PlanMove]:
        """Yield play that shows a bound by forcing moves, with the continuation in tables."""
        board = self.proofs[LOWER].search.state.position.board.copy(stack=False)
        score = signed_of(accrued)
        for move in proof.line():
            san, zeroing = board.san(move), board.is_zeroing(move)
            board.push(move)
            position_after = to_signed(position_score(board))
            score = position_after if zeroing else fold(score, position_after)
            yield PlanMove(move, san, to_gscore(score))
        if self._exits.tables.fresh_value(board) is not None and any(board.legal_moves):
            yield from self._line_in_tables(board.copy(stack=False), to_gscore(score))

    def _line_in_tables(self, board: chess.Board, accrued: GScore) -> Iterator[PlanMove]:
        """Yield best play from a position in a table, as far as the tables have the depths."""
        with contextlib.suppress(MissingLayerError, MissingTableError):
            for ply in self._exits.tables.tablebase.line(board, accrued):
                yield PlanMove(ply.move, ply.san, ply.accrued)

    def _bounds_by_end(self, states: dict[int, CellState]) -> dict[int, Code]:
        """Return, for each end, the lower or upper bound of ``states[end]``."""
        return {end: self._goal(state, end).value for end, state in states.items()}

    def _find_step(self, position: CellPosition, move: chess.Move) -> Step:
        return next(step for step in position.moves() if step.move == move)

    def _best_move(self, state: CellState, end: int) -> _LineMove:
        """Return the best move of a state according to the lower or upper bounds after its moves.

        Among moves with the best bound, the mover prefers the smallest depth if the bound is better than the
        accrued score, and otherwise the greatest depth.
        """
        choices = []
        for step in state.position.moves():
            after = state.after(step)
            has_goal = step.is_inside or step.zeroing
            goal = self._goal(after, end) if has_goal else _LineGoal(WORST[end], 0)
            choices.append(_LineMove(step, after, goal))
        white = state.position.board.turn
        value = (min if white else max)(choice.goal.value for choice in choices)
        sign = 1 if white == (value < state.accrued) else -1
        ties = (choice for choice in choices if choice.goal.value == value)
        return min(ties, key=lambda tie: (sign * tie.goal.depth, _uci_for_mover(tie.step.move, white)))

    def _goal(self, state: CellState, end: int) -> _LineGoal:
        """Return the lower or upper bound of a state, with its depth."""
        position, accrued = state
        if position.is_over:
            return _LineGoal(position.position_score, 0)
        if self._exits.tables.has_cell(position.cell):
            result = self._exits.tables.tablebase.probe(position.board, GScore.from_code(accrued))
            return _LineGoal(result.value.code, result.depth or 0)
        if position.board.has_legal_en_passant():
            goal = self._best_move(state, end).goal
            return _LineGoal(goal.value, 0 if goal.value == accrued else min(goal.depth + 1, _UNKNOWN_DEPTH))
        value, depths = self.proofs[end].search.probe(state)
        combined = value.intersection(self._exits.bounds_for_any_accrued(position))
        if combined[end] != value[end]:
            return _LineGoal(combined[end], _UNKNOWN_DEPTH)
        return _LineGoal(value[end], depths[end] if depths else 0)


def _is_worse(bound: Code, other: Code, end: int) -> bool:
    """Return whether a lower or upper bound proves less than another bound at the same end."""
    return bound > other if end == LOWER else bound < other


def _uci_for_mover(move: chess.Move, white: bool) -> str:
    """Return a move in UCI notation, mirrored for Black, so that ties are broken alike for both sides."""
    if white:
        return move.uci()
    origin, target = map(chess.square_mirror, (move.from_square, move.to_square))
    return chess.Move(origin, target, move.promotion).uci()


def find_holds(search: Search) -> tuple[Hold, ...]:
    """Return the holds that a search has proved, White's first.

    The result is empty unless exactly one man of each side is mobile.
    """
    root = search.state.position
    white_mobile = root.mobile & root.board.occupied_co[chess.WHITE]
    if (
        root.is_over
        or white_mobile.bit_count() != 1
        or root.mobile.bit_count() != 2
        or root.cell not in search.exits.cells
    ):
        return ()
    bounds = search.probe(search.state).bounds
    return tuple(_find_hold(search, end, bounds[end]) for end in ENDS if bounds[end] != WORST[end])


def _find_hold(search: Search, end: int, bound: Code) -> Hold:
    holder = chess.WHITE if end == LOWER else chess.BLACK
    root = search.state
    squares: dict[chess.Square, dict[chess.Square, None]] = {}
    distances: dict[chess.Square, int] = {}
    queue = deque([root])
    seen = {root.key}
    while queue:
        state = queue.popleft()
        position = state.position
        blocker, changer = _men_squares(position, holder)
        if position.board.turn != holder:
            if changer not in squares and (depths := search.probe(state).depths) is not None:
                distances[changer] = depths[end]
            squares.setdefault(changer, {})[blocker] = None
        for step in position.moves():
            if not step.is_inside:
                continue
            after = state.after(step)
            if after.key not in seen:
                seen.add(after.key)
                if not _is_worse(search.probe(after).bounds[end], bound, end):
                    queue.append(after)
    blocker_squares = {square: tuple(blockers) for square, blockers in sorted(squares.items())}
    return Hold(
        holder, GScore.from_code(bound), *_men_squares(root.position, holder), blocker_squares, distances
    )


def _men_squares(position: CellPosition, holder: chess.Color) -> tuple[chess.Square, chess.Square]:
    """Return the squares of the blocker and of the changer."""
    sides = (position.mobile & position.board.occupied_co[colour] for colour in (holder, not holder))
    blocker, changer = map(chess.msb, sides)
    return blocker, changer
