"""The outcome of a game: its result, basis and doubts. The arbiter, tags and standings share this type."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, ScoreInterval, Scoring
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.games.game_options import GameSettings

RESULTS: Final = {"1-0": 2, "1/2-1/2": 1, "0-1": 0}
"""White's number of half points for each classical result of a finished game."""


class Doubt(StrEnum):
    """A contradiction within a game, or a sign that a part of it is missing.

    The value of a doubt is its name in the tag ``RMobilityDoubts`` and in JSON. Most doubts have occurred
    in the archive of TCEC (https://github.com/TCEC-Chess/tcecgames, issues 5, 18, 25, 26 and 51; read in
    June 2026).
    """

    TRUNCATED = "truncated"
    UNCLOSED_COMMENT = "unclosed comment"
    RESULT = "result"
    UNKNOWN_RESULT = "unknown result"
    BOTH_FORFEIT = "both forfeit"
    CASTLING = "castling"
    FINAL_POSITION = "final position"
    PLY_COUNT = "ply count"
    STRAY_TEXT = "stray text"
    DUPLICATE_TAG = "duplicate tag"
    MALFORMED_TAG = "malformed tag"
    TAG_NAME = "tag name"
    EN_PASSANT = "en passant"
    SEVENTH_FIELD = "seventh field"

    @property
    def sentence(self) -> str:
        """The problem, and what counts in spite of it: a sentence without capital letter and full stop."""
        return _SENTENCES[self]

    @property
    def of_start(self) -> bool:
        """Whether the doubt concerns the start position rather than the moves of the game."""
        return self in (Doubt.EN_PASSANT, Doubt.SEVENTH_FIELD)

    def arises_in(self, variant: Variant) -> bool:
        """Return whether the doubt exists in the variant. Without resets, a seventh field always counts."""
        return self is not Doubt.SEVENTH_FIELD or variant.is_reset_by(True)


_SENTENCES: Final = {
    Doubt.TRUNCATED: "the last moves are missing; the tag Result counts, and for a draw the score accrued "
    "by then",
    Doubt.UNCLOSED_COMMENT: "a comment has no closing brace; nothing after its opening brace is "
    "read up to the next tag Event",
    Doubt.RESULT: "the result after the moves is missing, or differs from the tag Result; the tag counts, "
    "unless it is *",
    Doubt.UNKNOWN_RESULT: "a result has an unknown spelling and does not count; the game is "
    "unfinished, unless its tag or its moves have another",
    Doubt.BOTH_FORFEIT: "both sides have lost (0-0), which no score expresses; the accrued score counts as "
    "played, and standings leave the game out",
    Doubt.CASTLING: "0-0 at the end is castling, or means that both sides have lost; it counts as castling",
    Doubt.FINAL_POSITION: "the result contradicts the mate or stalemate on the board, which counts",
    Doubt.PLY_COUNT: "the tag PlyCount is not the number of plies; the moves count",
    Doubt.STRAY_TEXT: "the text after the result is neither a move nor a comment; it does not count",
    Doubt.DUPLICATE_TAG: "a tag occurs twice with different values; the first counts",
    Doubt.MALFORMED_TAG: "a line among the tags is not a tag; it does not count",
    Doubt.TAG_NAME: "a tag's name is not in the upper and lower case of PGN; the tag counts",
    Doubt.EN_PASSANT: "no pawn can just have passed the en passant square of the FEN; it does not count",
    Doubt.SEVENTH_FIELD: "the score of a FEN's seventh field or of FENAccrued does not count, because it has "
    "just been reset: the halfmove clock is 0, or an en passant capture is legal",
}


