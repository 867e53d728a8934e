"""Games as far as standings are concerned, pairs of them, and where the explorer shows them."""

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

_MOST_IN_QUERY: Final = 4000
"""Letters of moves; longer ones go where no server and no proxy sees them."""
_MOST_HEAD: Final = 6000
_OF_START: Final = ("[FEN ", "[SetUp ", "[FENAccrued ")
_LAST_COMMENT: Final = re.compile(r"(\{[^{}]*\})[^{}]*$")


def explorer_link(text: bytes, rules: str) -> str:
    """Return query and fragment by which the explorer shows a game; ``state.js`` of its page reads them.

    :param text: the game as PGN.
    :param rules: the name of the variant.
    """
    game = next(read_games(BytesIO(text)))
    query = [f"fen={game.start.board.fen().replace(' ', '_')}", f"rules={rules}"]
    if game.start.accrued is not None:
        query.append(f"accrued={game.start.accrued}")
    fragment: list[str] = []
    line, head = quote("_".join(_sans(game))), _head(text.decode(errors="replace"))
    if line:
        (fragment if len(line) > _MOST_IN_QUERY else query).append(f"line={line}")
        if len(head) <= _MOST_HEAD:
            fragment.append(f"game={quote(head)}")
    return f"?{'&'.join(query)}" + (f"#{'&'.join(fragment)}" if fragment else "")


def _sans(game: Game) -> Iterator[str]:
    board = game.start.board.copy(stack=False)
    for move in game.moves:
        yield board.san(move).rstrip("+#")
        board.push(move)


def _head(text: str) -> str:
    """Return what decides the result besides the moves: the tags, but those of the start position, and the
    last comment."""
    tags = takewhile(str.strip, text.strip().split("\n"))
    head = [tag for tag in tags if not tag.startswith(_OF_START)]
    comment = _LAST_COMMENT.search(text)
    if comment:
        head.append(" ".join(comment[1].split()))
    return "\n".join(head)


_UNKNOWN = ("", "?", "-")
"""What a tag says that says nothing."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """The players of a game, and its outcome."""

    file: str
    number: int
    """In the file, counted from 1."""
    white: str
    """A name; or, of a player without one, a question mark with file, game and colour: nobody knows whether
    two of them are the same."""
    black: str
    outcome: Outcome
    round: str = ""
    """As the tag says; empty if it says nothing."""
    start: str = ""
    """Board, side to move, castling rights and en passant square of the start; empty for the usual one."""
    moves: int | None = None
    """Moves of the side that has made more, by the tag ``PlyCount``; None if it does not say."""
    link: str = ""
    """The address at which the explorer shows the game; empty if there is none."""

    @classmethod
    def of(cls, file: str, game: TaggedGame, explorer: str = "") -> Self | None:
        """Return the record of a game, None of a broken one.

        :param file: what to call the file.
        :param explorer: the address of the explorer, if the record is to have a link.
        """
        raw, outcome = game.raw, game.outcome
        if outcome is None:
            return None
        file, tags = printable(file), raw.values

        def value(name: str, unknown: str) -> str:
            found = printable(tags.get(name, "?")).strip()
            return unknown if found in _UNKNOWN else found

        white, black = (value(side, f"? ({file} {raw.number}, {side})") for side in ("White", "Black"))
        start, moves = _start(value("FEN", "")), None if raw.plies is None else (raw.plies + 1) // 2
        link = explorer and explorer + explorer_link(raw.data, outcome.settings.variant)
        return cls(file, raw.number, white, black, outcome, value("Round", ""), start, moves, link)

    def scored_by(self, scheme: Scheme) -> GameRecord:
        """Return the record with what its result's bounds say by a scheme, with the game's cutoff and komi.

        :raises UsageError: if the scheme has no points for the game's komi.
        """
        own = self.outcome.settings.scoring
        if self.outcome.bounds is None or own.scheme is scheme:
            return self
        return replace(self, outcome=self.outcome.scored_by(replace(own, scheme=scheme)))

    @property
    def place(self) -> str:
        """Where it is: the file, and the number there."""
        return f"{self.file} {self.number}"

    @property
    def players(self) -> str:
        """White and Black."""
        return f"{self.white} - {self.black}"

    @property
    def nameless(self) -> int:
        """How many of the two players have no name."""
        return sum(name.startswith("? (") for name in (self.white, self.black))

    @property
    def classical(self) -> str:
        """The result in chess: of a mate, stalemate or win off the board that, whatever the tag says, else
        the tag's."""
        outcome = self.outcome
        known = outcome.basis.final or outcome.basis.off_board
        return outcome.classical if known else outcome.recorded

    @property
    def value(self) -> GScore:
        """The result."""
        return self.outcome.value

    @property
    def points(self) -> Fraction:
        """White's points, exactly, by the game's own scoring."""
        return self.share(self.outcome.settings.scoring.scheme)

    def share(self, scheme: Scheme, value: GScore | None = None) -> Fraction:
        """Return White's points, exactly, for the result or another one, by the game's own cutoff and komi.

        :raises UsageError: if the scheme has no points for the game's komi.
        """
        return _share(self.outcome.settings.scoring, scheme, self.value if value is None else value)


def _start(fen: str) -> str:
    """Return where a game starts; nothing also where the tag says what goes without saying."""
    found, usual = (text.split()[:4] for text in (fen, chess.STARTING_FEN))
    return "" if found == usual else " ".join(found)


@lru_cache(maxsize=4096)
def _share(own: Scoring, scheme: Scheme, value: GScore) -> Fraction:
    return (1 + replace(own, scheme=scheme).lead(value)) / 2


Pair = tuple[GameRecord, GameRecord]


def paired(games: Iterable[GameRecord]) -> list[Pair]:
    """Return the pairs among games; each game belongs to one at most.

    Of all games between two players from one position those of the same round go together, and the others as
    they come: each with the first one before it that has no partner yet. What stands behind the
    last point of a round is the number of a game. Opening moves are not compared, as files do not tell
    where a book ended.
    """
    left = [game for game in games if game.white != game.black]
    found: list[Pair] = []
    for round_of in (lambda game: game.round.rpartition(".")[0] or game.round or None, lambda game: ""):
        pairs = _match(left, round_of)
        matched = {id(game) for pair in pairs for game in pair}
        left = [game for game in left if id(game) not in matched]
        found += pairs
    return found


def _match(games: Sequence[GameRecord], round_of: Callable[[GameRecord], Hashable]) -> list[Pair]:
    """Return pairs of games of the same round; games of none (None) are left alone."""
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
