"""Refereeing games: the accrued score ply by ply, what ends a game, and what a stopped game is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

import chess

from tbgen.board.fen import Fen
from tbgen.board.rules import Fresh, no_play, position_score, validate
from tbgen.board.score import GScore
from tbgen.board.scoring import DEFAULT_CUTOFF, ProvedValue, ScoreInterval, parse_cutoff
from tbgen.board.variant import Resets, Variant, unlisted
from tbgen.errors import MissingTableError, UnprovenError, UsageError, quote
from tbgen.games.outcome import Basis, Doubt, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.pgn.reader import Game
from tbgen.games.settings import FiftyMoveRule, GameSettings
from tbgen.games.settings import GameOptions as GameOptions
from tbgen.probe.states import read_chess
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase

NOTHING: Final = GScore(436, True)
"""G218.0: how cuteRMob writes that no score has accrued."""

_OCCURRENCES: Final = 3
_KINGS_MOVES: Final = GScore(17, True).rank
"""Rank G8.5: a lone king away from all edges and from the other king."""


class PlayedPosition(NamedTuple):
    """All that the arbiter knows about a position of the game besides the board."""

    score: GScore
    """The position's own."""
    accrued: GScore
    clock: int
    free_kings: bool
    """Bare kings, and the one to move has all of his eight moves."""
    occurrences: int
    """How often the position has been on the board up to here."""


