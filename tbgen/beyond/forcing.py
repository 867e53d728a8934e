"""Bounds that a side proves by forcing moves, with any number of men on the board.

The *attacker* plays only forcing moves: checks, moves that leave few answers, and captures and pawn moves
into tables. The other side may play any answer. A move that leaves few answers is itself a score. So a
perpetual check, or any other way to keep the opponent at a few moves, proves a bound, whatever else is on the
board.

A search has a *goal*, the score to prove. The attacker's accrued score may be worse than the goal only after
its first few moves, and no longer once it has reached the goal, or after a capture or pawn move of the
opponent. Infinite play also reaches the goal, since the accrued score can change only a limited number of
times. So a position is good for the attacker unless it is refuted: this is a safety game, whose winning
positions are a greatest fixed point [1]. The search follows play with one move of the attacker in each
position and all answers to it. When no position of this play remains to be examined, the bound is proved. The
attacker's move with the fewest positions to examine is preferred: a best-first search in a graph of moves and
answers [2]. The searches of both sides take turns.

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
    of_gscore,
    rank_of,
    rank_of_code,
    to_gscore,
)

TableValue: TypeAlias = Callable[[chess.Board], Signed | None]
"""Function that returns the value of a position after a capture or pawn move; None if no table has it."""
_Key: TypeAlias = tuple[int | None, ...]
_MAX_ANSWERS: Final = 4
"""Maximum number of answers that a forcing move leaves, unless it gives check."""
_MIN_EXAMINED: Final = 4
"""Minimum number of positions that are examined before play is followed again."""
_EXAMINED_DIVISOR: Final = 32
"""One in this many positions of the play is examined before play is followed again, if that is more."""
_PATIENCE: Final = 3
"""Number of first moves after which the attacker's accrued score may be worse than the goal."""


class ForcingMove(NamedTuple):
    """A move of the attacker.

    :ivar move: the move.
    :ivar score: the accrued score after the move, or the value if the move ends the game or leads into a
        table.
    :ivar answers: all moves of the other side.
    """

    move: chess.Move
    score: Signed
    answers: "list[Reply]"


class Reply(NamedTuple):
    """A move of the other side, or None before the attacker's first move; and the position after it."""

    move: chess.Move | None
    after: "Attack"


@dataclass(eq=False, slots=True)
class Attack:
    """A position with the attacker to move.

    :ivar board: the position.
    :ivar accrued: the accrued score, without the position score; None after a capture or pawn move.
    :ivar patience: number of further moves after which the accrued score may be worse than the goal.
    :ivar moves: the moves that have not been refuted; None if the position has not been examined.
    :ivar value: the value, if a table has it and it reaches the goal.
    :ivar above: the predecessors of the position.
    """

    board: chess.Board
    accrued: Signed | None
    patience: int
    moves: list[ForcingMove] | None = None
    value: Signed | None = None
    above: "list[Attack]" = field(default_factory=list)

    @property
    def folded_score(self) -> Signed:
        """The accrued score with the position score folded in."""
        score = of_gscore(position_score(self.board))
        return score if self.accrued is None else fold(self.accrued, score)

    @property
    def refuted(self) -> bool:
        """Whether no move reaches the goal."""
        return self.moves == [] and self.value is None

    @property
    def best(self) -> ForcingMove:
        """The move with which play continues, according to what has been examined."""
        assert self.moves, "the position is examined, not refuted, and has no value"
        return min(self.moves, key=_effort)


def _effort(move: ForcingMove) -> tuple[int, int]:
    """Return the sort key of a move: the number of answers not yet examined, and of all answers."""
    new = sum(reply.after.moves is None for reply in move.answers)
    return new, len(move.answers)


