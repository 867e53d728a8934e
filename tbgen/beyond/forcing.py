"""Bounds that a side proves by forcing moves, with any number of men on the board.

The *attacker* plays only forcing moves: checks, moves that leave few answers, and captures and pawn moves
into tables. The other side may play any answer. A position in which few answers are legal gives the attacker
a good score. So a perpetual check proves a bound, and so does any other way to keep the opponent at a few
moves.

A search has a *target*, the score to prove. After each of the attacker's first few moves, the accrued score
may still be worse than the target. The number of these moves is the *patience* of the search. Once the
accrued score has reached the target, or after a capture or pawn move of the opponent, the accrued score must
not become worse than the target. The accrued score can change only a limited number of times, so infinite
play also reaches the target. A position is therefore good for the attacker unless it is refuted. This is a
safety game, whose winning positions are a greatest fixed point [1].

The search follows the play in which the attacker has one move in each position and the opponent has all
answers. When all positions of this play have been examined, the bound is proved. In each position the search
prefers the attacker's move that leads to the fewest unexamined positions. This is a best-first search in a
graph of moves and answers [2]. The searches of both sides take turns.

[1] Thomas, On the synthesis of strategies in infinite games, 1995
[2] Nilsson, Principles of Artificial Intelligence, 1980, section 3.2
"""

import gc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import chess

from tbgen.beyond.budget import Meter, Stop
from tbgen.board.material import MAX_MEN
from tbgen.board.rules import position_score
from tbgen.board.score import (
    MAX_CODED_RANK,
    Code,
    GScore,
    Signed,
    code_of,
    fold,
    merit,
    rank_of,
    rank_of_code,
    to_gscore,
    to_signed,
)

ValueFinder: TypeAlias = Callable[[chess.Board], Signed | None]
"""Function that returns the value of a position after a capture or pawn move; None if no table has it."""
_PositionKey: TypeAlias = tuple[int | None, ...]
"""Identifies a position with its accrued score and patience."""
_MAX_ANSWERS: Final = 4
"""Maximum number of answers to a forcing move that does not give check."""
_MIN_EXAMINED_POSITIONS: Final = 4
"""Minimum number of positions to examine before the search goes through the play from its start again."""
_EXAMINED_DIVISOR: Final = 32
"""The search goes through the play again after examining 1 / ``_EXAMINED_DIVISOR`` of its positions, but at
least ``_MIN_EXAMINED_POSITIONS`` (or all unexamined positions, if these are fewer)."""
_PATIENCE: Final = 3
"""Number of the attacker's first moves after which the accrued score may be worse than the target."""


class ForcingMove(NamedTuple):
    """A move of the attacker.

    :ivar move: the move.
    :ivar score: the accrued score after the move. It is the value if the move ends the game or leads into a
        table.
    :ivar answers: all moves of the other side; empty if ``score`` is the value.
    """

    move: chess.Move
    score: Signed
    answers: "list[Reply]"


class Reply(NamedTuple):
    """A move of the other side, and the position after it. For the initial position, the move is None."""

    move: chess.Move | None
    position: "AttackPosition"


@dataclass(eq=False, slots=True)
class AttackPosition:
    """A position with the attacker to move.

    :ivar board: the position.
    :ivar accrued: the accrued score before the position score is folded in; None after a capture or pawn
        move.
    :ivar patience: number of further moves of the attacker after which the accrued score may be worse than
        the target.
    :ivar moves: the moves that have not been refuted; None if the position has not been examined.
    :ivar value: the value if a table contains the position and the value reaches the target, else None.
    :ivar predecessors: the positions that lead here by the attacker's move and an answer.
    """

    board: chess.Board
    accrued: Signed | None
    patience: int
    moves: list[ForcingMove] | None = None
    value: Signed | None = None
    predecessors: "list[AttackPosition]" = field(default_factory=list)

    @property
    def folded_score(self) -> Signed:
        """The accrued score with the position score folded in."""
        score = to_signed(position_score(self.board))
        return score if self.accrued is None else fold(self.accrued, score)

    @property
    def is_refuted(self) -> bool:
        """Whether the position was examined and no move can reach the target."""
        return self.moves == [] and self.value is None

    @property
    def chosen_move(self) -> ForcingMove:
        """The move that the play follows: the one whose answers lead to the fewest unexamined positions."""
        assert self.moves, "the position is examined, not refuted, and has no value"
        return min(self.moves, key=_search_cost)


