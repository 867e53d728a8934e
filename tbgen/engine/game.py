"""The game that the engine plays: the command ``position``, the queries of a search, and advice on moves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

import chess

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.rules import remove_impossible_en_passant
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.games.outcome import Doubt
from tbgen.games.referee import Arbiter, PlayedPosition
from tbgen.games.settings import FiftyMoveRule, GameSettings

_MIN_HISTORY_PLIES: Final = 40
"""Minimum number of recent quiet plies to send to a chess engine."""
_USAGE: Final = "expected: position startpos|fen FEN [moves MOVE ...]"


@dataclass(frozen=True, slots=True)
class RootLine:
    """A move with the best play after it, as found by a search.

    :ivar line: the move and the play after it; at least the move.
    :ivar value: value of the game for White, on the scale of :mod:`tbgen.engine.scale`.
    :ivar depth: depth in plies of the iteration that found the line; 0 before the first iteration.
    :ivar place: place of the move in the order of all moves, 1 for the best.
    """

    line: tuple[chess.Move, ...]
    value: int
    depth: int
    place: int = 1


class SearchCounts(NamedTuple):
    """Statistics of a search.

    :ivar nodes: number of states searched.
    :ivar hits: number of states whose value came from tables.
    :ivar deepest: greatest number of plies searched ahead.
    :ivar permille: occupied part of the transposition table, in thousandths.
    """

    nodes: int
    hits: int
    deepest: int = 1
    permille: int = 0


class SearchGame(Arbiter):
    """A game under the arbiter, with the queries that a search makes at every node."""

    @property
    def live(self) -> chess.Board:
        """The board of the game with all its moves, not a copy: callers must not change it."""
        return self._board

    def board_for_chess(self) -> chess.Board:
        """Return the current position for an engine that obeys the 50-move rule of chess.

        The halfmove clock is the counter of this game's 50-move rule, or 0 without such a rule. The history
        contains only the moves that the clock counts. Clock and history include at least the last 40 plies,
        or all plies since the last zeroing move if these are fewer, so that the engine sees repetitions.
        """
        board = self._board
        clock = 0 if self._rule is FiftyMoveRule.NONE else self.clock
        clock = max(clock, min(board.halfmove_clock, len(board.move_stack), _MIN_HISTORY_PLIES))
        if board.halfmove_clock == clock:
            return board.copy()
        kept_plies = min(clock, len(board.move_stack))
        trimmed = board.copy(stack=kept_plies).root()
        trimmed.halfmove_clock = clock - kept_plies
        for move in board.move_stack[len(board.move_stack) - kept_plies :]:
            trimmed.push(move)
        return trimmed

    @property
    def length(self) -> int:
        """Number of positions of the game, including the current one."""
        return len(self._plies)

    @property
    def occurrences(self) -> int:
        """Number of times the current position has been on the board, including now."""
        return self._plies[-1].occurrences

    @property
    def played_positions(self) -> list[tuple[tuple[int, ...], PlayedPosition]]:
        """The repetition key of each position up to the current one, with its scores and clock.

        A key consists of the men (six sets of squares, pawns first), White's men, the side to move, the
        castling rights, and the square of a possible en passant capture, -1 for none.
        """
        return list(zip(self._keys, self._plies, strict=True))

    def play(self, move: chess.Move) -> None:
        """Make a legal move, without checking that it is legal."""
        self._push(move)

    def accrued_after(self, line: Sequence[chess.Move]) -> GScore:
        """Return the accrued score after a line of legal moves, or after the move that ends the game."""
        start = self.length
        for move in line:
            self.play(move)
            if self.basis is not None:
                break
        accrued = self.accrued
        while self.length > start:
            self.pop()
        return accrued

    def repeats_since(self, first: int) -> bool:
        """Return whether the current state has occurred before, at a given position of the game or later.

        If so, the players can repeat it for ever, and the value of the game is the accrued score.

        :param first: index of the earliest position of the game to compare, counted from 0.
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
    """Return the game that a command ``position`` describes, with its moves replayed under the arbiter.

    :param words: the words after ``position``.
    :param accrued: the accrued score of a FEN that does not contain one; ignored if the FEN's halfmove clock
        is 0.
    :param rule: the 50-move rule of the game; it also determines whether bare kings end the game.
    :param chess960: whether to write castling as in Chess960; both notations are read.
    :param note: called with a sentence about each part of the command that is ignored.

    :raises UsageError: if the words are not such a command, the game cannot continue from the position, or a
        move is illegal.
    """
    position, moves = _split(words)
    if position[:1] == ["startpos"]:
        start = Fen(chess.Board(), None)
    elif position[:1] == ["fen"]:
        start = parse_fen(" ".join(position[1:]))
    else:
        raise UsageError(_USAGE)
    if remove_impossible_en_passant(start.board):
        note(Doubt.EN_PASSANT.sentence)
    if ignored := start.note(Variant.R_MOBILITY):
        note(ignored)
    if start.seventh is None:
        start = replace(start, seventh=accrued)
    start.board.chess960 |= chess960
    game = SearchGame.of(start, GameSettings(Variant.R_MOBILITY, rule, rule.bare_kings_end, EXPONENTIAL))
    for move in moves:
        game.push_uci(move)
    return game


def extend(game: SearchGame, before: Sequence[str], words: Sequence[str]) -> bool:
    """Make the moves that a command ``position`` adds to the previous one.

    Return whether the command only adds moves. If it does not, the game is unchanged.

    :param game: the game of the previous command.
    :param before: the words after ``position`` in the previous command.
    :param words: the words after ``position`` in this command.

    :raises UsageError: if a move is illegal; the moves before it have been made.
    """
    (old_position, made), (position, moves) = _split(before), _split(words)
    if position != old_position or moves[: len(made)] != made or game.length != len(made) + 1:
        return False
    for move in moves[len(made) :]:
        game.push_uci(move)
    return True


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command ``position`` into its position and its moves."""
    split_at = words.index("moves") if "moves" in words else len(words)
    return list(words[:split_at]), list(words[split_at + 1 :])


class Candidate(NamedTuple):
    """A move to choose from in a game that is drawn in chess.

    :ivar cost: points, from 0 to 1, that the move gives up by the rules of chess.
    :ivar answer: the opponent's expected answer; None if unknown.
    """

    cost: float = 0
    answer: chess.Move | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Moves worth playing in a state, and bounds of its value.

    :ivar moves: the moves that may be best, at least one. The first move guarantees the mover his bound:
        ``lower`` for White, ``upper`` for Black.
    :ivar lower: lower bound for White of the value.
    :ivar upper: upper bound for White of the value.
    :ivar depth: plies until the accrued score equals the value; None if unknown.
    :ivar line: best play as far as it has been computed.
    """

    moves: tuple[chess.Move, ...]
    lower: GScore
    upper: GScore
    depth: int | None = None
    line: tuple[chess.Move, ...] = ()

    @classmethod
    def of(cls, move: chess.Move, value: GScore, depth: int | None) -> Self:
        """Return the advice to play one move, whose value is exact."""
        return cls((move,), value, value, depth, (move,))

    @property
    def value(self) -> GScore | None:
        """The exact value; None if the bounds differ."""
        return self.lower if self.lower == self.upper else None
