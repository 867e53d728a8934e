"""Refereeing of games: the accrued score ply by ply, the end of a game, and the outcome of a stopped game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

import chess

from tbgen.board.fen import Fen
from tbgen.board.rules import Fresh, position_score, unplayable_stack_error, validate
from tbgen.board.score import GScore
from tbgen.board.scoring import DEFAULT_CUTOFF, ProvedBounds, ScoreInterval, parse_cutoff
from tbgen.board.variant import Resets, Variant, unlisted_error
from tbgen.errors import MissingTableError, UnprovenError, UsageError, quote, require_type
from tbgen.games.game_options import FiftyMoveRule, GameSettings
from tbgen.games.game_options import GameOptions as GameOptions
from tbgen.games.outcome import Basis, Doubt, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.pgn.reader import Game
from tbgen.probe.states import read_chess_position
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase

NO_ACCRUED_SCORE: Final = GScore(436, True)
"""G218.0, which cuteRMob writes if no score has accrued."""

_ENDING_OCCURRENCES: Final = 3
"""Number of occurrences of a position at which repetition ends the game."""
_FREE_KING_RANK: Final = GScore(17, True).rank
"""Rank of G8.5, the position score if a bare king to move has all eight of its moves."""

SufficiencyTest: TypeAlias = Callable[[ScoreInterval], bool]
"""Function that returns whether bounds are narrow enough."""


class PlayedPosition(NamedTuple):
    """The scores and counters of a position that has occurred in the game."""

    score: GScore
    """The position score."""
    accrued: GScore
    clock: int
    """Number of plies since the last progress, as the 50-move rule defines it."""
    has_free_king: bool
    """Whether only kings remain and the king to move has all eight of its moves."""
    occurrences: int
    """Number of occurrences of the position so far, including this one."""


class Arbiter:
    """The referee of one game of r-mobility chess, with any number of men.

    The rules are those of the TCEC wiki and of cuteRMob; docs/referee.md says where the two differ.

    After mate or stalemate, no move can be made. After any other end on the board, further moves are
    accepted, because real games continue after a repetition that nobody claims. The outcome then depends on
    the current position.

    >>> arbiter = Arbiter("7k/8/6K1/8/8/8/8/R7 w - - 99 80 G5.0")
    >>> arbiter.push_uci("a1a8")
    >>> print(arbiter.accrued, arbiter.clock, arbiter.outcome.basis)
    G0.0 0 mate

    :param start: a board, or a FEN of six fields with the accrued score as an optional seventh field. The
        moves made on a board count as moves of the game. The seventh field is ignored if the halfmove clock
        is 0 or an en passant capture is legal, except in whole-game mobility. Without an accrued score,
        counting starts at the first position.
    :param accrued: the accrued score of the position, as an object or a string. It replaces a seventh field.
        If ``start`` is a board, its moves are ignored, and the game begins with the board's current position.
        :data:`tbgen.board.rules.FRESH` means the position score.
    :param rules: the variant: ``r``, or ``wg`` for whole-game mobility, in which nothing resets the accrued
        score.
    :param fifty_move_rule: the 50-move rule, or its name.
    :param cutoff: under the rule ``improving``, an improved accrued score counts as progress only if it is
        below this score.
    :param bare_kings: whether the game ends when both kings are bare and each has all eight moves; None to
        leave this to the 50-move rule.

    :raises UsageError: if an argument has an invalid value, or a move of the board is illegal or comes after
        the end of the game.
    :raises TypeError: if the start is neither a string nor a board, the accrued score is not a score, or
        ``bare_kings`` is not a truth value.
    """

    def __init__(
        self,
        start: str | chess.Board = chess.STARTING_FEN,
        *,
        accrued: GScore | str | Fresh | None = None,
        rules: Variant | str = "r",
        fifty_move_rule: FiftyMoveRule | str = FiftyMoveRule.IMPROVING,
        cutoff: GScore | str = DEFAULT_CUTOFF,
        bare_kings: bool | None = None,
    ) -> None:
        require_type("bare_kings", bare_kings, bool | None, "True, False or None")
        rule = FiftyMoveRule(fifty_move_rule)
        cutoff_score = cutoff if isinstance(cutoff, GScore) else parse_cutoff(str(cutoff))
        settings = GameOptions(Variant(rules), rule, cutoff_score, bare_kings).settings({})
        board, start_accrued = read_chess_position(start, accrued, settings.variant)
        history = board.move_stack if accrued is None else []
        just_reset = settings.variant.is_reset_by(board.has_legal_en_passant())
        accrued_before = None if isinstance(start_accrued, Fresh) or just_reset else start_accrued
        self._begin(board.root() if history else board, accrued_before, settings)
        for move in history:
            if not self._board.is_legal(move):
                raise unplayable_stack_error(f"{move.uci()} is not legal in {self._board.fen()}")
            self._push(move)
        if history and self._board.fen() != board.fen():
            raise unplayable_stack_error(f"{history[-1].uci()} does not lead to {board.fen()}")

    @classmethod
    def of(cls, start: Fen, settings: GameSettings) -> Self:
        """Return the arbiter of a game with the given start position and settings.

        :raises UsageError: if the game is over in the position.
        """
        arbiter = cls.__new__(cls)
        arbiter._begin(start.board, start.accrued_in(settings.variant), settings)
        return arbiter

    def _begin(self, board: chess.Board, accrued_before: GScore | None, settings: GameSettings) -> None:
        """Begin with a position and the score accrued before it; None if no score had accrued."""
        validate(board)
        self.settings = settings
        """The rules of the game. Of the scoring, the arbiter uses only the cutoff."""
        self._rule = settings.fifty_move_rule
        self._board = board.copy(stack=False)
        self._occurrences: Counter[tuple[int, ...]] = Counter()
        self._keys: list[tuple[int, ...]] = []
        self._positions: list[PlayedPosition] = []
        self._record_position(*self._start_scores(accrued_before))

    def __repr__(self) -> str:
        return f"<Arbiter of {self._board.fen()} accrued {self.accrued}, clock {self.clock}>"

    @property
    def board(self) -> chess.Board:
        """A copy of the current position, without the moves that led there."""
        return self._board.copy(stack=False)

    @property
    def moves(self) -> tuple[chess.Move, ...]:
        """The moves made so far, including the moves of a start board."""
        return tuple(self._board.move_stack)

    @property
    def position_score(self) -> GScore:
        """The position score of the current position."""
        return self._positions[-1].score

    @property
    def accrued(self) -> GScore:
        """The accrued score, including the current position score."""
        return self._positions[-1].accrued

    @property
    def clock(self) -> int:
        """Number of plies since the last progress, as the 50-move rule defines it."""
        return self._positions[-1].clock

    @property
    def basis(self) -> Basis | None:
        """The rule that has ended the game on the board; None if the game continues."""
        position = self._positions[-1]
        rule = self._rule
        if position.score.rank < 2 and rule.counts_score(position.clock, True):
            return Basis.STALEMATE if position.score.rank else Basis.MATE
        free_kings = position.has_free_king and len(self._positions) > 1 and self._positions[-2].has_free_king
        if free_kings and self.settings.bare_kings:
            return Basis.BARE_KINGS
        if rule.ends_game(position.clock):
            return Basis.FIFTY_MOVES
        return Basis.REPETITION if position.occurrences >= _ENDING_OCCURRENCES else None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the game if it is over on the board, else None."""
        basis = self.basis
        return None if basis is None else Outcome(self.accrued, basis, self.accrued, self.settings)

    def push_uci(self, uci: str) -> None:
        """Make a move in UCI notation, with castling written as in chess or as in Chess960.

        :raises UsageError: if the move is illegal.
        :raises TypeError: if it is not text.
        """
        self._push(self._parse(self._board.parse_uci, uci, "UCI, such as e2e4 or e7e8q"))

    def push_san(self, san: str) -> None:
        """Make a move in SAN.

        :raises UsageError: if the move is illegal or ambiguous.
        :raises TypeError: if it is not text.
        """
        self._push(self._parse(self._board.parse_san, san, "SAN, such as e4, Nbd2 or e8=Q"))

    def push(self, move: chess.Move) -> None:
        """Make a move.

        :raises UsageError: if the move is illegal.
        :raises TypeError: if the move is not a :class:`chess.Move`.
        """
        require_type("the move", move, chess.Move, "a chess.Move")
        if self._board.is_legal(move):
            self._push(move)
        else:  # the move may be castling in the notation that the board does not use
            self.push_uci(move.uci())

    def pop(self) -> chess.Move:
        """Undo the last move and return it.

        :raises IndexError: if no move has been made.
        """
        move = self._board.pop()
        self._positions.pop()
        key = self._keys.pop()
        self._occurrences[key] -= 1
        if not self._occurrences[key]:
            del self._occurrences[key]  # otherwise the millions of positions of a search would fill memory
        return move

    def _start_scores(self, accrued: GScore | None) -> tuple[GScore, GScore, int]:
        """Return the position score, the accrued score and the clock of the start position.

        :param accrued: the score accrued before the start position; None if no score had accrued.
        """
        board = self._board
        score = position_score(board)
        terminal = score.rank < 2
        if accrued is not None and accrued.rank < 2 and not terminal:
            raise UsageError(f"the accrued score {accrued} ends the game, but in this position it continues")
        rule = self._rule
        clock = board.halfmove_clock
        if rule.counts_score(clock, terminal) and (terminal or accrued is None or score.rank < accrued.rank):
            accrued = score  # a terminal position overrides any accrued score
            if rule.is_progress(score, self.settings.scoring.cutoff):
                clock = 0
        elif accrued is None:
            accrued = NO_ACCRUED_SCORE if rule is FiftyMoveRule.CUTERMOB_LEGACY else score
        return score, accrued, clock

    def _parse(self, parser: Callable[[str], chess.Move], text: str, notation: str) -> chess.Move:
        """Return the legal move that a string in the given notation stands for.

        :raises UsageError: if there is no such move, or there are several.
        :raises TypeError: if it is no string.
        """
        require_type("the move", text, str, f"text in {notation}")
        with suppress(ValueError):
            if move := parser(text):
                return move
        fen = self._board.fen()
        raise UsageError(f"{quote(text)} is not a legal move in {fen}: expected one in {notation}")

    def _push(self, move: chess.Move) -> None:
        """Make a legal move."""
        board = self._board
        previous = self._positions[-1]
        zeroing = board.is_zeroing(move)
        board.push(move)
        score = position_score(board)
        accrued = previous.accrued
        clock = 0 if zeroing else previous.clock + 1
        if self.settings.variant.is_reset_by(zeroing):
            accrued = score
        elif score.rank < accrued.rank and self._rule.counts_score(clock, score.rank < 2):
            accrued = score
            if self._rule.is_progress(score, self.settings.scoring.cutoff):
                clock = 0
        self._record_position(score, accrued, clock)

    def _record_position(self, score: GScore, accrued: GScore, clock: int) -> None:
        """Append the scores and counters of the current position."""
        board = self._board
        free_king = score.rank == _FREE_KING_RANK and board.occupied == board.kings
        en_passant = board.ep_square if board.ep_square is not None and board.has_legal_en_passant() else -1
        men = board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
        key = (*men, board.occupied_co[chess.WHITE], board.turn, board.castling_rights, en_passant)
        self._keys.append(key)
        self._occurrences[key] += 1
        self._positions.append(PlayedPosition(score, accrued, clock, free_king, self._occurrences[key]))