class Arbiter:
    """Referees one game of r-mobility chess, with any number of men.

    Rules: the TCEC wiki's and those of cuteRMob; docs/referee.md says where they differ.

    Mate and stalemate end a game for good. After any other end moves can still be made, as real games run on
    past a repetition that nobody claims, and the result is that of the current position.

    >>> arbiter = Arbiter("7k/8/6K1/8/8/8/8/R7 w - - 99 80 G5.0")
    >>> arbiter.push_uci("a1a8")
    >>> print(arbiter.accrued, arbiter.clock, arbiter.outcome.basis)
    G0.0 0 mate

    :param start: FEN of six fields, and the accrued score as an optional seventh; or a board, whose moves so
        far count as if they had been made here. The seventh field means nothing at a halfmove clock of 0 and
        where an en passant capture is legal, except in whole-game mobility. Without it, counting starts at
        the first position there is.
    :param accrued: the accrued score to begin with, or its text, in place of a seventh field and of the moves
        of a board: then the game begins with its position. :data:`tbgen.board.rules.FRESH` begins with
        the position's own score.
    :param rules: the variant: ``r``, or ``wg`` for whole-game mobility, in which nothing resets the accrued
        score.
    :param fifty_move_rule: the 50-move rule, or its name.
    :param cutoff: the score from which on improvements are no progress, for the rule ``improving``.
    :param bare_kings: whether bare kings with free moves end the game; None leaves it to the 50-move rule.

    :raises UsageError: if an argument means nothing, play cannot go on from the start position, or the moves
        of a board are no play.
    :raises TypeError: if the start is neither text nor board, or the accrued score no score.
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
        rule = FiftyMoveRule(fifty_move_rule)
        limit = parse_cutoff(cutoff) if isinstance(cutoff, str) else cutoff
        settings = GameOptions(Variant.parse(rules), rule, limit, bare_kings).settings({})
        board, before = read_chess(start, accrued, settings.variant)
        history = board.move_stack if accrued is None else []
        just_reset = settings.variant.is_reset_by(board.has_legal_en_passant())
        told = None if isinstance(before, Fresh) or just_reset else before
        self._begin(board.root() if history else board, told, settings)
        for move in history:
            if not self._board.is_legal(move):
                raise no_play(f"{move.uci()} is not legal in {self._board.fen()}")
            self._push(move)
        if history and self._board.fen() != board.fen():
            raise no_play(f"{history[-1].uci()} does not lead to {board.fen()}")

    @classmethod
    def of(cls, start: Fen, settings: GameSettings) -> Self:
        """Return the arbiter of a game that begins with a position, by settings that are decided.

        :raises UsageError: if play cannot go on from the position.
        """
        arbiter = cls.__new__(cls)
        arbiter._begin(start.board, start.accrued_in(settings.variant), settings)
        return arbiter

    def _begin(self, board: chess.Board, before: GScore | None, settings: GameSettings) -> None:
        """Begin with a position and the score accrued before it."""
        validate(board)
        self.settings = settings
        """By what the game is refereed; its scoring does not matter here, but for the cutoff."""
        self._rule = settings.fifty_move_rule
        self._board = board.copy(stack=False)
        self._occurrences: Counter[tuple[int, ...]] = Counter()
        self._keys: list[tuple[int, ...]] = []
        self._plies: list[PlayedPosition] = []
        self._add(*self._first(before))

    def __repr__(self) -> str:
        return f"<Arbiter of {self._board.fen()} accrued {self.accrued}, clock {self.clock}>"

    @property
    def board(self) -> chess.Board:
        """A copy of the current position, without the moves that led to it."""
        return self._board.copy(stack=False)

    @property
    def moves(self) -> tuple[chess.Move, ...]:
        """The moves made so far, those of a board that it began with included."""
        return tuple(self._board.move_stack)

    @property
    def position_score(self) -> GScore:
        """The current position's own score."""
        return self._plies[-1].score

    @property
    def accrued(self) -> GScore:
        """The accrued score, the current position's own included."""
        return self._plies[-1].accrued

    @property
    def clock(self) -> int:
        """Plies since the last progress, as the 50-move rule counts them."""
        return self._plies[-1].clock

    @property
    def basis(self) -> Basis | None:
        """What has ended the game on the board, None while it goes on."""
        ply, rule = self._plies[-1], self._rule
        if ply.score.rank < 2 and rule.counts(ply.clock, True):
            return Basis.STALEMATE if ply.score.rank else Basis.MATE
        free_kings = ply.free_kings and len(self._plies) > 1 and self._plies[-2].free_kings
        if free_kings and self.settings.bare_kings:
            return Basis.BARE_KINGS
        if rule.ends(ply.clock):
            return Basis.FIFTY_MOVES
        return Basis.REPETITION if ply.occurrences >= _OCCURRENCES else None

    @property
    def outcome(self) -> Outcome | None:
        """What the game comes to if it is over on the board, else None."""
        basis = self.basis
        return None if basis is None else Outcome(self.accrued, basis, self.accrued, self.settings)

    def push_uci(self, uci: str) -> None:
        """Make a move in UCI notation; castling may be written as in chess and as in Chess960.

        :raises UsageError: if the move is illegal.
        """
        self._push(self._parse(self._board.parse_uci, uci, "UCI, such as e2e4 or e7e8q"))

    def push_san(self, san: str) -> None:
        """Make a move in SAN.

        :raises UsageError: if the move is illegal or ambiguous.
        """
        self._push(self._parse(self._board.parse_san, san, "SAN, such as e4, Nbd2 or e8=Q"))

    def push(self, move: chess.Move) -> None:
        """Make a move.

        :raises UsageError: if the move is illegal.
        """
        if self._board.is_legal(move):
            self._push(move)
        else:  # or castling, written as the other of chess and Chess960 has it
            self.push_uci(move.uci())

    def pop(self) -> chess.Move:
        """Take the last move back and return it.

        :raises IndexError: if no move has been made.
        """
        move = self._board.pop()
        self._plies.pop()
        key = self._keys.pop()
        self._occurrences[key] -= 1
        if not self._occurrences[key]:
            del self._occurrences[key]  # a search meets millions
        return move

    def _first(self, accrued: GScore | None) -> tuple[GScore, GScore, int]:
        """Return own score, accrued score and clock of the start position, by what had accrued before."""
        board = self._board
        score = position_score(board)
        terminal = score.rank < 2
        if accrued is not None and accrued.rank < 2 and not terminal:
            raise UsageError(f"the accrued score {accrued} ends the game, and in this position it goes on")
        rule, clock = self._rule, board.halfmove_clock
        if rule.counts(clock, terminal) and (terminal or accrued is None or score.rank < accrued.rank):
            accrued = score  # at the end of a game, whatever has been before
            if rule.is_progress(score, self.settings.scoring.cutoff):
                clock = 0
        elif accrued is None:
            accrued = NOTHING if rule is FiftyMoveRule.CUTERMOB_LEGACY else score
        return score, accrued, clock

    def _parse(self, parse: Callable[[str], chess.Move], text: str, notation: str) -> chess.Move:
        """Return the legal move that a text names."""
        with suppress(ValueError):
            if move := parse(text):
                return move
        fen = self._board.fen()
        raise UsageError(f"{quote(text)} is not a legal move in {fen}: expected one in {notation}")

    def _push(self, move: chess.Move) -> None:
        """Make a legal move."""
        board, before = self._board, self._plies[-1]
        zeroing = board.is_zeroing(move)
        board.push(move)
        score = position_score(board)
        accrued, clock = before.accrued, 0 if zeroing else before.clock + 1
        if self.settings.variant.is_reset_by(zeroing):
            accrued = score
        elif score.rank < accrued.rank and self._rule.counts(clock, score.rank < 2):
            accrued = score
            if self._rule.is_progress(score, self.settings.scoring.cutoff):
                clock = 0
        self._add(score, accrued, clock)

    def _add(self, score: GScore, accrued: GScore, clock: int) -> None:
        """Note the current position."""
        board = self._board
        free_kings = score.rank == _KINGS_MOVES and board.occupied == board.kings
        en_passant = board.ep_square if board.ep_square is not None and board.has_legal_en_passant() else -1
        men = board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
        key = (*men, board.occupied_co[chess.WHITE], board.turn, board.castling_rights, en_passant)
        self._keys.append(key)
        self._occurrences[key] += 1
        self._plies.append(PlayedPosition(score, accrued, clock, free_kings, self._occurrences[key]))