class Basis(StrEnum):
    """The grounds of a result. The value of a member is its text in the tag ``RMobilityBasis``."""

    MATE = "mate"
    STALEMATE = "stalemate"
    """The end by mate (G0.0) or stalemate (G0.5), after which no move can follow."""
    BARE_KINGS = "bare kings"
    """Only the kings are left, and on two successive plies the king to move had all eight moves."""
    FIFTY_MOVES = "fifty-move rule"
    """The counter of the 50-move rule has reached 100 plies."""
    REPETITION = "repetition"
    """The third occurrence of board, side to move, castling rights and legal en passant square."""
    TABLEBASE = "tablebase"
    """Best play by both sides from the state in which the game stopped."""
    SYZYGY = "syzygy"
    """A forced mate, according to Syzygy files, from a final position that no table contains."""
    SOLVED = "solved"
    """Best play, found by solving, from a final position that no table contains."""
    BOUNDED = "bounded"
    """Best play leads to a score in a proved interval, and all scores in it give the same points."""
    TIME_FORFEIT = "time forfeit"
    ILLEGAL_MOVE = "illegal move"
    """The loser exceeded his time, or made an illegal move."""
    ABANDONED = "abandoned"
    """The loser crashed, lost his connection or left."""
    RESIGNATION = "resignation"
    """The loser resigned, or the PGN calls the end of a decisive game ``normal`` and names no other cause."""
    ADJUDICATION = "adjudication"
    """An arbiter, a tablebase or the engines' evaluations awarded the win, which may be a cursed win."""
    FORFEIT = "forfeit"
    """A win off the board for another cause or an unknown one, or a win that a remark in the PGN contradicts.
    tbgen 0.1 used this basis for all wins off the board."""
    PLAYED = "played"
    """Not proven: the accrued score of a game that stopped in a position that no table can contain. If
    solving was tried, it has not proved the points."""
    TABLE_MISSING = "table missing"
    """Not proven: the accrued score of a game that stopped in a position whose table is missing."""
    NEAREST_BOUND = "nearest bound"
    """Not proven: the accrued score is outside the proved interval, so the nearest bound counts."""

    @property
    def final(self) -> bool:
        """Whether the final position has no legal moves."""
        return self in (Basis.MATE, Basis.STALEMATE)

    @property
    def off_board(self) -> bool:
        """Whether one side has won off the board."""
        by_the_loser = Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.ABANDONED, Basis.RESIGNATION
        return self in (*by_the_loser, Basis.ADJUDICATION, Basis.FORFEIT)

    @property
    def best_play(self) -> bool:
        """Whether the result is proved to be the one that best play from the final position reaches."""
        return self in (Basis.TABLEBASE, Basis.SYZYGY, Basis.SOLVED, Basis.BOUNDED)

    @property
    def proven(self) -> bool:
        """Whether the points are proved."""
        return self not in (Basis.PLAYED, Basis.TABLE_MISSING, Basis.NEAREST_BOUND)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a game.

    :ivar value: the result.
    :ivar basis: the grounds of the result.
    :ivar accrued: the accrued score at the end of the game.
    :ivar settings: rules and scoring of the game.
    :ivar depth: number of plies until the accrued score equals the value, from tables or a solution; None
        if unavailable.
    :ivar ending: the ending as the game's PGN states it, as one printable line; empty if it states none.
    :ivar recorded: the classical result in the game's PGN.
    :ivar missing: the error about a missing table that would give the exact result; None if no table is
        missing, or the points are proved.
    :ivar bounds: proved but unequal bounds of the value; None if no such bounds are known.
    :ivar missing_syzygy: the name of a missing Syzygy file that could prove more; empty if no file is
        missing, Syzygy files were not used, or the points are proved.
    :ivar doubts: the doubts about the game.
    :ivar unsolvable: the reason why the position cannot be solved, found when solving was tried; else empty.
    """

    value: GScore
    basis: Basis
    accrued: GScore
    settings: GameSettings
    depth: int | None = None
    ending: str = ""
    recorded: str = "*"
    missing: MissingTableError | None = field(default=None, compare=False)
    bounds: ScoreInterval | None = None
    doubts: tuple[Doubt, ...] = ()
    missing_syzygy: str = field(default="", compare=False)
    unsolvable: str = field(default="", compare=False)

    @property
    def proven(self) -> bool:
        """Whether the points are proved."""
        return self.basis.proven

    @property
    def truncated(self) -> bool:
        """Whether the last moves of the game are missing, so that nothing can prove its result."""
        return Doubt.TRUNCATED in self.doubts

    @property
    def beyond_proof(self) -> str:
        """The reason why nothing can prove the result; empty if a proof is possible."""
        if self.truncated:
            return "the last moves of the game are missing"
        return "both sides have lost by forfeit" if Doubt.BOTH_FORFEIT in self.doubts else ""

    @property
    def lacks(self) -> list[str]:
        """Sentences that name the missing table and the missing Syzygy file, if these could prove more."""
        sentences = [] if self.missing is None else [str(self.missing)]
        if self.missing_syzygy:
            sentences.append(f"Syzygy file {self.missing_syzygy} is missing")
        return sentences

    @property
    def interval(self) -> ScoreInterval:
        """The scores that the result may be: those within the bounds. Without bounds, the interval contains
        only the value if the points are proved, else all scores."""
        if self.bounds is not None:
            return self.bounds
        return ScoreInterval(self.value, self.value) if self.proven else ANYTHING

    def narrowed(self, bounds: ScoreInterval, basis: Basis, depth: int | None = None) -> Outcome:
        """Return this outcome, which must not be proved yet, with its interval narrowed to proved bounds.

        :param basis: basis of the result if the narrowed interval is exact.
        :param depth: depth of the result if the narrowed interval is exact.

        :raises TbgenError: if the bounds contradict the present interval.
        """
        try:
            common = self.interval.intersection(bounds)
        except ValueError as error:
            raise TbgenError(
                f"proofs of a result contradict each other ({error}): "
                "a Syzygy file, a stored result or a tag is wrong"
            ) from None
        if common.exact:
            proved = replace(self, value=common.lower, basis=basis, depth=depth)
            return replace(proved, missing=None, missing_syzygy="", bounds=None)
        return self if common == ANYTHING else replace(self, bounds=common).scored_by(self.settings.scoring)

    def scored_by(self, scoring: Scoring) -> Outcome:
        """Return the outcome under another scoring.

        Bounds may determine the points under one scoring but not under another. If the outcome has bounds,
        the result is the score within them that is nearest to the accrued score.
        """
        outcome = replace(self, settings=replace(self.settings, scoring=scoring))
        if self.bounds is None:
            return outcome
        value = self.bounds.nearest(self.accrued)
        if self.bounds.gives_equal_points(scoring):
            return replace(outcome, value=value, basis=Basis.BOUNDED, missing=None, missing_syzygy="")
        basis = Basis.PLAYED if self.basis is Basis.BOUNDED else self.basis
        if value != self.accrued:
            basis = Basis.NEAREST_BOUND
        return replace(outcome, value=value, basis=basis)

    @property
    def classical(self) -> str:
        """The result in chess, where only mate wins: ``1-0``, ``0-1`` or ``1/2-1/2``."""
        return classical(self.value)


def classical(value: GScore) -> str:
    """Return the result in chess, where only mate wins: ``1-0``, ``0-1`` or ``1/2-1/2``."""
    return "1/2-1/2" if value.rank else "1-0" if value.white else "0-1"