class StateSolver(Protocol):
    """An object that proves values of states that no table contains (:class:`tbgen.beyond.jobs.Solver`)."""

    def solve(
        self, board: chess.Board, accrued: GScore, tables: Tablebase, is_sufficient: SufficiencyTest, /
    ) -> ProvedBounds | None:
        """Return the proved value or bounds of a state; None if nothing is proved.

        :param tables: tables that the proof may use.
        :param is_sufficient: returns whether bounds are narrow enough, so that solving can stop.

        :raises UsageError: if positions like this one cannot be solved.
        """


def replay(game: Game, options: GameOptions) -> Arbiter:
    """Return the arbiter of a game after its last move.

    If the variant has resets, the arbiter replays only the moves since the last reset. This is enough,
    because positions before a reset cannot recur, and the accrued score and all counters start again at the
    reset.

    :raises UsageError: if the game is broken, or a tag has an invalid value.
    """
    if game.error is not None:
        raise game.error
    match options.variant.resets:
        case Resets.ZEROING_MOVES:
            start, moves = _part_since_reset(game)
        case Resets.NOTHING:
            start, moves = game.start, game.moves
        case other:
            raise unlisted_error(other, options.variant)
    arbiter = Arbiter.of(start, options.settings(game.tags))
    for move in moves:
        arbiter.push(move)
    return arbiter


