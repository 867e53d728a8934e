"""Rules and scoring of games: the options for many games, and the settings of one game."""

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

FIFTY_MOVE_PLIES: Final = 100
"""Number of plies without progress at which the 50-move rule ends a game."""


class FiftyMoveRule(NamedChoice, noun="a 50-move rule"):
    """The form of the 50-move rule: fifty moves by each side without progress end a game."""

    IMPROVING = "improving"
    """cuteRMob's default: an improvement of the accrued score to less than the cutoff is also progress. So is
    the score of the start position if it is below the cutoff and improves on the seventh field, or if there
    is no such field."""
    LEGACY = "legacy"
    """TCEC's wiki: only captures and pawn moves are progress. As in FIDE's rules, the position score after
    the 100th ply counts only if that ply mates or stalemates. If a game starts with a clock of 100 or more,
    its start position counts only without a seventh field."""
    CUTERMOB_LEGACY = "cutermob-legacy"
    """Like ``legacy``, except that the 100th ply never counts; for comparisons with cuteRMob's files. A game
    that starts with a clock of 100 or more and without a seventh field has no accrued score (G218.0) until
    a capture or a pawn move."""
    NONE = "none"
    """No 50-move rule, as in tables."""
    OTB = "otb"
    """TCEC's wiki, for play over the board: an improvement of the accrued score to G3.5 or less is also
    progress."""

    @property
    def bare_kings_end(self) -> bool:
        """Whether bare kings end a game under this rule. They do in cuteRMob, but not in TCEC's wiki."""
        return self in (FiftyMoveRule.IMPROVING, FiftyMoveRule.CUTERMOB_LEGACY)

    def is_progress(self, accrued: GScore, cutoff: GScore) -> bool:
        """Return whether the new accrued score, which has just improved, is progress."""
        limit = OTB_CUTOFF if self is FiftyMoveRule.OTB else cutoff
        return self in (FiftyMoveRule.IMPROVING, FiftyMoveRule.OTB) and accrued.rank < limit.rank

    def counts_score(self, clock: int, terminal: bool) -> bool:
        """Return whether the score of a position counts, given the 50-move rule.

        :param clock: number of plies without progress up to the position.
        :param terminal: whether the position is mate or stalemate.
        """
        last_counts = terminal if self is FiftyMoveRule.LEGACY else self is not FiftyMoveRule.CUTERMOB_LEGACY
        return clock < FIFTY_MOVE_PLIES or last_counts

    def ends_game(self, clock: int) -> bool:
        """Return whether the rule ends the game after ``clock`` plies without progress."""
        return self is not FiftyMoveRule.NONE and clock >= FIFTY_MOVE_PLIES


@dataclass(frozen=True, slots=True)
class GameSettings:
    """The rules and the scoring of one game.

    :ivar variant: r-mobility or whole-game mobility.
    :ivar fifty_move_rule: the 50-move rule of the game.
    :ivar bare_kings: whether the game ends when both kings are bare and each has all eight moves.
    :ivar scoring: the scoring. Under the rule ``improving``, only scores below its cutoff are progress.
    :ivar unknown_scoring: the name in the game's tag if no scoring has this name, otherwise None. A game with
        such a tag is scored exponentially.
    """

    variant: Variant
    fifty_move_rule: FiftyMoveRule
    bare_kings: bool
    scoring: Scoring
    unknown_scoring: str | None = None


@dataclass(frozen=True, slots=True)
class GameOptions:
    """Rules and scoring for many games. An option that is None is set from the tags of each game."""

    variant: Variant
    fifty_move_rule: FiftyMoveRule | None = None
    """The 50-move rule. None means the rule in the game's tag; without this tag, ``improving`` if other tags
    show that cuteRMob used this rule, else ``legacy``."""
    cutoff: GScore | None = None
    """The cutoff. None means the value of the tag ``RMobilityCutoff``, else G6.0."""
    bare_kings: bool | None = None
    """Whether bare kings end games. None means that they do if the game has cuteRMob's tag ``Legacy``, or if
    its 50-move rule implies it (:attr:`FiftyMoveRule.bare_kings_end`)."""
    scheme: Scheme | None = None
    """The scheme. None means the value of the tag ``RMobilityScoring``, else exponential."""
    komi: Komi | None = None
    """The komi of games without the tag ``Komi``. None means G5.75."""

    @property
    def overrides_rules(self) -> bool:
        """Whether the options override any rules in the games' tags."""
        return self.fifty_move_rule is not None or self.bare_kings is not None

    def settings(self, pgn_tags: Mapping[str, str]) -> GameSettings:
        """Return the settings of a game. Equal options and equal tags give the same object.

        :param pgn_tags: the tags of the game.
        :raises UsageError: if a tag has an invalid value, or the scheme is ``full`` and a score could equal
            the komi (as with G6.0, unlike G5.75).
        """
        # cuteRMob uses the r-mobility tags in both variants.
        names = tags.RESULT_TAGS[self.variant]
        shared = tags.R_MOBILITY_TAGS
        rule = pgn_tags.get(names.fifty_moves, pgn_tags.get(shared.fifty_moves))
        cutoff = pgn_tags.get(names.cutoff, pgn_tags.get(shared.cutoff))
        scoring = pgn_tags.get(names.scoring, pgn_tags.get(shared.scoring))
        return _settings_of(self, (rule, cutoff, scoring, pgn_tags.get(tags.LEGACY), pgn_tags.get(tags.KOMI)))


@functools.lru_cache(256)
def _settings_of(options: GameOptions, tag_values: tuple[str | None, ...]) -> GameSettings:
    """Return the settings of a game from the options and the values of its tags, None for a missing tag."""
    fifty_moves, cutoff_tag, scoring, legacy, komi = tag_values
    has_cutermob_tags = cutoff_tag is not None and legacy is None
    default_rule = FiftyMoveRule.IMPROVING if has_cutermob_tags else FiftyMoveRule.LEGACY
    rule = options.fifty_move_rule or (default_rule if fifty_moves is None else FiftyMoveRule(fifty_moves))
    bare_kings = options.bare_kings
    if bare_kings is None:
        bare_kings = legacy is not None or rule.bare_kings_end
    cutoff = options.cutoff
    if cutoff is None:
        cutoff = DEFAULT_CUTOFF if cutoff_tag is None else parse_cutoff(cutoff_tag)
    scheme = options.scheme
    unknown_name = None
    if scheme is None:
        try:
            scheme = Scheme.EXPONENTIAL if scoring is None else Scheme.parse(scoring)
        except UsageError:
            scheme = Scheme.EXPONENTIAL
            unknown_name = scoring
    used_komi = (options.komi or DEFAULT_KOMI) if komi is None else Komi.parse(komi)
    return GameSettings(options.variant, rule, bare_kings, Scoring(scheme, cutoff, used_komi), unknown_name)


def unknown_scoring_clause(name: str) -> str:
    """Return the clause about the unknown scoring that a game's tag names."""
    return f"the scoring {quote(name)} of its tag is unknown, so its points are exponential"
