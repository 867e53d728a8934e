"""The game that the engine plays: the ``position`` command, the queries of a search, and advice on moves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import chess
from msgspec.structs import replace

from tbgen.board.fen import Fen, parse_fen
from tbgen.board.rules import remove_impossible_en_passant
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.games.game_options import FiftyMoveRule, GameSettings
from tbgen.games.outcome import Doubt
from tbgen.games.referee import Arbiter, PlayedPosition

_MIN_HISTORY_PLIES: Final = 40
"""Minimum number of recent quiet plies to send to a chess engine."""
_USAGE: Final = "expected: position startpos|fen FEN [moves MOVE ...]"


@dataclass(frozen=True, slots=True)
class RootLine:
    """A move with the best play after it, as found by a search.

    :ivar line: the move and the play after it; at least the move.
    :ivar value: value of the state from White's point of view, on the scale of :mod:`tbgen.engine.scale`.
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
    :ivar table_hits: number of states whose value came from tables.
    :ivar max_ply: greatest number of plies searched ahead.
    :ivar occupied_permille: occupied share of the transposition table, in permille.
    """

    nodes: int
    table_hits: int
    max_ply: int = 1
    occupied_permille: int = 0


class SearchGame(Arbiter):
    """A game that the arbiter follows, with the queries that a search makes at every node."""

    @property
    def live(self) -> chess.Board:
        """The board of the game with all its moves. It is not a copy, so callers must not change it."""
        return self._board

    def board_for_chess(self) -> chess.Board:
        """Return the current position for an engine that obeys the 50-move rule of chess.

        The halfmove clock is the counter of this game's 50-move rule, or 0 if the game has no such rule. The
        history contains only the moves that the clock counts. Both the clock and the history include at least
        the last 40 plies (or all plies since the last zeroing move, if fewer), so that the engine sees
        repetitions.
        """
        board = self._board
        clock = 0 if self._rule is FiftyMoveRule.NONE else self.clock
        clock = max(clock, min(board.halfmove_clock, len(board.move_stack), _MIN_HISTORY_PLIES))
        if board.halfmove_clock == clock:
            return board.copy()
        kept_plies = min(clock, len(board.move_stack))
        trimmed_board = board.copy(stack=kept_plies).root()
        trimmed_board.halfmove_clock = clock - kept_plies
        for move in board.move_stack[len(board.move_stack) - kept_plies :]:
            trimmed_board.push(move)
        return trimmed_board

    @property
    def position_count(self) -> int:
        """Number of positions of the game, including the current one."""
        return len(self._positions)

    @property
    def occurrences(self) -> int:
        """Number of times that the current position has been on the board, including now."""
        return self._positions[-1].occurrences

    @property
    def played_positions(self) -> list[tuple[tuple[int, ...], PlayedPosition]]:
        """The repetition key of each position up to the current one, with its scores and clock.

        A key consists of the men (six sets of squares, pawns first), the set of White's men, the side to
        move, the castling rights, and the square of a possible en passant capture (-1 for none).
        """
        return list(zip(self._keys, self._positions, strict=True))

    def play(self, move: chess.Move) -> None:
        """Make a move, which must be legal."""
        self._push(move)

    def accrued_after(self, line: Sequence[chess.Move]) -> GScore:
        """Return the accrued score after a line of legal moves, or when one of these moves ends the game."""
        start = self.position_count
        for move in line:
            self.play(move)
            if self.basis is not None:
                break
        accrued = self.accrued
        while self.position_count > start:
            self.pop()
        return accrued

    def repeats_since(self, first_index: int) -> bool:
        """Return whether the current state has occurred before, at index ``first_index`` or later.

        If so, the players can repeat the state for ever, and the value of the state is the accrued score.

        :param first_index: index of the earliest position of the game to compare, from 0.
        """
        ply = self._positions[-1]
        if ply.occurrences == 1:
            return False
        return any(
            self._keys[index] == self._keys[-1] and self._positions[index].accrued == ply.accrued
            for index in range(len(self._positions) - 2, first_index - 1, -1)
        )


def read_game(
    words: Sequence[str],
    *,
    accrued: GScore | None = None,
    rule: FiftyMoveRule = FiftyMoveRule.NONE,
    chess960: bool = False,
    announce: Callable[[str], object] = str,
) -> SearchGame:
    """Return the game that a ``position`` command describes, with its moves replayed under the arbiter.

    :param words: the words after ``position``.
    :param accrued: the accrued score to use if the FEN does not contain one; ignored if the FEN's halfmove
        clock is 0.
    :param rule: the 50-move rule of the game. It also determines whether bare kings end the game.
    :param chess960: whether to write castling as in Chess960. Both notations are read.
    :param announce: called with a sentence about each part of the command that is ignored.

    :raises UsageError: if the words are not a valid command, the game cannot continue from the position, or a
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
        announce(Doubt.EN_PASSANT.sentence)
    if note := start.note(Variant.R_MOBILITY):
        announce(note)
    if start.seventh is None:
        start = replace(start, seventh=accrued)
    start.board.chess960 |= chess960
    game = SearchGame.of(start, GameSettings(Variant.R_MOBILITY, rule, rule.bare_kings_end, EXPONENTIAL))
    for move in moves:
        game.push_uci(move)
    return game


def extend(game: SearchGame, previous_words: Sequence[str], words: Sequence[str]) -> bool:
    """Make the moves that a ``position`` command adds to the previous one.

    Return whether the command only adds moves. If not, the game is unchanged.

    :param game: the game of the previous command.
    :param previous_words: the words after ``position`` in the previous command.
    :param words: the words after ``position`` in this command.

    :raises UsageError: if a move is illegal; the moves before it have then been made.
    """
    old_position, old_moves = _split(previous_words)
    position, moves = _split(words)
    old_count = len(old_moves)
    if position != old_position or moves[:old_count] != old_moves or game.position_count != old_count + 1:
        return False
    for move in moves[old_count:]:
        game.push_uci(move)
    return True


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words of a ``position`` command into the position and the moves."""
    split_index = words.index("moves") if "moves" in words else len(words)
    return list(words[:split_index]), list(words[split_index + 1 :])


class Candidate(NamedTuple):
    """The cost of a move that is considered in a game drawn in chess, and the expected answer to the move.

    :ivar cost: points, from 0 to 1, that the move gives up under the rules of chess.
    :ivar answer: the opponent's expected answer; None if unknown.
    """

    cost: float = 0
    answer: chess.Move | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """The moves to consider in a state, and bounds of the state's value.

    :ivar moves: the moves that may be best, at least one. The first move guarantees its mover the bound
        ``lower`` (White) or ``upper`` (Black).
    :ivar lower: the bound of the value that is worse for White.
    :ivar upper: the bound of the value that is better for White.
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
        """Return the advice to play the given move in a state whose exact value is known."""
        return cls((move,), value, value, depth, (move,))

    @property
    def value(self) -> GScore | None:
        """The exact value; None if the bounds differ."""
        return self.lower if self.lower == self.upper else None