def adjudicate(
    game: Arbiter | chess.Board | str,
    tables: Tablebase | None = None,
    ending: Ending | None = None,
    *,
    recorded: str = "*",
    syzygy: Syzygy | None = None,
    doubts: tuple[Doubt, ...] = (),
    solver: StateSolver | None = None,
    require_tables: bool = False,
    require_proof: bool = False,
) -> Outcome:
    """Return the outcome of a game that is over, or has stopped in its current position.

    The first of these cases that applies determines the outcome:

    1. mate or stalemate;
    2. a loss off the board (before case 3, because a player who loses on time has not claimed a repetition);
    3. another end on the board;
    4. an adjudicated win;
    5. best play from the current position, for draws of any kind and unfinished games: the value V(P, A) of
       docs/theory.md from tables, else a forced mate from Syzygy files, else the value from the solver, which
       may instead prove only the points;
    6. the accrued score, or the score nearest to it within proved bounds.

    The final position of a truncated game is unknown, so the accrued score counts unless somebody has won off
    the board. The accrued score also counts in a game that both sides have lost by forfeit.

    :param game: the game's arbiter, a FEN, or a board with the moves made so far. A FEN or a board is
        refereed by ``Arbiter(game)``, under the rules of the tables.
    :param tables: tables of the arbiter's variant; None to use no tables.
    :param ending: the ending off the board (:attr:`tbgen.games.pgn.reader.Game.ending`).
    :param recorded: the classical result in the game's PGN.
    :param syzygy: Syzygy files, for positions that no table contains.
    :param doubts: the doubts about the game (:attr:`tbgen.games.pgn.reader.Game.doubts`).
    :param solver: solver of positions that no table contains, for r-mobility only. It uses the tables.
    :param require_tables: whether to raise an error if a table is missing; otherwise, the result is the
        accrued score, which the moves played have reached.
    :param require_proof: whether to raise an error if the result is unproved, even if no table can contain
        the position.

    :raises MissingTableError: if a table is missing and required, and nothing else proves the points.
    :raises UnprovenError: if a proof is required but not found: no table can contain the position, or the
        game is truncated or lost by both sides.
    :raises DamagedTableError: if a table's file cannot be used.
    :raises ValueError: if the tables are of another variant, or ``tables`` is None but needed; or if a solver
        is passed in whole-game mobility.
    :raises TypeError: if the tables are not open tables.
    """
    require_type("the tables", tables, Tablebase | None, "an open tablebase")
    if (require_tables or require_proof or solver is not None) and tables is None:
        raise ValueError("tables are required, but there are none: give them as an argument")
    if isinstance(game, Arbiter):
        arbiter = game
    else:
        arbiter = Arbiter(game) if tables is None else Arbiter(game, rules=tables.rules)
    settings = arbiter.settings
    basis = arbiter.basis
    if tables is not None and tables.rules != settings.variant:
        raise ValueError(f"the tables are for rules {tables.rules}, but the game's are {settings.variant}")
    if solver is not None and settings.variant is not Variant.R_MOBILITY:
        raise ValueError("positions are solved in r-mobility only: leave the solver out")
    cause, winner, text = (None, None, "") if ending is None else (ending.cause, ending.winner, ending.text)
    doubts = tuple(doubt for doubt in doubts if doubt.arises_in(settings.variant))
    accrued = arbiter.accrued
    outcome = Outcome(accrued, Basis.PLAYED, accrued, settings, ending=text, recorded=recorded, doubts=doubts)
    if outcome.truncated:
        basis = None  # the real game continued
    if basis is not None and (basis.final or cause is None or cause is Basis.ADJUDICATION):
        return replace(outcome, basis=basis)  # the game is over on the board
    if cause is not None and winner is not None:
        return replace(outcome, value=GScore(0, winner), basis=cause)
    if outcome.beyond_proof:
        if require_proof:
            raise UnprovenError(f"nothing can prove the result: {outcome.beyond_proof}")
        return outcome
    board = arbiter.board
    failure = None
    if tables is not None:
        outcome, failure = _probe(outcome, board, tables)
    if syzygy is not None and not outcome.proven:
        outcome = outcome.narrowed(syzygy.winner(board).bounds, Basis.SYZYGY)
    if solver is not None and tables is not None and not outcome.proven:
        outcome = _solve(outcome, board, tables, solver)
    if outcome.proven:
        return outcome
    if syzygy is not None:
        outcome = replace(outcome, missing_syzygy=syzygy.missing_file(board))
    if isinstance(failure, MissingTableError):
        if require_tables or require_proof:
            raise failure
    elif require_proof:
        may_try_solving = solver is None and outcome.settings.variant is Variant.R_MOBILITY
        remedy = f"{'try --solve, or ' if may_try_solving else ''}omit --require-proof"
        raise UnprovenError(f"no table can prove the result: {failure}{_reasons(outcome, solver)}; {remedy}")
    return outcome


