"""How a game ended, what it is worth, and what is doubtful about it, from arbiter to tags and standings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, ScoreInterval, Scoring
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.games.settings import GameSettings


class Doubt(StrEnum):
    """A contradiction within a game, or a sign that a part of it is missing.

    The value is its word in the tag ``RMobilityDoubts`` and in JSON. The archive of TCEC has had most of them
    (https://github.com/TCEC-Chess/tcecgames, issues 5, 18, 25, 26 and 51; read in June 2026).
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
        """What is wrong, and what counts."""
        return _SENTENCES[self]

    @property
    def of_start(self) -> bool:
        """Whether it is one of the start position, and not of what has been played."""
        return self in (Doubt.EN_PASSANT, Doubt.SEVENTH_FIELD)

    def arises_in(self, variant: Variant) -> bool:
        """Tell whether a variant knows it: where nothing resets the score, a seventh field always counts."""
        return self is not Doubt.SEVENTH_FIELD or variant.is_reset_by(True)


_SENTENCES: Final = {
    Doubt.TRUNCATED: "the last moves are missing; the tag Result counts, and of a draw the score accrued "
    "by then",
    Doubt.UNCLOSED_COMMENT: "a comment has no closing brace; nothing after its opening brace is read",
    Doubt.RESULT: "the result after the moves is missing, or not that of the tag Result; the tag counts, "
    "unless it is *",
    Doubt.UNKNOWN_RESULT: "a result is in no spelling that is known, and does not count; unless tag or moves "
    "have another, the game is unfinished",
    Doubt.BOTH_FORFEIT: "both sides have lost (0-0), as no score says; the accrued score counts as played, "
    "and standings leave the game out",
    Doubt.CASTLING: "0-0 at the end is castling, or says that both sides have lost; it counts as castling",
    Doubt.FINAL_POSITION: "the result is not that of the mate or stalemate on the board, which counts",
    Doubt.PLY_COUNT: "the tag PlyCount is not the number of plies; the moves count",
    Doubt.STRAY_TEXT: "behind the result stands what is neither a move nor a comment, and does not count",
    Doubt.DUPLICATE_TAG: "a tag stands twice with different values; the first counts",
    Doubt.MALFORMED_TAG: "a line among the tags is no tag, and does not count",
    Doubt.TAG_NAME: "a tag's name is not in the upper and lower case of PGN; the tag counts",
    Doubt.EN_PASSANT: "no pawn can just have passed the en passant square of the FEN; it does not count",
    Doubt.SEVENTH_FIELD: "the score of a FEN's seventh field or of FENAccrued does not count, for it has "
    "just been reset: the halfmove clock is 0, or an en passant capture is legal",
}

RESULTS: Final = {"1-0": 2, "1/2-1/2": 1, "0-1": 0}
"""The classical results of finished games, and what they are worth to White in half points."""


class Basis(StrEnum):
    """What ended a game, or what its result rests on; the value is what the tag ``RMobilityBasis`` says."""

    MATE = "mate"
    STALEMATE = "stalemate"
    BARE_KINGS = "bare kings"
    """Kings alone, and twice in a row the side to move has all of a king's eight moves."""
    FIFTY_MOVES = "fifty-move rule"
    REPETITION = "repetition"
    TABLEBASE = "tablebase"
    """Best play of both sides from the position and the accrued score in which the game stopped."""
    SYZYGY = "syzygy"
    """A forced mate from there, where no table says so, but Syzygy files do."""
    SOLVED = "solved"
    """The same, where no table says so, but what was solved for this one position."""
    BOUNDED = "bounded"
    """Best play comes to a score of a proved interval, and all of these print the same points."""
    TIME_FORFEIT = "time forfeit"
    ILLEGAL_MOVE = "illegal move"
    ABANDONED = "abandoned"
    """The loser crashed, lost his connection or left."""
    RESIGNATION = "resignation"
    """The loser said so, or the PGN says nothing of the win."""
    ADJUDICATION = "adjudication"
    """An arbiter, a tablebase or the engines' evaluations gave it to one side; cursed wins are among them."""
    FORFEIT = "forfeit"
    """Won off the board in another way, or nobody tells how, or what is told contradicts the result.

    tbgen 0.1 called all wins off the board so."""
    PLAYED = "played"
    """The accrued score of a game that stopped where no table can say more, and solving has not: not
    proven."""
    TABLE_MISSING = "table missing"
    """The accrued score of a game that stopped where a table could say more, but is not there: not proven."""
    NEAREST_BOUND = "nearest bound"
    """The end of a proved interval that is nearest to the accrued score, which lies outside: not proven."""

    @property
    def final(self) -> bool:
        """Whether no move is left."""
        return self in (Basis.MATE, Basis.STALEMATE)

    @property
    def off_board(self) -> bool:
        """Whether one side has won otherwise than by what is on the board."""
        ways = (Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.ABANDONED, Basis.RESIGNATION)
        return self in (*ways, Basis.ADJUDICATION, Basis.FORFEIT)

    @property
    def best_play(self) -> bool:
        """Whether the result is proved to be what best play makes of the game from where it stopped."""
        return self in (Basis.TABLEBASE, Basis.SYZYGY, Basis.SOLVED, Basis.BOUNDED)

    @property
    def proven(self) -> bool:
        """Whether the points could not be others."""
        return self not in (Basis.PLAYED, Basis.TABLE_MISSING, Basis.NEAREST_BOUND)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended and what it is worth.

    :ivar value: the result.
    :ivar basis: what the result rests on.
    :ivar accrued: the accrued score when it ended.
    :ivar settings: by what it was refereed and is scored.
    :ivar depth: plies in which best play makes the value the accrued score, if the basis is a tablebase, or
        what was solved, and tells.
    :ivar ending: what the game's PGN says of its end, one printable line; empty if it says nothing.
    :ivar recorded: the classical result that the game's PGN has.
    :ivar missing: the table that would have given the exact result, if that is missing and the points are not
        proven.
    :ivar bounds: what best play is proved to come to, if the basis is bounded; or not proven, and this much
        is known.
    :ivar missing_syzygy: the name of the Syzygy file that would have told more; empty if there is none, or
        no file was asked for.
    :ivar doubts: what is doubtful about the game.
    :ivar unsolvable: why the position is none that can be solved, where that was asked for and is so.
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
        """Whether the points could not be others."""
        return self.basis.proven

    @property
    def truncated(self) -> bool:
        """Whether the last moves of the game are missing, so that nothing more can be known."""
        return Doubt.TRUNCATED in self.doubts

    @property
    def beyond_proof(self) -> str:
        """Why nothing more can be known of it; empty if something may be."""
        if self.truncated:
            return "the last moves of the game are missing"
        return "both sides have lost by forfeit" if Doubt.BOTH_FORFEIT in self.doubts else ""

    @property
    def lacks(self) -> list[str]:
        """Sentences about what is missing that would have told more."""
        file = self.missing_syzygy
        return [str(self.missing)] * (self.missing is not None) + [f"Syzygy file {file} is missing"] * bool(
            file
        )

    @property
    def interval(self) -> ScoreInterval:
        """The scores that the result may be by all that is known: itself if it is proven, any if nothing is
        known."""
        if self.bounds is not None:
            return self.bounds
        return ScoreInterval(self.value, self.value) if self.proven else ANYTHING

    def narrowed(self, bounds: ScoreInterval, basis: Basis, depth: int | None = None) -> Outcome:
        """Return the outcome, which is not proven, with bounds of its value that are.

        :param basis: what the result rests on if that makes it exact.
        :param depth: plies until it is the accrued score, then.

        :raises TbgenError: if that contradicts what is known.
        """
        try:
            both = self.interval.within(bounds)
        except ValueError as error:
            raise TbgenError(
                f"proofs of a result contradict each other ({error}): "
                "a Syzygy file, a kept result or a tag is wrong"
            ) from None
        if both.exact:
            return replace(self, value=both.lower, basis=basis, depth=depth, missing=None, bounds=None)
        if both == ANYTHING:
            return self
        return replace(self, bounds=both).scored_by(self.settings.scoring)

    def scored_by(self, scoring: Scoring) -> Outcome:
        """Return the outcome by another scoring, by which its bounds may say the points, or no longer do.

        The result is the score within the bounds that is nearest to the accrued one.
        """
        outcome = replace(self, settings=replace(self.settings, scoring=scoring))
        if self.bounds is None:
            return outcome
        value, basis = self.bounds.nearest(self.accrued), self.basis
        if self.bounds.agree(scoring):
            return replace(outcome, value=value, basis=Basis.BOUNDED, missing=None)
        if value != self.accrued:
            basis = Basis.NEAREST_BOUND
        elif basis is Basis.BOUNDED:
            basis = Basis.PLAYED
        return replace(outcome, value=value, basis=basis)

    @property
    def classical(self) -> str:
        """The result in chess, see :func:`classical`."""
        return classical(self.value)


def classical(value: GScore) -> str:
    """Return what a result is in chess, where nothing but mate wins: ``1-0``, ``0-1`` or ``1/2-1/2``."""
    if value.rank:
        return "1/2-1/2"
    return "1-0" if value.white else "0-1"
