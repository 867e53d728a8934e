"""The verdict on a game of a PGN file, as it travels between processes and into tags."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from os import PathLike

from tbgen.errors import UsageError
from tbgen.games.pgn import tags
from tbgen.games.pgn.reader import RESULTS, read_game
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.referee.adjudication import Adjudication
from tbgen.games.referee.fifty import FiftyMoveRule
from tbgen.games.referee.game import PlayRules, judge
from tbgen.games.referee.result import Basis
from tbgen.probe.tablebase import Tablebase
from tbgen.score import GScore
from tbgen.scoring import Scheme, Scoring
from tbgen.variant import Variant


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a game comes to, and by which rules."""

    outcome: Adjudication
    scoring: Scoring
    fifty_move_rule: FiftyMoveRule
    variant: Variant
    result: str
    """The classical result that the game has."""

    def tags(self) -> dict[str, str]:
        """Return the tags that tell the verdict; the komi only where it counts."""
        names, value = tags.result_tags(self.variant), self.outcome.value
        told = {
            names.result: str(value),
            tags.POINTS: self.scoring.tag(value),
            names.basis: self.outcome.basis.value,
            names.accrued: str(self.outcome.accrued),
            tags.CUTOFF: str(self.scoring.cutoff),
            tags.SCORING: self.scoring.scheme.value.capitalize(),
            tags.FIFTY_MOVES: self.fifty_move_rule.value,
        }
        if self.scoring.scheme in (Scheme.KOMI, Scheme.FULL):
            told[tags.KOMI] = str(self.scoring.komi)
        return told


def told_by_tags(game: Mapping[str, str], rules: PlayRules) -> Verdict | None:
    """Return the verdict that :meth:`Verdict.tags` has left in a game, None if there is none.

    Result, basis and 50-move rule are what the tags say; points are counted anew, by ``rules``.
    """
    names = tags.result_tags(rules.variant)
    try:
        outcome = Adjudication(
            GScore.parse(game[names.result]), Basis(game[names.basis]), GScore.parse(game[names.accrued])
        )
        rule = FiftyMoveRule.parse(game[tags.FIFTY_MOVES])
        return Verdict(outcome, rules.scoring_of(game), rule, rules.variant, game.get("Result", "*").strip())
    except (KeyError, ValueError):
        return None


class Judge:
    """Judges games one by one; can be sent to other processes.

    :param rules: what games are refereed and scored by.
    :param directory: where the tables lie; None for the default one.
    :param require_tables: raise an error about a missing table instead of letting the game stand as played.
    :param make_layers: whether to make a layer that a table was built without.
    :param trust_tags: believe the tags of a game that tbgen has tagged, instead of judging it again; but not
        that it was ``played``, for tables may be there now, nor if ``rules`` say by what to referee.
    """

    def __init__(
        self,
        rules: PlayRules | None = None,
        directory: str | PathLike[str] | None = None,
        *,
        require_tables: bool = False,
        make_layers: bool = True,
        trust_tags: bool = False,
    ) -> None:
        self.rules = rules or PlayRules()
        self._directory = directory
        self._require_tables = require_tables
        self._make_layers = make_layers
        self._trust_tags = trust_tags
        self._tables: Tablebase | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_tables": None}  # open files stay here

    def without_layers(self) -> Judge:
        """Return one that makes no layers."""
        other = copy(self)
        other._make_layers = False
        return other

    def judge(self, raw: RawGame) -> Verdict:
        """Return the verdict on a game.

        :raises UsageError: if the game is broken or its tags mean nothing, naming game and place.
        :raises MissingTableError: if a table is missing and required.
        :raises MissingLayerError: if a layer is missing and may not be made.
        :raises TbgenError: if a table's file cannot be used.
        """
        if self._trust_tags:
            told = told_by_tags({tag.name: tag.value for tag in reversed(raw.tags)}, self.rules)
            if told is not None and told.outcome.proven and not self.rules.fixed:
                return told if told.result in RESULTS else replace(told, result=read_game(raw).result)
        game = read_game(raw)
        try:
            found = judge(game, self.rules, self._open(), require_tables=self._require_tables)
        except UsageError as error:
            if error is game.error:
                raise
            raise UsageError(f"game {raw.number}, line {raw.line}: {error}") from None
        arbiter = found.arbiter
        return Verdict(found.outcome, found.scoring, arbiter.fifty_move_rule, arbiter.rules, game.result)

    def _open(self) -> Tablebase:
        if self._tables is None:
            self._tables = Tablebase(self._directory, rules=self.rules.variant, make_layers=self._make_layers)
        return self._tables