@dataclass(frozen=True)
class ForcingProof:
    """Play that proves a bound.

    :ivar white: whether White is the attacker.
    :ivar bound: code of the score that the attacker gets at least.
    :ivar roots: the initial position if the attacker is to move in it, else the positions after each of its
        moves.
    :ivar lasting: the positions that may be repeated for ever.
    """

    white: bool
    bound: Code
    roots: list[Reply]
    lasting: frozenset[Attack]

    def moves(self) -> Iterator[chess.Move]:
        """Yield the moves of the initial position after which the bound holds."""
        yield from (after.best.move if move is None else move for move, after in self.roots)

    def chosen_moves(self) -> Iterator[tuple[chess.Board, GScore, chess.Move]]:
        """Yield the positions with the attacker to move, the accrued score (folded), and the attacker's move.

        If a state occurs with several degrees of patience, the least patient one comes last.
        """
        for attack in sorted(_followed_attacks(self.roots), key=lambda attack: -attack.patience):
            if attack.value is None:
                yield attack.board, to_gscore(attack.folded_score), attack.best.move

    def line(self) -> Iterator[chess.Move]:
        """Yield play that ends with the bound; where play may last for ever, until a position is repeated."""
        paths: dict[Attack, list[chess.Move]] = {}
        for move, after in self.roots:
            paths.setdefault(after, [] if move is None else [move])
        for here in _followed_attacks(self.roots):
            if here.value is not None:
                if code_of(here.value) == self.bound:
                    yield from paths[here]
                    return
                continue
            move, score, answers = here.best
            if code_of(score) == self.bound and (here in self.lasting or not answers):
                yield from paths[here]
                yield from self._lasting_play(here)
                return
            for answer, after in answers:
                assert answer is not None
                paths.setdefault(after, [*paths[here], move, answer])

    def _lasting_play(self, here: Attack) -> Iterator[chess.Move]:
        """Yield play among the lasting positions, until one is repeated."""
        seen: set[Attack] = set()
        while here not in seen and here.value is None:
            seen.add(here)
            yield here.best.move
            score = here.best.score
            after = [
                reply
                for reply in here.best.answers
                if reply.after in self.lasting and reply.after.best.score == score
            ]
            new = [reply for reply in after if reply.after not in seen]
            if not after:
                return
            move, here = (new or after)[0]
            assert move is not None
            yield move