def _search_cost(move: ForcingMove) -> tuple[int, int]:
    """Return the sort key of a move: the number of unexamined answers, then the number of all answers."""
    unexamined = sum(reply.position.moves is None for reply in move.answers)
    return unexamined, len(move.answers)


@dataclass(frozen=True)
class ForcingProof:
    """Play that proves a bound: one move of the attacker in each position, and all answers.

    :ivar white: whether White is the attacker.
    :ivar bound: code of the score that the attacker is guaranteed.
    :ivar roots: the initial position if the attacker is to move, else the positions after each of the other
        side's moves.
    :ivar cycle_positions: the positions of this play that may be repeated for ever.
    """

    white: bool
    bound: Code
    roots: list[Reply]
    cycle_positions: frozenset[AttackPosition]

    def moves(self) -> Iterator[chess.Move]:
        """Yield the moves in the initial position after which the bound holds."""
        yield from (position.chosen_move.move if move is None else move for move, position in self.roots)

    def chosen_moves(self) -> Iterator[tuple[chess.Board, GScore, chess.Move]]:
        """Yield each position with the attacker to move, its accrued score, and the attacker's move.

        The position score is folded into the accrued score. If a state occurs with several values of
        patience, the smallest one comes last.
        """
        for position in sorted(_positions_of_play(self.roots), key=lambda position: -position.patience):
            if position.value is None:
                yield position.board, to_gscore(position.folded_score), position.chosen_move.move

    def line(self) -> Iterator[chess.Move]:
        """Yield the moves of a line that ends with the bound; an infinite one ends at a repeated position."""
        paths: dict[AttackPosition, list[chess.Move]] = {}
        for move, position in self.roots:
            paths.setdefault(position, [] if move is None else [move])
        for position in _positions_of_play(self.roots):
            if position.value is not None:
                if code_of(position.value) == self.bound:
                    yield from paths[position]
                    return
                continue
            move, score, answers = position.chosen_move
            if code_of(score) == self.bound and (position in self.cycle_positions or not answers):
                yield from paths[position]
                yield from self._repeating_play(position)
                return
            for answer, child in answers:
                assert answer is not None
                paths.setdefault(child, [*paths[position], move, answer])

    def _repeating_play(self, position: AttackPosition) -> Iterator[chess.Move]:
        """Yield moves that stay within ``cycle_positions``, until a position is repeated."""
        seen: set[AttackPosition] = set()
        while position not in seen and position.value is None:
            seen.add(position)
            yield position.chosen_move.move
            score = position.chosen_move.score
            replies = [
                reply
                for reply in position.chosen_move.answers
                if reply.position in self.cycle_positions and reply.position.chosen_move.score == score
            ]
            unseen = [reply for reply in replies if reply.position not in seen]
            if not replies:
                return
            move, position = (unseen or replies)[0]
            assert move is not None
            yield move


