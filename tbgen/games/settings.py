"""By what games are refereed and scored: what is asked for, and what that comes to for one game."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tbgen.board.score import GScore
from tbgen.board.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, OTB_CUTOFF, Komi, Scheme, Scoring, parse_cutoff
from tbgen.board.variant import Variant
from tbgen.errors import NamedChoice, UsageError, quote
from tbgen.games.pgn import tags

PLIES: Final = 100
"""The counter at which the rule ends a game."""


class FiftyMoveRule(NamedChoice, what="a 50-move rule"):
    """When fifty moves of both sides without progress end a game."""

    IMPROVING = "improving"
    """cuteRMob's default: an accrued score that improves to one below the cutoff is progress."""
    LEGACY = "legacy"
    """Captures and pawn moves alone are progress; the 100th ply counts only if it mates or stalemates."""
    CUTERMOB_LEGACY = "cutermob-legacy"
    """As legacy, but the 100th ply never counts; for comparison with cuteRMob's files."""
    NONE = "none"
    """No such rule, as tables have it."""
    OTB = "otb"
    """Over the board: a new record of G3.5 or less is progress."""

    @property
    def bare_kings_end(self) -> bool:
        """Whether the rule goes with an end by bare kings, which cuteRMob has and the TCEC wiki has not."""
        return self in (FiftyMoveRule.IMPROVING, FiftyMoveRule.CUTERMOB_LEGACY)

    def is_progress(self, improved: GScore, cutoff: GScore) -> bool:
        """Tell whether an accrued score that has just improved starts the count anew."""
        limit = OTB_CUTOFF if self is FiftyMoveRule.OTB else cutoff
        return self in (FiftyMoveRule.IMPROVING, FiftyMoveRule.OTB) and improved.rank < limit.rank

    def counts(self, clock: int, terminal: bool) -> bool:
        """Tell whether the score of a position counts, by the plies without progress up to it.

        :param terminal: whether it is mate or stalemate.
        """
        last = terminal if self is FiftyMoveRule.LEGACY else self is not FiftyMoveRule.CUTERMOB_LEGACY
        return clock < PLIES or last

    def ends(self, clock: int) -> bool:
        """Tell whether the rule ends the game."""
        return self is not FiftyMoveRule.NONE and clock >= PLIES


@dataclass(frozen=True, slots=True)
class GameSettings:
    """The rules and the scoring of one game, all of them decided.

    :ivar variant: r-mobility or whole-game mobility.
    :ivar fifty_move_rule: the 50-move rule of the game.
    :ivar bare_kings: whether bare kings with free moves end the game.
    :ivar scoring: from scores to points; its cutoff is also the score from which on the rule ``improving``
        sees no progress.
    :ivar unknown_scoring: the name in the game's tag if no scoring has this name, so that the game is scored
        exponentially; else None.
    """

    variant: Variant
    fifty_move_rule: FiftyMoveRule
    bare_kings: bool
    scoring: Scoring
    unknown_scoring: str | None = None


@dataclass(frozen=True, slots=True)
class GameOptions:
    """What is asked for about many games; None leaves it to the tags of each."""

    variant: Variant
    fifty_move_rule: FiftyMoveRule | None = None
    """Left to the game: its own tag, else ``improving`` if cuteRMob refereed it by that, else ``legacy``."""
    cutoff: GScore | None = None
    """Left to the game: the tag ``RMobilityCutoff``, else G6.0."""
    bare_kings: bool | None = None
    """Left to the game: bare kings end it if it has cuteRMob's tag ``Legacy``, else the 50-move rule says."""
    scheme: Scheme | None = None
    """Left to the game: the tag ``RMobilityScoring``, else exponential."""
    komi: Komi | None = None
    """The komi of games without a tag ``Komi``; None stands for G5.75."""

    @property
    def fixed(self) -> bool:
        """Whether games are not to be refereed by what their tags say."""
        return self.fifty_move_rule is not None or self.bare_kings is not None

    def settings(self, game: Mapping[str, str]) -> GameSettings:
        """Return the settings for a game with some tags: the same object for the same ones.

        :raises UsageError: if its tags mean nothing, or allow no full points.
        """
        own, shared = tags.RESULT[self.variant], tags.R  # what cuteRMob writes holds for both variants
        rule = game.get(own.fifty_moves, game.get(shared.fifty_moves))
        cutoff = game.get(own.cutoff, game.get(shared.cutoff))
        scoring = game.get(own.scoring, game.get(shared.scoring))
        return _resolve(self, (rule, cutoff, scoring, game.get(tags.LEGACY), game.get(tags.KOMI)))


@functools.lru_cache(256)
def _resolve(options: GameOptions, values: tuple[str | None, ...]) -> GameSettings:
    """Return the settings by options and the values of a game's tags, None for a tag that is not there."""
    fifty_moves, cutoff, scoring, legacy, komi = values
    cutermob = cutoff is not None and legacy is None
    usual = FiftyMoveRule.IMPROVING if cutermob else FiftyMoveRule.LEGACY
    rule = options.fifty_move_rule or (usual if fifty_moves is None else FiftyMoveRule(fifty_moves))
    bare_kings = options.bare_kings
    if bare_kings is None:
        bare_kings = legacy is not None or rule.bare_kings_end
    limit = options.cutoff
    if limit is None:
        limit = DEFAULT_CUTOFF if cutoff is None else parse_cutoff(cutoff)
    scheme, unknown = options.scheme, None
    if scheme is None:
        try:
            scheme = Scheme.EXPONENTIAL if scoring is None else Scheme.parse(scoring)
        except UsageError:
            scheme, unknown = Scheme.EXPONENTIAL, scoring
    belongs = (options.komi or DEFAULT_KOMI) if komi is None else Komi.parse(komi)
    return GameSettings(options.variant, rule, bare_kings, Scoring(scheme, limit, belongs), unknown)


def unknown_scoring(name: str) -> str:
    """Return the sentence about a scoring that a game's tag names and nobody knows."""
    return f"there is no scoring {quote(name)}, which its tag names, so its points are exponential"