class ForcingSearch:
    """Searches for a proof by forcing moves that a side gets its goal, a score that it holds, or better.

    :param board: the initial position, not over and without castling rights.
    :param accrued: the accrued score.
    :param white: whether White is the attacker.
    :param rank: rank of the goal, up to G63.0.
    :param answers: maximum number of answers that a move without check may leave; 0 for checks only.
    :param value_of: returns the value of a position that a table has.
    """

    def __init__(
        self, board: chess.Board, accrued: Signed, white: bool, rank: int, answers: int, value_of: TableValue
    ) -> None:
        self.white, self.rank, self.max_answers, self._value_of = white, rank, answers, value_of
        self._goal = merit(Signed(rank if white else ~rank), white)
        self._attacks: dict[_Key, Attack] = {}
        patience = 0 if self._reaches(accrued) else _PATIENCE
        root = board.copy(stack=False)
        self._roots = (
            [Reply(None, self._attack(root, accrued, patience))]
            if board.turn == white
            else self._answers(root, accrued, patience)
        )
        self.proof: ForcingProof | None = None
        """The proof, once it is found."""
        self.refuted = False
        """Whether no proof exists."""

    @property
    def kept(self) -> int:
        """Number of positions that are kept."""
        return len(self._attacks)

    def run(self, most: int, has_time: Callable[[], bool]) -> None:
        """Continue the search for a proof.

        :param most: maximum number of positions to keep, examined or not.
        :param has_time: returns whether time remains.
        """
        while self.proof is None and not self.refuted:
            if any(root.after.refuted for root in self._roots):
                self.refuted, self._attacks = True, {}
                return
            play = list(_followed_attacks(self._roots))
            new = [attack for attack in play if attack.moves is None]
            if not new:
                self._prove(play)
            for attack in new[: max(_MIN_EXAMINED, len(play) // _EXAMINED_DIVISOR)]:
                if len(self._attacks) >= most or not has_time():
                    return
                self._examine(attack)

    def _prove(self, play: list[Attack]) -> None:
        """Record the proof by play that is examined completely; the bound is the worst score it may end with.

        :param play: the positions of the play with the attacker to move.
        """
        ends = [attack.value for attack in play if attack.value is not None]
        best = {attack: attack.best for attack in play if attack.value is None}
        ends += [move.score for move in best.values() if not move.answers]
        # The accrued score does not change on a cycle.
        cycles = {
            attack: [after for _, after in move.answers if after in best and best[after].score == move.score]
            for attack, move in best.items()
        }
        _keep_cycles(cycles)
        ends += [best[attack].score for attack in cycles]
        bound = min(ends, key=lambda score: merit(score, self.white))
        for attack, move in best.items():  # drop everything that the proof does not need
            attack.moves, attack.above = [move], []
        self.proof = ForcingProof(self.white, code_of(bound), self._roots, frozenset(cycles))
        self._attacks = {}

    def _examine(self, attack: Attack) -> None:
        """Find the moves of a position that may reach the goal."""
        board = attack.board
        value = self._value_of(board) if attack.accrued is None else None
        if value is not None:
            attack.moves = []
            if self._reaches(value):
                attack.value = value
        else:
            attack.moves = list(self._moves(board, attack.folded_score, attack.patience))
            for move in attack.moves:
                for _, after in move.answers:
                    after.above.append(attack)
            _drop_refuted(attack)
        if attack.refuted:
            _refute(attack)

    def _moves(self, board: chess.Board, accrued: Signed, patience: int) -> Iterator[ForcingMove]:
        """Yield the attacker's moves that reach the goal, or may do so as long as patience lasts.

        If a move ends the game or leads into a table, and reaches the goal, it alone is yielded.
        """
        found = []
        for move in board.legal_moves if self.max_answers else _checks(board):
            after = board.copy(stack=False)
            after.push(move)
            zeroing = board.is_zeroing(move)
            value = self._value_of(after) if zeroing else None
            after_score = of_gscore(position_score(after))
            score = value if value is not None else after_score if zeroing else fold(accrued, after_score)
            ended = value is not None or rank_of(after_score) < 2
            if not self._reaches(score) and (ended or not patience):
                continue
            if ended:
                yield ForcingMove(move, score, [])
                return
            if after.is_check() or rank_of(after_score) < 2 * self.max_answers + 2:
                found.append((move, score, after))
        for move, score, after in found:
            yield ForcingMove(move, score, self._answers(after, score, patience - 1))

    def _reaches(self, score: Signed) -> bool:
        """Return whether a score is at least as good for the attacker as the goal."""
        return merit(score, self.white) >= self._goal

    def _answers(self, board: chess.Board, accrued: Signed, patience: int) -> list[Reply]:
        """Return the legal moves of the other side in a state.

        :param patience: the remaining patience if the accrued score does not reach the goal.
        """
        answers = []
        for move in board.legal_moves:
            after = board.copy(stack=False)
            after.push(move)
            zeroing = board.is_zeroing(move)
            rest = 0 if zeroing or self._reaches(accrued) else patience
            answers.append(Reply(move, self._attack(after, None if zeroing else accrued, rest)))
        return answers

    def _attack(self, board: chess.Board, accrued: Signed | None, patience: int) -> Attack:
        """Return the unique object of a position with an accrued score and patience."""
        men = board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
        passed = board.ep_square if board.has_legal_en_passant() else None
        key = *men, board.occupied_co[chess.WHITE], passed, accrued, patience
        return self._attacks.setdefault(key, Attack(board, accrued, patience))


def _followed_attacks(roots: list[Reply]) -> Iterator[Attack]:
    """Yield the positions that play comes to, each once, in breadth-first order."""
    seen = dict.fromkeys(after for _, after in roots)
    waiting = list(seen)
    for attack in waiting:
        yield attack
        for _, after in attack.best.answers if attack.moves else ():
            if after not in seen:
                seen[after] = None
                waiting.append(after)


def _keep_cycles(successors: dict[Attack, list[Attack]]) -> None:
    """Remove all positions from a graph but those on cycles, or on paths between cycles.

    :param successors: the positions that each position leads to.
    """
    before = 0
    while before != len(successors):
        before = len(successors)
        targets = {after for afters in successors.values() for after in afters}
        for attack in [each for each, afters in successors.items() if each not in targets or not afters]:
            del successors[attack]
        for attack, afters in successors.items():
            successors[attack] = [after for after in afters if after in successors]


def _drop_refuted(attack: Attack) -> None:
    """Drop the moves to which some answer leads to a refuted position."""
    moves = attack.moves or []
    attack.moves = [move for move in moves if not any(after.refuted for _, after in move.answers)]


def _refute(attack: Attack) -> None:
    """Propagate the refutation of a position to its predecessors."""
    waiting = [attack]
    for refuted in waiting:
        for above in refuted.above:
            if above.moves:
                _drop_refuted(above)
                if above.refuted:
                    waiting.append(above)


def _checks(board: chess.Board) -> Iterator[chess.Move]:
    """Yield the moves that give check, and captures and pawn moves that may lead into tables."""
    king, near_tables = board.king(not board.turn), chess.popcount(board.occupied) <= MAX_MEN + 1
    assert king is not None, "positions are valid"
    diagonal = chess.BB_DIAG_ATTACKS[king][chess.BB_DIAG_MASKS[king] & board.occupied]
    straight = chess.BB_RANK_ATTACKS[king][chess.BB_RANK_MASKS[king] & board.occupied]
    straight |= chess.BB_FILE_ATTACKS[king][chess.BB_FILE_MASKS[king] & board.occupied]
    lines = diagonal | straight  # including the first men on them, which may give a discovered check
    pawns = chess.BB_PAWN_ATTACKS[not board.turn][king]
    checking_squares = (
        chess.BB_EMPTY,
        pawns,
        chess.BB_KNIGHT_ATTACKS[king],
        diagonal,
        straight,
        lines,
        chess.BB_EMPTY,
    )
    for move in board.legal_moves:
        target = checking_squares[board.piece_type_at(move.from_square) or 0]
        may = chess.BB_SQUARES[move.to_square] & target or chess.BB_SQUARES[move.from_square] & lines
        if ((may or move.promotion or board.is_en_passant(move)) and board.gives_check(move)) or (
            near_tables and board.is_zeroing(move)
        ):
            yield move


_TRIED_RANKS: Final = (0, 2, 4, 6, 8, 12, MAX_CODED_RANK)
"""Ranks of the goals that are tried, the best first. Strict goals leave few positions to examine, so that one
may be proved where weaker goals take too many positions."""
_FIRST_POSITIONS: Final = 500
"""Maximum number of positions that a search keeps in its first turn; it doubles in each further turn."""
MAX_POSITIONS: Final = 32_000
"""Maximum number of positions that a search keeps in any turn."""
_POSITION_BYTES: Final = 1_700
"""Memory of a position."""
QUICK_POSITIONS: Final = 1_000
"""Maximum number of positions of each search with which all searches together take a second or two."""


class Attackers:
    """The searches of both sides from one state.

    :param accrued: the accrued score of the state.
    :param value_of: returns the value of a position that a table has.
    :param meter: the rest of the budget, where the memory of kept positions is recorded.
    :param memory: maximum memory in bytes of all searches together.
    :param checks_only: whether to examine only checks.
    """

    def __init__(
        self,
        board: chess.Board,
        accrued: Signed,
        value_of: TableValue,
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
        """Unfinished searches: those with fewer moves to examine first, and of these the strictest first."""
        self.proofs: dict[chess.Color, ForcingProof] = {}
        """The best proof of each side that has one."""
        self._meter, self._memory, self._kept = meter, memory, 0
        self._ended_by: Stop | None = None
        """The scarce resource for which searches were given up."""

    def turns(self, most: int = MAX_POSITIONS, share: float = 1.0) -> Iterator[None]:
        """Continue the searches of both sides in turns; yield after each turn.

        :param most: maximum number of positions that each search may keep.
        :param share: the share of the remaining time that this may take.
        """
        seconds_left = self._meter.seconds_left
        reserve = 0.0 if math.isinf(seconds_left) else seconds_left * (1 - share)

        def has_time() -> bool:
            return self._meter.seconds_left > reserve

        while self._kept < most and (count := sum(map(len, self._open.values()))) and has_time():
            kept = min(max(_FIRST_POSITIONS, 2 * self._kept), self._memory // (_POSITION_BYTES * count))
            if kept <= self._kept:
                self._give_up(Stop.MEMORY)
                return
            for white in chess.COLORS:
                for search in tuple(self._open[white]):
                    if search in self._open[white]:
                        search.run(kept, has_time)
                        self._use_outcome(search)
                self._meter.forcing_bytes = _POSITION_BYTES * sum(s.kept for s in chain(*self._open.values()))
                yield
            if has_time():
                self._kept = kept
        if self._kept >= MAX_POSITIONS:
            self._give_up()

    def _give_up(self, shortage: Stop | None = None) -> None:
        """Drop all searches with their positions.

        :param shortage: the scarce resource for which they are given up.
        """
        self._ended_by = shortage
        self._open, self._meter.forcing_bytes = {white: [] for white in chess.COLORS}, 0
        gc.collect()  # positions refer to one another in cycles

    def _use_outcome(self, search: ForcingSearch) -> None:
        """Drop the searches that the outcome of one makes useless.

        A proof makes searches for weaker goals useless, a refutation those for stricter goals.
        """
        searches, proof = self._open[search.white], search.proof
        if proof is not None:
            self.proofs[search.white] = proof
            searches[:] = [other for other in searches if other.rank < rank_of_code(proof.bound)]
        elif search.refuted:
            searches[:] = [s for s in searches if s.rank > search.rank or s.max_answers > search.max_answers]

    @property
    def shortage(self) -> Stop | None:
        """The resource that is too scarce to continue; None if nothing remains to try."""
        return self._meter.shortage if any(self._open.values()) else self._ended_by