Enough: TypeAlias = Callable[[ScoreInterval], bool]


class StateSolver(Protocol):
    """Proves values of states that no table holds: :class:`tbgen.beyond.jobs.Solver`."""

    def solve(
        self, board: chess.Board, accrued: GScore, tables: Tablebase, enough: Enough, /
    ) -> ProvedValue | None:
        """Return what is proved of a state, None if nothing is.

        :param enough: tells of bounds whether they need not be narrower.

        :raises UsageError: if positions like this one are not solved.
        """


def replay(game: Game, options: GameOptions) -> Arbiter:
    """Return the arbiter of a game after its last move.

    Unless nothing resets the score, it has seen the game from the last reset on only, which is all that
    counts: no position before comes again, and every clock starts anew.

    :raises UsageError: if the game is broken, or its tags mean nothing.
    """
    if game.error is not None:
        raise game.error
    match options.variant.resets:
        case Resets.ZEROING_MOVES:
            start, moves = _since_reset(game)
        case Resets.NOTHING:
            start, moves = game.start, game.moves
        case other:
            raise unlisted(other)
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
    """Return what a game comes to that is over, or is stopped in the arbiter's current position.

    Mate and stalemate come first; then losses off the board, for a player that loses on time has not claimed
    a repetition; then the other ends on the board; then an adjudicated win. All else, draws of any kind and
    games unfinished, is worth what best play from here makes of the accrued score: V(P, A) of docs/theory.md,
    as tables say it, else as Syzygy files do of a forced mate, else as a solver proves it, or at least the
    points for it; files bound it too. Where none can, the accrued score stands as played, or the nearest
    score that is not disproved. The final position of a truncated game is not known: if nobody has won it,
    it stands as played; and so does a game that both sides have lost by forfeit.

    :param game: its arbiter; or a board with the moves made so far or a FEN, which is refereed as
        ``Arbiter(game)`` does, by the rules of the tables.
    :param tables: open for the arbiter's rules; None does without.
    :param ending: how the game ended off the board, as :attr:`tbgen.games.pgn.reader.Game.ending` tells it.
    :param recorded: the classical result that the game's PGN has.
    :param syzygy: Syzygy files, for positions that are in no table.
    :param doubts: what is doubtful about the game, as :attr:`tbgen.games.pgn.reader.Game.doubts` tells it.
    :param solver: what solves positions that are in no table, in r-mobility; it goes by the tables.
    :param require_tables: raise the error about a missing table instead of letting the score stand as played.
    :param require_proof: do so too where no table can hold the position.

    :raises MissingTableError: if a table is missing and required, and nothing else proves the points.
    :raises UnprovenError: if a proof is required that is not found, where no table can hold the position or
        the game is truncated, or both sides have lost it.
    :raises DamagedTableError: if a table's file cannot be used.
    :raises ValueError: if the tables are for other rules, or required and not given; or a solver is, in
        whole-game mobility.
    """
    if (require_tables or require_proof or solver is not None) and tables is None:
        raise ValueError("tables are required, but there are none: give them as an argument")
    if isinstance(game, Arbiter):
        arbiter = game
    else:
        arbiter = Arbiter(game) if tables is None else Arbiter(game, rules=tables.rules)
    settings, basis = arbiter.settings, arbiter.basis
    if tables is not None and tables.rules != settings.variant:
        raise ValueError(f"the tables are for the rules {tables.rules}, the game is under {settings.variant}")
    if solver is not None and settings.variant is not Variant.R_MOBILITY:
        raise ValueError("positions are solved in r-mobility only: leave the solver out")
    cause, winner, said = (None, None, "") if ending is None else (ending.cause, ending.winner, ending.text)
    doubts = tuple(doubt for doubt in doubts if doubt.arises_in(settings.variant))
    outcome = Outcome(
        arbiter.accrued, Basis.PLAYED, arbiter.accrued, settings, None, said, recorded, doubts=doubts
    )
    if outcome.truncated:
        basis = None  # it went on from there
    if basis is not None and (basis.final or cause is None or cause is Basis.ADJUDICATION):
        return replace(outcome, basis=basis)  # it is over on the board
    if cause is not None and winner is not None:
        return replace(outcome, value=GScore(0, winner), basis=cause)
    if outcome.beyond_proof:
        if require_proof:
            raise UnprovenError(f"nothing can prove the result: {outcome.beyond_proof}")
        return outcome
    board, lack = arbiter.board, None
    if tables is not None:
        outcome, lack = _probe(outcome, board, tables)
    if syzygy is not None and not outcome.proven:
        outcome = outcome.narrowed(syzygy.winner(board).bounds, Basis.SYZYGY)
    if solver is not None and tables is not None and not outcome.proven:
        outcome = _solve(outcome, board, tables, solver)
    if outcome.proven:
        return outcome
    if syzygy is not None:
        outcome = replace(outcome, missing_syzygy=syzygy.missing(board))
    if isinstance(lack, MissingTableError):
        if require_tables or require_proof:
            raise lack
    elif require_proof:
        raise UnprovenError(f"no table can prove the result: {lack}{_note(outcome, solver)}")
    return outcome