def adjudicate_game(game: Game, arbiter: Arbiter, tables: Tablebase | None = None) -> Outcome:
    """Return the outcome of a game that has been read from a PGN, by :func:`adjudicate`.

    :param arbiter: the arbiter of the game after its last move.
    """
    return adjudicate(arbiter, tables, game.ending, recorded=game.result, doubts=game.doubts)


def _probe(
    outcome: Outcome, board: chess.Board, tables: Tablebase
) -> tuple[Outcome, MissingTableError | UsageError | None]:
    """Return the outcome of a stopped game from tables, and the error if no table contains its position."""
    try:
        result = tables.probe(board, outcome.accrued)
    except (UsageError, MissingTableError) as error:
        # The traceback of the error would keep the board in memory for as long as the outcome.
        failure = error.with_traceback(None)
        if isinstance(failure, MissingTableError):
            outcome = replace(outcome, basis=Basis.TABLE_MISSING, missing=failure)
        return outcome, failure
    return replace(outcome, value=result.value, basis=Basis.TABLEBASE, depth=result.depth), None


def _solve(outcome: Outcome, board: chess.Board, tables: Tablebase, solver: StateSolver) -> Outcome:
    """Return the outcome of a stopped game after narrowing it by solving the position."""
    scoring = outcome.settings.scoring
    try:
        proved = solver.solve(
            board,
            outcome.accrued,
            tables,
            lambda bounds: outcome.interval.intersection(bounds).gives_equal_points(scoring),
        )
    except UsageError as error:
        return replace(outcome, unsolvable=str(error))
    return outcome if proved is None else outcome.narrowed(proved.bounds, Basis.SOLVED, proved.depth)


def _reasons(outcome: Outcome, solver: StateSolver | None) -> str:
    """Return the end of a sentence on an unproved result: why Syzygy files and solving have not proved it."""
    file = outcome.missing_syzygy
    notes = [f"; Syzygy file {file} is missing"] if file else []
    if outcome.unsolvable:
        notes.append(f"; nor can it be solved: {outcome.unsolvable}")
    if outcome.bounds is not None:
        notes.append(f"; it is proved only to lie {outcome.bounds.description}")
    elif solver is not None and not outcome.unsolvable:
        notes.append("; solving has proved nothing about it")
    return "".join(notes)


def _part_since_reset(game: Game) -> tuple[Fen, list[chess.Move]]:
    """Return the position after the last zeroing move, else the start position, and the moves after it."""
    quiet_plies = game.board.halfmove_clock
    if len(game.moves) <= quiet_plies:
        return game.start, game.moves
    board = game.board.copy(stack=quiet_plies + 1)
    for _ in range(quiet_plies):
        board.pop()
    return Fen(board, None), game.moves[len(game.moves) - quiet_plies :]
