"""Bounds that a side proves by forcing moves, with any number of men; both sides' searches take turns.

The *attacker* looks at forcing moves only: checks, moves that leave few answers, and captures and pawn moves
into tables. The other side may answer as it likes. A move that leaves few answers is a score, so a perpetual
check, or any way to keep the other side at a few moves, is a bound, whatever else is on the board.

The first few moves may leave the attacker with less than it wants to prove; every later one has to reach
that, and so has every one after it was reached once, or after the other side's capture or pawn move. Play
without an end is worth that, too, since the accrued score changes a limited number of times. So a position
counts as good as long as it is not refuted: this is a safety game, whose winning positions are a greatest
fixed point [1]. Play is followed that has one move of the attacker for each position and all answers; once it
comes to nothing that has not been looked at, the bound is proved. The move that leaves the fewest positions
to look at is preferred, a best-first search in a graph of moves and answers [2].

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

Worth: TypeAlias = Callable[[chess.Board], Signed | None]
"""Tells the value of a position that a capture or pawn move has led to, where a table has it."""
_Key: TypeAlias = tuple[int | None, ...]
_FEW: Final = 4
"""Positions that are looked at before play is followed again..."""
_PART: Final = 32
"""...or such a part of those that it came to, if that is more."""
_PATIENCE: Final = 3
"""How many moves at first may leave the attacker with less than it wants to prove."""


class ForcingMove(NamedTuple):
    """A move of the attacker.

    :ivar move: the move.
    :ivar score: the accrued score after it; the value, where it ends the game or leads into a table.
    :ivar answers: what the other side may play.
    """

    move: chess.Move
    score: Signed
    answers: "list[Reply]"


class Reply(NamedTuple):
    """A move of the other side, None before the attacker's first move, and the position after it."""

    move: chess.Move | None
    after: "Attack"


@dataclass(eq=False, slots=True)
class Attack:
    """A position with the attacker to move.

    :ivar board: the position.
    :ivar accrued: the accrued score, without the position's own; None after a capture or pawn move.
    :ivar patience: for how many more moves less may have accrued than what is to be proved.
    :ivar moves: the moves that have not been refuted; None if it has not been looked at.
    :ivar value: its value, where a table has it.
    :ivar above: the positions from which moves lead here.
    """

    board: chess.Board
    accrued: Signed | None
    patience: int
    moves: list[ForcingMove] | None = None
    value: Signed | None = None
    above: "list[Attack]" = field(default_factory=list)

    @property
    def held(self) -> Signed:
        """The accrued score with the position's own."""
        own = of_gscore(position_score(self.board))
        return own if self.accrued is None else fold(self.accrued, own)

    @property
    def refuted(self) -> bool:
        """Whether no move is good enough."""
        return self.moves == [] and self.value is None

    @property
    def best(self) -> ForcingMove:
        """The move that play goes on with, by what has been looked at."""
        assert self.moves, "of a position that is not refuted and has no value"
        return min(self.moves, key=_effort)


def _effort(move: ForcingMove) -> tuple[int, int]:
    """Sort key of a move: answers that have not been looked at, and all."""
    new = sum(reply.after.moves is None for reply in move.answers)
    return new, len(move.answers)