def _probe(
    outcome: Outcome, board: chess.Board, tables: Tablebase
) -> tuple[Outcome, MissingTableError | UsageError | None]:
    """Return what tables make of the outcome of a stopped game, and why they say nothing if they do not."""
    try:
        found = tables.probe(board, outcome.accrued)
    except (UsageError, MissingTableError) as error:
        # Its traceback would keep the board in memory for as long as the outcome.
        lack = error.with_traceback(None)
        if isinstance(lack, MissingTableError):
            outcome = replace(outcome, basis=Basis.TABLE_MISSING, missing=lack)
        return outcome, lack
    return replace(outcome, value=found.value, basis=Basis.TABLEBASE, depth=found.depth), None


def _solve(outcome: Outcome, board: chess.Board, tables: Tablebase, solver: StateSolver) -> Outcome:
    """Return what solving makes of the outcome of a game that stopped where nothing says the points."""
    scoring, known = outcome.settings.scoring, outcome.interval
    try:
        proved = solver.solve(
            board, outcome.accrued, tables, lambda bounds: known.within(bounds).agree(scoring)
        )
    except UsageError as error:
        return replace(outcome, unsolvable=str(error))
    return outcome if proved is None else outcome.narrowed(proved.bounds, Basis.SOLVED, proved.depth)


def _note(outcome: Outcome, solver: StateSolver | None) -> str:
    """Return what is to be added about files and solving where they have not proved the result."""
    file = outcome.missing_syzygy
    notes = [f"; Syzygy file {file} is missing"] if file else []
    if outcome.unsolvable:
        notes.append(f"; nor can it be solved: {outcome.unsolvable}")
    if outcome.bounds is not None:
        notes.append(f"; it is proved only to lie {outcome.bounds.words}")
    elif solver is not None and not outcome.unsolvable:
        notes.append("; solving has proved nothing of it")
    return "".join(notes)


def _since_reset(game: Game) -> tuple[Fen, list[chess.Move]]:
    """Return the position after the last capture or pawn move, else the first, and the moves from there."""
    quiet = game.board.halfmove_clock
    if len(game.moves) <= quiet:
        return game.start, game.moves
    board = game.board.copy(stack=quiet + 1)
    for _ in range(quiet):
        board.pop()
    return Fen(board, None), game.moves[len(game.moves) - quiet :]
