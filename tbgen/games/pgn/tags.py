"""The PGN tags of r-mobility, most of which come from cuteRMob.

Readers and writers of games share these names, so this module imports none of them.
"""

from typing import Final, NamedTuple, Self

from tbgen.board.variant import Variant, unlisted_error

POINTS: Final = "Points"
"""Tag with the points of White and Black from the last tagging, such as ``0.6250-0.3750`` or ``1-0``."""

KOMI: Final = "Komi"
"""Tag with the komi, which belongs to the opening and is never replaced."""

LEGACY: Final = "Legacy"
"""Tag of games under the 50-move rule ``legacy`` in which bare kings end the game. cuteRMob writes this tag
without a value; a tag with another 50-move rule takes precedence."""

START_ACCRUED: Final = "FENAccrued"
"""Tag with the accrued score of the start position. The tag ``FEN`` then has the usual six fields, without an
accrued score."""

SCHEDULE: Final = "Schedule"
"""Tag with the digest of the schedule of the event of ``tbgen match`` to which a game belongs."""

TOURNAMENT: Final = "Tournament"
"""Tag with the format of an event of ``tbgen match``, its rounds, the games of an encounter, and the players
in the order of seeding, such as ``knockout; rounds 1; games 2; A; B``. Earlier versions did not write it."""


class ResultTags(NamedTuple):
    """Names of the tags that describe the result under one variant.

    When a game is tagged under this variant, these tags are replaced.
    """

    result: str
    """The result as a G-score, such as ``-G5.5``."""
    basis: str
    """The basis of the result, such as ``tablebase``. Only tbgen writes this tag."""
    accrued: str
    """The accrued score when the game ended. Only tbgen writes this tag."""
    bounds: str
    """The proved bounds of a result that is not exact, such as ``-G4.5 G2.0``. The bound that is worse for
    White comes first. Only tbgen writes this tag."""
    doubts: str
    """The doubts about the game, such as ``truncated, result``. Only tbgen writes this tag."""
    cutoff: str
    scoring: str
    fifty_moves: str
    """The 50-move rule under which the game was refereed, such as ``legacy``. Only tbgen writes this tag."""

    @classmethod
    def of(cls, prefix: str) -> Self:
        """Return the names that begin with ``prefix``."""
        names = ("Result", "Basis", "Accrued", "Bounds", "Doubts", "Cutoff", "Scoring", "FiftyMoveRule")
        return cls(*(prefix + name for name in names))


def _prefix(variant: Variant) -> str:
    match variant:
        case Variant.R_MOBILITY:
            return "RMobility"
        case Variant.WHOLE_GAME:
            return "WGMobility"
        case other:
            raise unlisted_error(other)


RESULT_TAGS: Final = {variant: ResultTags.of(_prefix(variant)) for variant in Variant}
R_MOBILITY_TAGS: Final = RESULT_TAGS[Variant.R_MOBILITY]


REPLACED_NAMES: Final = {variant: frozenset({POINTS, *names}) for variant, names in RESULT_TAGS.items()}
"""For each variant, the names of all tags that are replaced when a game is tagged under it."""

READ_NAMES: Final = frozenset(
    {
        *("Event", "Site", "Date", "Round", "White", "Black", "Result", "FEN", "Variant", "PlyCount"),
        *("Termination", "TerminationDetails", "TimeControl", "WhiteElo", "BlackElo", KOMI, LEGACY),
        *(SCHEDULE, TOURNAMENT),
    }
).union([START_ACCRUED], *REPLACED_NAMES.values())
"""Names of all tags that are read. Other tags are copied without being read."""