@dataclass(frozen=True)
class ForcingProof:
    """Play that proves a bound.

    :ivar white: whether White attacks.
    :ivar bound: code of what the attacker gets at least.
    :ivar roots: the given position, or those after each of its moves if the other side is to move in it.
    :ivar lasting: the positions that may come about again and again.
    """

    white: bool
    bound: Code
    roots: list[Reply]
    lasting: frozenset[Attack]

    def moves(self) -> Iterator[chess.Move]:
        """Yield the moves of the given position after which the bound holds."""
        yield from (after.best.move if move is None else move for move, after in self.roots)

    def choices(self) -> Iterator[tuple[chess.Board, GScore, chess.Move]]:
        """Yield the positions that play comes to with the attacker to move, the accrued score, its own
        included, and the attacker's move; of equal states the one with the least patience last."""
        for attack in sorted(_followed(self.roots), key=lambda attack: -attack.patience):
            if attack.value is None:
                yield attack.board, to_gscore(attack.held), attack.best.move

    def line(self) -> Iterator[chess.Move]:
        """Yield play that ends with the bound: up to there, and on until a position comes about again."""
        ways: dict[Attack, list[chess.Move]] = {}
        for move, after in self.roots:
            ways.setdefault(after, [] if move is None else [move])
        for here in _followed(self.roots):
            if here.value is not None:
                if code_of(here.value) == self.bound:
                    yield from ways[here]
                    return
                continue
            move, score, answers = here.best
            if code_of(score) == self.bound and (here in self.lasting or not answers):
                yield from ways[here]
                yield from self._on(here)
                return
            for answer, after in answers:
                assert answer is not None
                ways.setdefault(after, [*ways[here], move, answer])

    def _on(self, here: Attack) -> Iterator[chess.Move]:
        """Yield play that stays where play may stay for ever."""
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
    """Looks for a proof by forcing moves that a side gets a score of its own, or better.

    :param board: the given position, not over and without castling rights.
    :param accrued: its accrued score.
    :param white: whether White attacks.
    :param rank: that of the score, up to G63.0.
    :param few: up to how many answers a move that gives no check may leave; 0 for checks only.
    :param worth: what tables say.
    """

    def __init__(
        self, board: chess.Board, accrued: Signed, white: bool, rank: int, few: int, worth: Worth
    ) -> None:
        self.white, self.rank, self.few, self._worth = white, rank, few, worth
        self._goal = merit(Signed(rank if white else ~rank), white)
        self._attacks: dict[_Key, Attack] = {}
        patience = 0 if self._reaches(accrued) else _PATIENCE
        given = board.copy(stack=False)
        self._roots = (
            [Reply(None, self._attack(given, accrued, patience))]
            if board.turn == white
            else self._answers(given, accrued, patience)
        )
        self.proof: ForcingProof | None = None
        """What has been found."""
        self.refuted = False
        """Whether there is no proof."""

    @property
    def kept(self) -> int:
        """How many positions are kept."""
        return len(self._attacks)

    def run(self, most: int, has_time: Callable[[], bool]) -> None:
        """Look for a proof; the next call goes on.

        :param most: positions to keep, those included that have not been looked at.
        :param has_time: tells whether there is time for more.
        """
        while self.proof is None and not self.refuted:
            if any(root.after.refuted for root in self._roots):
                self.refuted, self._attacks = True, {}
                return
            play = list(_followed(self._roots))
            new = [attack for attack in play if attack.moves is None]
            if not new:
                self._prove(play)
            for attack in new[: max(_FEW, len(play) // _PART)]:
                if len(self._attacks) >= most or not has_time():
                    return
                self._look_at(attack)

    def _prove(self, play: list[Attack]) -> None:
        """Note what play proves that has no position left to look at: the worst that it may end with."""
        ends = [attack.value for attack in play if attack.value is not None]
        best = {attack: attack.best for attack in play if attack.value is None}
        ends += [move.score for move in best.values() if not move.answers]
        # Where play goes round in circles, the accrued score stays the same.
        stays = {
            attack: [after for _, after in move.answers if after in best and best[after].score == move.score]
            for attack, move in best.items()
        }
        _keep_circles(stays)
        ends += [best[attack].score for attack in stays]
        bound = min(ends, key=lambda score: merit(score, self.white))
        for attack, move in best.items():  # nothing else is needed any longer
            attack.moves, attack.above = [move], []
        self.proof = ForcingProof(self.white, code_of(bound), self._roots, frozenset(stays))
        self._attacks = {}

    def _look_at(self, attack: Attack) -> None:
        """Find the moves of a position that are worth trying."""
        board = attack.board
        value = self._worth(board) if attack.accrued is None else None
        if value is not None:
            attack.moves = []
            if self._reaches(value):
                attack.value = value
        else:
            attack.moves = list(self._moves(board, attack.held, attack.patience))
            for move in attack.moves:
                for _, after in move.answers:
                    after.above.append(attack)
            _drop_refuted(attack)
        if attack.refuted:
            _refute(attack)

    def _moves(self, board: chess.Board, accrued: Signed, patience: int) -> Iterator[ForcingMove]:
        """Yield the moves of the attacker that reach its goal, or may do so soon; only one that wins at once,
        if there is one."""
        found = []
        for move in board.legal_moves if self.few else _checks(board):
            after = board.copy(stack=False)
            after.push(move)
            zeroing = board.is_zeroing(move)
            value = self._worth(after) if zeroing else None
            own = of_gscore(position_score(after))
            score = value if value is not None else own if zeroing else fold(accrued, own)
            ended = value is not None or rank_of(own) < 2
            if not self._reaches(score) and (ended or not patience):
                continue
            if ended:
                yield ForcingMove(move, score, [])
                return
            if after.is_check() or rank_of(own) < 2 * self.few + 2:
                found.append((move, score, after))
        for move, score, after in found:
            yield ForcingMove(move, score, self._answers(after, score, patience - 1))

    def _reaches(self, score: Signed) -> bool:
        """Whether a score is as good for the attacker as its goal."""
        return merit(score, self.white) >= self._goal

    def _answers(self, board: chess.Board, accrued: Signed, patience: int) -> list[Reply]:
        """Return what the other side may play with an accrued score.

        :param patience: what is left of it if the score does not reach the goal.
        """
        answers = []
        for move in board.legal_moves:
            after = board.copy(stack=False)
            after.push(move)
            zeroing = board.is_zeroing(move)
            left = 0 if zeroing or self._reaches(accrued) else patience
            answers.append(Reply(move, self._attack(after, None if zeroing else accrued, left)))
        return answers

    def _attack(self, board: chess.Board, accrued: Signed | None, patience: int) -> Attack:
        """Return the one object of a position with an accrued score."""
        men = board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
        passed = board.ep_square if board.has_legal_en_passant() else None
        key = *men, board.occupied_co[chess.WHITE], passed, accrued, patience
        return self._attacks.setdefault(key, Attack(board, accrued, patience))


def _followed(roots: list[Reply]) -> Iterator[Attack]:
    """Yield the positions that play comes to, each once, the nearest first."""
    seen = dict.fromkeys(after for _, after in roots)
    waiting = list(seen)
    for attack in waiting:
        yield attack
        for _, after in attack.best.answers if attack.moves else ():
            if after not in seen:
                seen[after] = None
                waiting.append(after)


def _keep_circles(leads: dict[Attack, list[Attack]]) -> None:
    """Keep the positions that lie on circles, or between them.

    :param leads: the positions that each leads to.
    """
    before = 0
    while before != len(leads):
        before = len(leads)
        led_to = {after for afters in leads.values() for after in afters}
        for attack in [each for each, afters in leads.items() if each not in led_to or not afters]:
            del leads[attack]
        for attack, afters in leads.items():
            leads[attack] = [after for after in afters if after in leads]


def _drop_refuted(attack: Attack) -> None:
    """Drop the moves that an answer refutes."""
    moves = attack.moves or []
    attack.moves = [move for move in moves if not any(after.refuted for _, after in move.answers)]


def _refute(attack: Attack) -> None:
    """Note what it means for the positions above that one is refuted."""
    waiting = [attack]
    for refuted in waiting:
        for above in refuted.above:
            if above.moves:
                _drop_refuted(above)
                if above.refuted:
                    waiting.append(above)


def _checks(board: chess.Board) -> Iterator[chess.Move]:
    """Yield the moves that give check, and those that may lead into tables."""
    king, few = board.king(not board.turn), chess.popcount(board.occupied) <= MAX_MEN + 1
    assert king is not None, "positions are valid"
    diagonal = chess.BB_DIAG_ATTACKS[king][chess.BB_DIAG_MASKS[king] & board.occupied]
    straight = chess.BB_RANK_ATTACKS[king][chess.BB_RANK_MASKS[king] & board.occupied]
    straight |= chess.BB_FILE_ATTACKS[king][chess.BB_FILE_MASKS[king] & board.occupied]
    seen = diagonal | straight  # the first men on the king's lines: they may uncover a check
    pawns = chess.BB_PAWN_ATTACKS[not board.turn][king]
    from_where = (
        chess.BB_EMPTY,
        pawns,
        chess.BB_KNIGHT_ATTACKS[king],
        diagonal,
        straight,
        seen,
        chess.BB_EMPTY,
    )
    for move in board.legal_moves:
        target = from_where[board.piece_type_at(move.from_square) or 0]
        may = chess.BB_SQUARES[move.to_square] & target or chess.BB_SQUARES[move.from_square] & seen
        if ((may or move.promotion or board.is_en_passant(move)) and board.gives_check(move)) or (
            few and board.is_zeroing(move)
        ):
            yield move


_RANKS: Final = (0, 2, 4, 6, 8, 12, MAX_CODED_RANK)
"""Of the scores that are tried, the best first: strict ones leave little to look at, and may be proved where
more is too much."""
_FIRST: Final = 500
"""Positions that a search may keep at its first turn, and twice as many at each that follows..."""
MOST: Final = 32_000
"""...up to so many."""
_BYTES: Final = 1_700
"""Bytes that a position takes."""
AT_ONCE: Final = 1_000
"""Positions that take a second or two for all searches."""


class Attackers:
    """The searches of both sides from one state.

    :param accrued: the state's accrued score.
    :param worth: what tables say.
    :param meter: the rest of the budget; what is kept counts there.
    :param memory: bytes that the searches may keep together.
    :param checks_only: whether to look at checks only.
    """

    def __init__(
        self,
        board: chess.Board,
        accrued: Signed,
        worth: Worth,
        meter: Meter,
        memory: int,
        *,
        checks_only: bool = False,
    ) -> None:
        self._open = {
            white: [
                ForcingSearch(board, accrued, white, rank, few, worth)
                for few in ((0,) if checks_only else (0, _FEW))
                for rank in _RANKS
            ]
            for white in chess.COLORS
        }
        """Searches without an answer: those that look at fewer moves first, and of these the strictest."""
        self.proofs: dict[chess.Color, ForcingProof] = {}
        """The best one of each side that has one."""
        self._meter, self._memory, self._kept = meter, memory, 0
        self._ended_by: Stop | None = None
        """What there was too little of when searches were given up."""

    def turns(self, most: int = MOST, share: float = 1.0) -> Iterator[None]:
        """Let the sides search where they have not before; yield after each turn.

        :param most: positions that each search may keep.
        :param share: the part of the time left that this may take.
        """
        left = self._meter.left
        until = 0.0 if math.isinf(left) else left * (1 - share)

        def has_time() -> bool:
            return self._meter.left > until

        while self._kept < most and (count := sum(map(len, self._open.values()))) and has_time():
            kept = min(max(_FIRST, 2 * self._kept), self._memory // (_BYTES * count))
            if kept <= self._kept:
                self._give_up(Stop.MEMORY)
                return
            for white in chess.COLORS:
                for search in tuple(self._open[white]):
                    if search in self._open[white]:
                        search.run(kept, has_time)
                        self._take(search)
                self._meter.besides = _BYTES * sum(search.kept for search in chain(*self._open.values()))
                yield
            if has_time():
                self._kept = kept
        if self._kept >= MOST:
            self._give_up()

    def _give_up(self, shortage: Stop | None = None) -> None:
        """Drop all searches: what they keep is of no more use.

        :param shortage: what there was too little of.
        """
        self._ended_by = shortage
        self._open, self._meter.besides = {white: [] for white in chess.COLORS}, 0
        gc.collect()  # positions hold one another

    def _take(self, search: ForcingSearch) -> None:
        """Drop searches that the outcome of one leaves nothing to find: weaker ones if it has a proof, and
        stricter ones if it is refuted."""
        searches, proof = self._open[search.white], search.proof
        if proof is not None:
            self.proofs[search.white] = proof
            searches[:] = [other for other in searches if other.rank < rank_of_code(proof.bound)]
        elif search.refuted:
            searches[:] = [other for other in searches if other.rank > search.rank or other.few > search.few]

    @property
    def shortage(self) -> Stop | None:
        """What there is too little of to go on, if there is anything left to try."""
        return self._meter.shortage if any(self._open.values()) else self._ended_by
