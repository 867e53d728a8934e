"""The game that the engine plays: the command ``position``, what a search asks, and what is known.

Advice is what somebody knows of the state to move from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.rules import without_impossible_en_passant
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.games.outcome import Doubt
from tbgen.games.referee import Arbiter, PlayedPosition
from tbgen.games.settings import FiftyMoveRule, GameSettings

_FEW_PLIES: Final = 40
"""So many moves are told to an engine for chess at least, as long as they are quiet ones."""
_EXPECTED: Final = "expected: position startpos|fen FEN [moves MOVE ...]"


@dataclass(frozen=True, slots=True)
class RootLine:
    """A move with best play after it, as far as a search has looked.

    :ivar line: best play as far as it is known, at least a move.
    :ivar value: of the game, on the scale of :mod:`tbgen.engine.scale`, seen by White.
    :ivar depth: plies of the iteration that found it; 0 before the first one.
    :ivar place: of the line's first move among all of them, the best one's 1.
    """

    line: tuple[chess.Move, ...]
    value: int
    depth: int
    place: int = 1


class SearchCounts(NamedTuple):
    """How far a search has come.

    :ivar nodes: states looked at.
    :ivar hits: states among them whose value tables told.
    :ivar deepest: most plies looked ahead.
    :ivar permille: how full the transposition table is, in thousandths.
    """

    nodes: int
    hits: int
    deepest: int = 1
    permille: int = 0


class SearchGame(Arbiter):
    """A game under the arbiter, with what a search needs at every node."""

    @property
    def live(self) -> chess.Board:
        """The current position itself, with all moves made since the first one: to read, not to change."""
        return self._board

    def for_chess(self) -> chess.Board:
        """Return the current position for an engine that goes by the 50-move rule of chess.

        Its clock is that of the game, in which other moves may be progress too, or none counts, and its moves
        are those since then; but at least 40 quiet plies are told, where there are so many, so that it sees
        repetitions, and the clock is not less than their number.
        """
        board = self._board
        clock = 0 if self._rule is FiftyMoveRule.NONE else self.clock
        clock = max(clock, min(board.halfmove_clock, len(board.move_stack), _FEW_PLIES))
        if board.halfmove_clock == clock:
            return board.copy()
        since = min(clock, len(board.move_stack))
        told = board.copy(stack=since).root()
        told.halfmove_clock = clock - since
        for move in board.move_stack[len(board.move_stack) - since :]:
            told.push(move)
        return told

    @property
    def length(self) -> int:
        """The positions of the game up to the current one."""
        return len(self._plies)

    @property
    def occurrences(self) -> int:
        """How often the current position has been on the board."""
        return self._plies[-1].occurrences

    @property
    def played(self) -> list[tuple[tuple[int, ...], PlayedPosition]]:
        """The positions of the game up to the current one, as repetition knows them, and what counts in them.

        The first are the men (six sets, pawns first), White's men, the side to move, the rights to castle and
        the square of a right to capture en passant, -1 for none.
        """
        return list(zip(self._keys, self._plies, strict=True))

    def play(self, move: chess.Move) -> None:
        """Make a move that is known to be legal."""
        self._push(move)

    def accrued_after(self, line: Sequence[chess.Move]) -> GScore:
        """Return the accrued score at the end of a line of legal moves, or where the game ends in it."""
        start = self.length
        for move in line:
            self.play(move)
            if self.basis is not None:
                break
        accrued = self.accrued
        while self.length > start:
            self.pop()
        return accrued

    def returns(self, first: int) -> bool:
        """Tell whether the current state has been there before, from some position of the game on.

        Then play that goes round for ever is worth the accrued score.

        :param first: number of that position, from 0.
        """
        ply, key = self._plies[-1], self._keys[-1]
        if ply.occurrences == 1:
            return False
        return any(
            self._keys[number] == key and self._plies[number].accrued == ply.accrued
            for number in range(len(self._plies) - 2, first - 1, -1)
        )


def read_game(
    words: Sequence[str],
    *,
    accrued: GScore | None = None,
    rule: FiftyMoveRule = FiftyMoveRule.NONE,
    chess960: bool = False,
    note: Callable[[str], object] = str,
) -> SearchGame:
    """Return the game that a command ``position`` describes: its moves are replayed under the arbiter.

    :param words: those after ``position``.
    :param accrued: the score accrued before a FEN that does not say it itself; it means nothing where the
        FEN's halfmove clock is 0.
    :param rule: the 50-move rule that the game goes by, with the end by bare kings that goes with it.
    :param chess960: whether castling is written as in Chess960; it is read in either way.
    :param note: is told what of the command does not count.

    :raises UsageError: if the words are no such command, play cannot go on from the position, or a move is
        illegal.
    """
    first, moves = _parts(words)
    if first[:1] == ["startpos"]:
        start = Fen(chess.Board(), None)
    elif first[:1] == ["fen"]:
        start = parse_fen(" ".join(first[1:]))
    else:
        raise UsageError(_EXPECTED)
    if without_impossible_en_passant(start.board):
        note(Doubt.EN_PASSANT.sentence)
    if unheard := start.note(Variant.R_MOBILITY):
        note(unheard)
    if start.seventh is None:
        start = replace(start, seventh=accrued)
    start.board.chess960 |= chess960
    game = SearchGame.of(start, GameSettings(Variant.R_MOBILITY, rule, rule.bare_kings_end, EXPONENTIAL))
    for move in moves:
        game.push_uci(move)
    return game


def go_on(game: SearchGame, before: Sequence[str], words: Sequence[str]) -> bool:
    """Make the moves that a command ``position`` adds, and tell whether it only adds moves.

    If it says something else, nothing is done.

    :param game: that of the command before.
    :param before: the words after ``position`` of the command before.
    :param words: those of this one.

    :raises UsageError: if a move is illegal; those before it have been made.
    """
    (first, made), (wanted, moves) = _parts(before), _parts(words)
    if wanted != first or moves[: len(made)] != made or game.length != len(made) + 1:
        return False
    for move in moves[len(made) :]:
        game.push_uci(move)
    return True


def _parts(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what a command ``position`` begins with, and its moves."""
    at = words.index("moves") if "moves" in words else len(words)
    return list(words[:at]), list(words[at + 1 :])


class Candidate(NamedTuple):
    """A move to choose where the game is drawn in chess.

    :ivar cost: points, from 0 to 1, that it gives up by the rules of chess.
    :ivar answer: that the other side is expected to give; None if nobody knows.
    """

    cost: float = 0
    answer: chess.Move | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Moves worth playing, and what the state is worth with them.

    :ivar moves: those among which nothing more is known, at least one, and first one that is sure to give the
        mover as much as he can be sure of.
    :ivar lower: White gets this at least.
    :ivar upper: White gets this at most.
    :ivar depth: plies until the accrued score is the value; None if it is not known.
    :ivar line: best play as far as it is known.
    """

    moves: tuple[chess.Move, ...]
    lower: GScore
    upper: GScore
    depth: int | None = None
    line: tuple[chess.Move, ...] = ()

    @classmethod
    def of(cls, move: chess.Move, value: GScore, depth: int | None) -> Self:
        """Return the advice to play one move, with which the state has a value."""
        return cls((move,), value, value, depth, (move,))

    @property
    def value(self) -> GScore | None:
        """The value, if it is known exactly."""
        return self.lower if self.lower == self.upper else None