class ForcingSearch:
    """Searches for a proof that a side reaches its target by forcing moves.

    The target is a score that the side itself holds.

    :param board: the initial position, in which the game is not over and there are no castling rights.
    :param accrued: the accrued score.
    :param white: whether White is the attacker.
    :param rank: rank of the target, at most the rank of G63.0.
    :param answers: maximum number of answers to a move without check; 0 for checks only.
    :param value_of: returns the value of a position; None if no table has it.
    """

    def __init__(
        self, board: chess.Board, accrued: Signed, white: bool, rank: int, answers: int, value_of: ValueFinder
    ) -> None:
        self.white, self.rank, self.max_answers, self._value_of = white, rank, answers, value_of
        self._target_merit = merit(Signed(rank if white else ~rank), white)
        self._positions: dict[_PositionKey, AttackPosition] = {}
        patience = 0 if self._reaches(accrued) else _PATIENCE
        root = board.copy(stack=False)
        self._roots = (
            [Reply(None, self._position(root, accrued, patience))]
            if board.turn == white
            else self._answers(root, accrued, patience)
        )
        self.proof: ForcingProof | None = None
        """The proof; None until it is found."""
        self.is_refuted = False
        """Whether it is known that no proof exists."""

    @property
    def size(self) -> int:
        """Number of positions in memory."""
        return len(self._positions)

    def run(self, max_positions: int, has_time: Callable[[], bool]) -> None:
        """Continue the search until it ends or a limit is reached.

        :param max_positions: maximum number of positions to keep, examined or not.
        :param has_time: returns whether time remains.
        """
        while self.proof is None and not self.is_refuted:
            if any(root.position.is_refuted for root in self._roots):
                self.is_refuted = True
                self._positions = {}
                return
            positions = list(_positions_of_play(self._roots))
            unexamined = [position for position in positions if position.moves is None]
            if not unexamined:
                self._record_proof(positions)
            for position in unexamined[: max(_MIN_EXAMINED_POSITIONS, len(positions) // _EXAMINED_DIVISOR)]:
                if len(self._positions) >= max_positions or not has_time():
                    return
                self._examine(position)

    def _record_proof(self, positions: list[AttackPosition]) -> None:
        """Record the proof after all positions of the play have been examined.

        The bound is the worst score with which the play may end.

        :param positions: the positions of the play with the attacker to move.
        """
        final_scores = [position.value for position in positions if position.value is not None]
        moves = {position: position.chosen_move for position in positions if position.value is None}
        final_scores += [move.score for move in moves.values() if not move.answers]
        # Play may last for ever only where the accrued score does not change.
        cycles = {
            each: [child for _, child in move.answers if child in moves and moves[child].score == move.score]
            for each, move in moves.items()
        }
        _keep_cycles(cycles)
        final_scores += [moves[position].score for position in cycles]
        bound = min(final_scores, key=lambda score: merit(score, self.white))
        for position, move in moves.items():  # drop everything that the proof does not need
            position.moves, position.predecessors = [move], []
        self.proof = ForcingProof(self.white, code_of(bound), self._roots, frozenset(cycles))
        self._positions = {}

    def _examine(self, position: AttackPosition) -> None:
        """Find the moves of a position that may reach the target."""
        board = position.board
        value = self._value_of(board) if position.accrued is None else None
        if value is not None:
            position.moves = []
            if self._reaches(value):
                position.value = value
        else:
            position.moves = list(self._forcing_moves(board, position.folded_score, position.patience))
            for move in position.moves:
                for _, child in move.answers:
                    child.predecessors.append(position)
            _drop_refuted_moves(position)
        if position.is_refuted:
            _propagate_refutation(position)

    def _forcing_moves(self, board: chess.Board, accrued: Signed, patience: int) -> Iterator[ForcingMove]:
        """Yield the forcing moves that reach the target and, if patience remains, other forcing moves.

        If a move ends the game or leads into a table and reaches the target, only this move is yielded.
        """
        forcing_moves = []
        for move in board.legal_moves if self.max_answers else _checks_and_moves_into_tables(board):
            next_board = board.copy(stack=False)
            next_board.push(move)
            zeroing = board.is_zeroing(move)
            value = self._value_of(next_board) if zeroing else None
            after_score = to_signed(position_score(next_board))
            score = value if value is not None else after_score if zeroing else fold(accrued, after_score)
            ended = value is not None or rank_of(after_score) < 2
            if not self._reaches(score) and (ended or not patience):
                continue
            if ended:
                yield ForcingMove(move, score, [])
                return
            if next_board.is_check() or rank_of(after_score) < 2 * self.max_answers + 2:
                forcing_moves.append((move, score, next_board))
        for move, score, next_board in forcing_moves:
            yield ForcingMove(move, score, self._answers(next_board, score, patience - 1))

    def _reaches(self, score: Signed) -> bool:
        """Return whether a score is at least as good for the attacker as the target."""
        return merit(score, self.white) >= self._target_merit

    def _answers(self, board: chess.Board, accrued: Signed, patience: int) -> list[Reply]:
        """Return the legal moves of the other side in a state, with the positions after them.

        :param patience: the remaining patience. None remains after a zeroing answer, or once the accrued
            score has reached the target.
        """
        answers = []
        for move in board.legal_moves:
            next_board = board.copy(stack=False)
            next_board.push(move)
            zeroing = board.is_zeroing(move)
            rest = 0 if zeroing or self._reaches(accrued) else patience
            answers.append(Reply(move, self._position(next_board, None if zeroing else accrued, rest)))
        return answers

    def _position(self, board: chess.Board, accrued: Signed | None, patience: int) -> AttackPosition:
        """Return the object for a position with this accrued score and patience; make it if there is none."""
        men = board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
        passed = board.ep_square if board.has_legal_en_passant() else None
        key = *men, board.occupied_co[chess.WHITE], passed, accrued, patience
        return self._positions.setdefault(key, AttackPosition(board, accrued, patience))


def _positions_of_play(roots: list[Reply]) -> Iterator[AttackPosition]:
    """Yield the positions of the play from ``roots``, each once, in breadth-first order."""
    seen = dict.fromkeys(position for _, position in roots)
    queue = list(seen)
    for position in queue:
        yield position
        for _, child in position.chosen_move.answers if position.moves else ():
            if child not in seen:
                seen[child] = None
                queue.append(child)


def _keep_cycles(successors: dict[AttackPosition, list[AttackPosition]]) -> None:
    """Remove all positions from a graph except those on cycles and on paths between cycles.

    :param successors: the graph: the successors of each position. It is changed in place.
    """
    size_before = 0
    while size_before != len(successors):
        size_before = len(successors)
        targets = {child for children in successors.values() for child in children}
        for position in [p for p, children in successors.items() if p not in targets or not children]:
            del successors[position]
        for position, children in successors.items():
            successors[position] = [child for child in children if child in successors]


def _drop_refuted_moves(position: AttackPosition) -> None:
    """Drop the moves that have an answer after which the position is refuted."""
    moves = position.moves or []
    position.moves = [move for move in moves if not any(child.is_refuted for _, child in move.answers)]


def _propagate_refutation(position: AttackPosition) -> None:
    """Propagate the refutation of a position to its predecessors."""
    queue = [position]
    for refuted in queue:
        for predecessor in refuted.predecessors:
            if predecessor.moves:
                _drop_refuted_moves(predecessor)
                if predecessor.is_refuted:
                    queue.append(predecessor)


def _checks_and_moves_into_tables(board: chess.Board) -> Iterator[chess.Move]:
    """Yield the moves that give check, and the captures and pawn moves that may lead into tables."""
    king = board.king(not board.turn)
    near_tables = chess.popcount(board.occupied) <= MAX_MEN + 1
    assert king is not None, "positions are valid"
    diagonal = chess.BB_DIAG_ATTACKS[king][chess.BB_DIAG_MASKS[king] & board.occupied]
    straight = chess.BB_RANK_ATTACKS[king][chess.BB_RANK_MASKS[king] & board.occupied]
    straight |= chess.BB_FILE_ATTACKS[king][chess.BB_FILE_MASKS[king] & board.occupied]
    lines = diagonal | straight  # including the first man on each line, whose move may discover check
    pawn_squares = chess.BB_PAWN_ATTACKS[not board.turn][king]
    checking_squares = (
        chess.BB_EMPTY,
        pawn_squares,
        chess.BB_KNIGHT_ATTACKS[king],
        diagonal,
        straight,
        lines,
        chess.BB_EMPTY,
    )
    for move in board.legal_moves:
        squares = checking_squares[board.piece_type_at(move.from_square) or 0]
        may_check = chess.BB_SQUARES[move.to_square] & squares or chess.BB_SQUARES[move.from_square] & lines
        if ((may_check or move.promotion or board.is_en_passant(move)) and board.gives_check(move)) or (
            near_tables and board.is_zeroing(move)
        ):
            yield move


_TRIED_RANKS: Final = (0, 2, 4, 6, 8, 12, MAX_CODED_RANK)
"""Ranks of the targets that are tried, the strictest first. A strict target leaves few positions to examine,
so its proof may succeed where a proof of a weaker target needs too many."""
_FIRST_MAX_POSITIONS: Final = 500
"""Maximum number of positions that a search keeps in its first turn. It doubles in each further turn."""
MAX_POSITIONS: Final = 32_000
"""Maximum number of positions that a search keeps in any turn."""
_POSITION_BYTES: Final = 1_700
"""Estimated memory of a position in bytes."""
QUICK_MAX_POSITIONS: Final = 1_000
"""Maximum number of positions of each search if all searches together should take only a second or two."""


class ForcingSearches:
    """The searches of both sides from one state, each for one target and one maximum number of answers.

    :param accrued: the accrued score of the state.
    :param value_of: returns the value of a position; None if no table has it.
    :param meter: what remains of the budget. Its ``forcing_bytes`` is kept up to date.
    :param memory: maximum memory in bytes of all searches together.
    :param checks_only: whether to examine only checks.
    """

    def __init__(
        self,
        board: chess.Board,
        accrued: Signed,
        value_of: ValueFinder,
        meter: Meter,
        memory: int,
        *,
        checks_only: bool = False,
    ) -> None:
        self._open = {
            white: [
                ForcingSearch(board, accrued, white, rank, max_answers, value_of)
                for max_answers in ((0,) if checks_only else (0, _MAX_ANSWERS))
                for rank in _TRIED_RANKS
            ]
            for white in chess.COLORS
        }
        """Unfinished searches of each side. Those for checks only come first; in each group, the strictest
        target comes first."""
        self.proofs: dict[chess.Color, ForcingProof] = {}
        """The best proof of each side; sides without a proof are missing."""
        self._meter = meter
        self._memory = memory
        self._limit = 0
        self._shortage: Stop | None = None
        """The resource whose shortage ended the searches, if any."""

    def turns(self, max_positions: int = MAX_POSITIONS, time_share: float = 1.0) -> Iterator[None]:
        """Continue the searches of both sides in turns; yield after each turn.

        :param max_positions: maximum number of positions that each search may keep.
        :param time_share: the share of the remaining time that the searches may use.
        """
        seconds_left = self._meter.seconds_left
        reserve = 0.0 if math.isinf(seconds_left) else seconds_left * (1 - time_share)

        def has_time() -> bool:
            return self._meter.seconds_left > reserve

        while self._limit < max_positions and (count := sum(map(len, self._open.values()))) and has_time():
            limit = min(max(_FIRST_MAX_POSITIONS, 2 * self._limit), self._memory // (_POSITION_BYTES * count))
            if limit <= self._limit:
                self._drop_searches(Stop.MEMORY)
                return
            for white in chess.COLORS:
                for search in tuple(self._open[white]):
                    if search in self._open[white]:
                        search.run(limit, has_time)
                        self._drop_useless_searches(search)
                self._meter.forcing_bytes = _POSITION_BYTES * sum(s.size for s in chain(*self._open.values()))
                yield
            if has_time():
                self._limit = limit
        if self._limit >= MAX_POSITIONS:
            self._drop_searches()

    def _drop_searches(self, shortage: Stop | None = None) -> None:
        """Drop all searches with their positions.

        :param shortage: the resource whose shortage ends the searches; None if there is none.
        """
        self._shortage = shortage
        self._open = {white: [] for white in chess.COLORS}
        self._meter.forcing_bytes = 0
        gc.collect()  # positions refer to each other in cycles

    def _drop_useless_searches(self, search: ForcingSearch) -> None:
        """Drop the searches that the outcome of a search makes useless.

        After a proof these are the searches for targets that the bound reaches. After a refutation they are
        the searches for targets at least as strict, with at most as many answers.
        """
        searches = self._open[search.white]
        proof = search.proof
        if proof is not None:
            self.proofs[search.white] = proof
            searches[:] = [other for other in searches if other.rank < rank_of_code(proof.bound)]
        elif search.is_refuted:
            searches[:] = [s for s in searches if s.rank > search.rank or s.max_answers > search.max_answers]

    @property
    def shortage(self) -> Stop | None:
        """The resource that is too scarce to continue; None if nothing remains to try."""
        return self._meter.shortage if any(self._open.values()) else self._shortage
