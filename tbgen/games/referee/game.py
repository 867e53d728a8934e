"""Refereeing and scoring games that were played, by the options given and by their own tags."""

from collections.abc import Mapping
from dataclasses import dataclass

import chess

from tbgen.board.fen import Fen
from tbgen.games.pgn import tags
from tbgen.games.pgn.ending import Ending, read_ending
from tbgen.games.pgn.reader import Game
from tbgen.games.referee.adjudication import Adjudication, adjudicate
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.referee.fifty import FiftyMoveRule
from tbgen.games.referee.result import Basis
from tbgen.probe.tablebase import Tablebase
from tbgen.score import GScore
from tbgen.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, Komi, Scheme, Scoring, parse_cutoff
from tbgen.variant import Variant


@dataclass(frozen=True, slots=True)
class PlayRules:
    """What games are refereed and scored by; None leaves it to the tags of each game."""

    fifty_move_rule: FiftyMoveRule | None = None
    """Left to the game: its own tag, else ``improving`` if cuteRMob refereed it by that, else ``legacy``."""
    cutoff: GScore | None = None
    """Left to the game: the tag ``RMobilityCutoff``, else G6.0."""
    bare_kings: bool | None = None
    """Whether bare kings with free moves end a game.

    Left to the game: they do if it has cuteRMob's tag ``Legacy``, else it is up to the 50-move rule.
    """
    variant: Variant = Variant.R_MOBILITY
    scheme: Scheme | None = None
    """Left to the game: the tag ``RMobilityScoring``, else exponential."""
    komi: Komi | None = None
    """The komi of games without a tag ``Komi``; None stands for G5.75."""

    @property
    def fixed(self) -> bool:
        """Whether games are not to be refereed by what their tags say."""
        return self.fifty_move_rule is not None or self.bare_kings is not None

    def replay(self, game: Game) -> Arbiter:
        """Return the arbiter of a game after its last move.

        Unless nothing resets the score, it has seen the game from the last reset on only, which is all that
        counts: no position before comes again, and every clock starts anew.

        :raises UsageError: if the game is broken, or its tags mean nothing.
        """
        if game.error is not None:
            raise game.error
        start, played = _since_reset(game) if self.variant.resets else (game.start, game.moves)
        arbiter = Arbiter(
            start,
            fifty_move_rule=self.rule_of(game.tags),
            cutoff=self.cutoff_of(game.tags),
            bare_kings=True if self.bare_kings is None and tags.LEGACY in game.tags else self.bare_kings,
            rules=self.variant,
        )
        for move in played:
            arbiter.push(move)
        return arbiter

    def rule_of(self, game: Mapping[str, str]) -> FiftyMoveRule:
        """Return the 50-move rule of a game with some tags.

        :raises UsageError: if its tag means nothing.
        """
        if self.fifty_move_rule is not None:
            return self.fifty_move_rule
        if tags.FIFTY_MOVES in game:
            return FiftyMoveRule.parse(game[tags.FIFTY_MOVES])
        cutermob = tags.CUTOFF in game and tags.LEGACY not in game
        return FiftyMoveRule.IMPROVING if cutermob else FiftyMoveRule.LEGACY

    def cutoff_of(self, game: Mapping[str, str]) -> GScore:
        """Return the cutoff of a game with some tags.

        :raises UsageError: if its tag means nothing.
        """
        if self.cutoff is not None:
            return self.cutoff
        text = game.get(tags.CUTOFF)
        return DEFAULT_CUTOFF if text is None else parse_cutoff(text)

    def scoring_of(self, game: Mapping[str, str]) -> Scoring:
        """Return the scoring of a game with some tags; the komi of its opening wins over the option.

        :raises UsageError: if its tags mean nothing, or allow no full points.
        """
        scheme = self.scheme
        if scheme is None:
            scheme = Scheme.parse(game.get(tags.SCORING, Scheme.EXPONENTIAL.value))
        text = game.get(tags.KOMI)
        komi = (self.komi or DEFAULT_KOMI) if text is None else Komi.parse(text)
        return Scoring(scheme, self.cutoff_of(game), komi)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a game comes to, and by which rules."""

    arbiter: Arbiter
    """After the last move."""
    scoring: Scoring
    ending: Ending
    """How it ended off the board."""
    outcome: Adjudication


def judge(
    game: Game, rules: PlayRules, tables: Tablebase | None = None, *, require_tables: bool = False
) -> Judgement:
    """Return what a game comes to.

    :param tables: open for the rules of play; None does without.

    :raises UsageError: if the game is broken or its tags mean nothing.
    :raises TbgenError: about tables, as :func:`adjudicate` does.
    """
    arbiter, scoring, ending = rules.replay(game), rules.scoring_of(game.tags), ending_of(game)
    outcome = adjudicate(arbiter, tables, ending, require_tables=require_tables)
    return Judgement(arbiter, scoring, ending, outcome)


def ending_of(game: Game) -> Ending:
    """Return how a game ended off the board."""
    told = {**game.tags, "Result": game.result}
    if told.get(tags.R.basis, Basis.FORFEIT) != Basis.FORFEIT:
        told.pop(tags.R.result, None)  # a mate that we found, and not how cuteRMob writes a forfeit
    return read_ending(told, game.comment)


def _since_reset(game: Game) -> tuple[Fen, list[chess.Move]]:
    """Return the position after the last capture or pawn move, else the first, and the moves from there."""
    quiet = game.board.halfmove_clock
    if len(game.moves) <= quiet:
        return game.start, game.moves
    board = game.board.copy(stack=quiet + 1)
    for _ in range(quiet):
        board.pop()
    return Fen(board, None), game.moves[len(game.moves) - quiet :]
