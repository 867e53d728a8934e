"""Records of games for standings, pairs of games, and links to the explorer."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from itertools import takewhile
from typing import Final, Self
from urllib.parse import quote

import chess

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme, Scoring
from tbgen.errors import printable
from tbgen.games.outcome import Outcome
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.tagging import TaggedGame

_MAX_QUERY_LENGTH: Final = 4000
"""Maximum length of moves in the query. Longer moves go into the fragment, which no server receives."""
_MAX_HEAD_LENGTH: Final = 6000
_START_TAGS: Final = ("[FEN ", "[SetUp ", "[FENAccrued ")
_LAST_COMMENT: Final = re.compile(r"(\{[^{}]*\})[^{}]*$")


def explorer_link(pgn: bytes, rules: str) -> str:
    """Return the query and the fragment of the explorer's address for a game (read by ``state.js``).

    :param pgn: the game in PGN.
    :param rules: name of the variant.
    """
    game = next(read_games(BytesIO(pgn)))
    query = [f"fen={game.start.board.fen().replace(' ', '_')}", f"rules={rules}"]
    if game.start.accrued is not None:
        query.append(f"accrued={game.start.accrued}")
    fragment: list[str] = []
    line, head = quote("_".join(_sans(game))), _head(pgn.decode(errors="replace"))
    if line:
        (fragment if len(line) > _MAX_QUERY_LENGTH else query).append(f"line={line}")
        if len(head) <= _MAX_HEAD_LENGTH:
            fragment.append(f"game={quote(head)}")
    return f"?{'&'.join(query)}" + (f"#{'&'.join(fragment)}" if fragment else "")


def _sans(game: Game) -> Iterator[str]:
    board = game.start.board.copy(stack=False)
    for move in game.moves:
        yield board.san(move).rstrip("+#")
        board.push(move)


def _head(text: str) -> str:
    """Return the parts of a game that determine its result besides the moves: tags and the last comment.

    Tags of the start position are left out.
    """
    tags = takewhile(str.strip, text.strip().split("\n"))
    head = [tag for tag in tags if not tag.startswith(_START_TAGS)]
    comment = _LAST_COMMENT.search(text)
    if comment:
        head.append(" ".join(comment[1].split()))
    return "\n".join(head)


_UNKNOWN_VALUES = ("", "?", "-")
"""Values of a tag that stand for no value."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """The players of a game, and its outcome."""

    file: str
    number: int
    """Number of the game in the file, from 1."""
    white: str
    """Name of White. A nameless player gets a unique name from a question mark, file, game and colour,
    because two nameless players may differ."""
    black: str
    """Name of Black."""
    outcome: Outcome
    round: str = ""
    """Value of the tag ``Round``; empty for none."""
    start: str = ""
    """First four fields of the FEN of the start; empty for the usual start."""
    moves: int | None = None
    """Number of moves of the side with more moves, by the tag ``PlyCount``; None if unavailable."""
    link: str = ""
    """Address at which the explorer shows the game; empty for none."""

    @classmethod
    def of(cls, file: str, game: TaggedGame, explorer: str = "") -> Self | None:
        """Return the record of a game; None for a broken or empty game.

        :param file: name of the file.
        :param explorer: address of the explorer, for a link to the game; empty for no link.
        """
        raw, outcome = game.raw, game.outcome
        if outcome is None:
            return None
        file, tags = printable(file), raw.values

        def value(name: str, unknown: str) -> str:
            text = printable(tags.get(name, "?")).strip()
            return unknown if text in _UNKNOWN_VALUES else text

        white, black = (value(side, f"? ({file} {raw.number}, {side})") for side in ("White", "Black"))
        start, moves = _start(value("FEN", "")), None if raw.plies is None else (raw.plies + 1) // 2
        link = explorer and explorer + explorer_link(raw.data, outcome.settings.variant)
        return cls(file, raw.number, white, black, outcome, value("Round", ""), start, moves, link)

    def scored_by(self, scheme: Scheme) -> GameRecord:
        """Return the record with its outcome scored by a scheme, with the game's cutoff and komi.

        Only an outcome with bounds can change.

        :raises UsageError: if the scheme has no points for the game's komi.
        """
        scoring = self.outcome.settings.scoring
        if self.outcome.bounds is None or scoring.scheme is scheme:
            return self
        return replace(self, outcome=self.outcome.scored_by(replace(scoring, scheme=scheme)))

    @property
    def place(self) -> str:
        """The file of the game, and its number in the file."""
        return f"{self.file} {self.number}"

    @property
    def players(self) -> str:
        """The names of White and Black."""
        return f"{self.white} - {self.black}"

    @property
    def nameless_count(self) -> int:
        """Number of players without a name, from 0 to 2."""
        return sum(name.startswith("? (") for name in (self.white, self.black))

    @property
    def classical(self) -> str:
        """The result in chess by mate, stalemate or a win off the board, else the one recorded in the PGN."""
        outcome = self.outcome
        certain = outcome.basis.final or outcome.basis.off_board
        return outcome.classical if certain else outcome.recorded

    @property
    def value(self) -> GScore:
        """The result."""
        return self.outcome.value

    @property
    def points(self) -> Fraction:
        """White's exact points by the game's own scoring."""
        return self.share(self.outcome.settings.scoring.scheme)

    def share(self, scheme: Scheme, value: GScore | None = None) -> Fraction:
        """Return White's exact points for the result by a scheme, with the game's cutoff and komi.

        :param value: a score to use in place of the result.
        :raises UsageError: if the scheme has no points for the game's komi.
        """
        return _share(self.outcome.settings.scoring, scheme, self.value if value is None else value)


def _start(fen: str) -> str:
    """Return the first four fields of a FEN; an empty text for the usual start."""
    fields, usual_fields = (text.split()[:4] for text in (fen, chess.STARTING_FEN))
    return "" if fields == usual_fields else " ".join(fields)


@lru_cache(maxsize=4096)
def _share(scoring: Scoring, scheme: Scheme, value: GScore) -> Fraction:
    return (1 + replace(scoring, scheme=scheme).lead(value)) / 2


Pair = tuple[GameRecord, GameRecord]


def paired(games: Iterable[GameRecord]) -> list[Pair]:
    """Return the pairs among games; each game belongs to at most one.

    A pair consists of two games between the same players from the same position, with colours reversed. Games
    of the same round are paired first, then the others. Each game is paired with the earliest such game that
    has no partner yet. In a round such as ``3.1.2``, the last number is that of the game and is ignored.
    Opening moves are not compared, because files do not show where a book ended.
    """
    unpaired = [game for game in games if game.white != game.black]
    all_pairs: list[Pair] = []
    for round_of in (lambda game: game.round.rpartition(".")[0] or game.round or None, lambda game: ""):
        pairs = _match(unpaired, round_of)
        matched = {id(game) for pair in pairs for game in pair}
        unpaired = [game for game in unpaired if id(game) not in matched]
        all_pairs += pairs
    return all_pairs


def _match(games: Sequence[GameRecord], round_of: Callable[[GameRecord], Hashable]) -> list[Pair]:
    """Return the pairs of games for which ``round_of`` is equal; games for which it is None are skipped."""
    waiting: dict[Hashable, deque[GameRecord]] = defaultdict(deque)
    pairs = []
    for game in games:
        number = round_of(game)
        if number is None:
            continue
        partners = waiting[game.black, game.white, game.start, number]
        if partners:
            pairs.append((partners.popleft(), game))
        else:
            waiting[game.white, game.black, game.start, number].append(game)
    return pairs
