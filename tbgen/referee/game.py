"""Refereeing and scoring games that were played, by the options given and by their own tags."""

from dataclasses import dataclass

import chess

from tbgen.pgn import tags
from tbgen.pgn.reader import Game
from tbgen.referee.arbiter import Arbiter
from tbgen.referee.fifty import FiftyMoveRule
from tbgen.rules.fen import Fen
from tbgen.score import GScore
from tbgen.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, Komi, Scheme, Scoring, parse_cutoff


@dataclass(frozen=True, slots=True)
class PlayRules:
    """What games are refereed and scored by; None leaves it to the tags of each game."""

    fifty_move_rule: FiftyMoveRule | None = None
    """Left to the game: ``improving`` if cuteRMob refereed it without ``[Legacy]``, else ``legacy``."""
    cutoff: GScore | None = None
    """Left to the game: the tag ``RMobilityCutoff``, else G6.0."""
    bare_kings: bool | None = None
    """Whether bare kings with free moves end a game; None leaves it to the 50-move rule."""
    whole_game: bool = False
    scheme: Scheme = Scheme.EXPONENTIAL
    komi: Komi | None = None
    """The komi of games without a tag ``Komi``; None stands for G5.75."""

    def replay(self, game: Game) -> Arbiter:
        """Return the arbiter of a game after its last move.

        Unless nothing resets the score, it has seen the game from the last reset on only, which is all that
        counts: no position before comes again, and every clock starts anew.

        :raises UsageError: if the game is broken, or its tags mean nothing.
        """
        if game.error is not None:
            raise game.error
        start, played = (game.start, game.moves) if self.whole_game else _since_reset(game)
        arbiter = Arbiter(
            start,
            fifty_move_rule=self.fifty_move_rule or _rule_of(game),
            cutoff=self.cutoff_of(game),
            bare_kings=self.bare_kings,
            whole_game=self.whole_game,
        )
        for move in played:
            arbiter.push(move)
        return arbiter

    def cutoff_of(self, game: Game) -> GScore:
        """Return the cutoff of a game.

        :raises UsageError: if its tag means nothing.
        """
        if self.cutoff is not None:
            return self.cutoff
        text = game.tags.get(tags.CUTOFF)
        return DEFAULT_CUTOFF if text is None else parse_cutoff(text)

    def scoring_of(self, game: Game) -> Scoring:
        """Return the scoring of a game; the komi that belongs to its opening wins over the option.

        :raises UsageError: if its tags mean nothing, or allow no full points.
        """
        text = game.tags.get(tags.KOMI)
        komi = (self.komi or DEFAULT_KOMI) if text is None else Komi.parse(text)
        return Scoring(self.scheme, self.cutoff_of(game), komi)


def _since_reset(game: Game) -> tuple[Fen, list[chess.Move]]:
    """Return the position after the last capture or pawn move, else the first, and the moves from there."""
    quiet = game.board.halfmove_clock
    if len(game.moves) <= quiet:
        return game.start, game.moves
    board = game.board.copy(stack=quiet + 1)
    for _ in range(quiet):
        board.pop()
    return Fen(board, None), game.moves[len(game.moves) - quiet :]


def _rule_of(game: Game) -> FiftyMoveRule:
    if tags.CUTOFF in game.tags and tags.LEGACY not in game.tags:
        return FiftyMoveRule.IMPROVING
    return FiftyMoveRule.LEGACY
