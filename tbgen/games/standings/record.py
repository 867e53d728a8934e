"""Records of games for standings, formats of events, pairs of games, and links to the explorer."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from typing import Final, Self
from urllib.parse import quote, unquote

import chess

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme, Scoring
from tbgen.errors import NamedChoice, printable
from tbgen.games.outcome import Outcome
from tbgen.games.pgn import tags as tag_names
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.tagging import TaggedGame

_MAX_QUERY_LENGTH: Final = 4000
"""Maximum length of the moves in the query. If they are longer, they go into the fragment, which no server
receives."""
_MAX_TAGS_LENGTH: Final = 6000
"""Maximum length of the tags and the comment in the fragment. If they are longer, they are omitted."""
_START_TAGS: Final = ("FEN", "SetUp", "FENAccrued")
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\""})
"""Maps the characters that a backslash precedes in the value of a tag."""

_UNKNOWN_VALUES = ("", "?", "-")
"""Values of a tag that stand for an unknown value."""

_NUMBER: Final = "([1-9][0-9]{0,8})"


def explorer_query(pgn: bytes, rules: str) -> str:
    """Return the query and the fragment of the address at which the explorer shows a game.

    The explorer reads them in ``state.js``.

    :param pgn: the game in PGN.
    :param rules: name of the variant.
    """
    game = next(read_games(BytesIO(pgn)))
    query = [f"fen={game.start.board.fen().replace(' ', '_')}", f"rules={rules}"]
    if game.start.accrued is not None:
        query.append(f"accrued={game.start.accrued}")
    fragment: list[str] = []
    line = quote("_".join(_sans(game)))
    head = _tags_and_comment(game)
    if line:
        (fragment if len(line) > _MAX_QUERY_LENGTH else query).append(f"line={line}")
        if len(head) <= _MAX_TAGS_LENGTH:
            fragment.append(f"game={quote(head)}")
    return f"?{'&'.join(query)}" + (f"#{'&'.join(fragment)}" if fragment else "")


def _sans(game: Game) -> Iterator[str]:
    board = game.start.board.copy(stack=False)
    for move in game.moves:
        yield board.san(move).rstrip("+#")
        board.push(move)


def _tags_and_comment(game: Game) -> str:
    """Return the parts of a game that, besides its moves, determine its result: tags and the last comment.

    Tags of the start position are omitted.
    """
    values = {name: value for name, value in game.tags.items() if name not in _START_TAGS}
    lines = [f'[{name} "{value.translate(_ESCAPES)}"]' for name, value in values.items()]
    if game.comment and "}" not in game.comment:
        lines.append(f"{{{' '.join(game.comment.split())}}}")
    return "\n".join(lines)


class Format(NamedChoice, noun="a format of events", swisstcec="swiss"):
    """The format of an event, which determines its pairings and its winner."""

    ROUND_ROBIN = "round-robin"
    """All players meet each other. With two players, this is a match."""
    GAUNTLET = "gauntlet"
    """Each seed, that is, each of the first few players, meets all players who are not seeds."""
    KNOCKOUT = "knockout"
    SWISS = "swiss"

    @property
    def waits_for_results(self) -> bool:
        """Whether the pairings of a round depend on the results of earlier rounds."""
        return self in (Format.KNOCKOUT, Format.SWISS)


_TOURNAMENT: Final = rf"({'|'.join(Format)})(?:; seeds {_NUMBER})?; rounds {_NUMBER}; games ([12]); (.+)"


@dataclass(frozen=True, slots=True)
class EventFormat:
    """The format of an event, as its games state it in the tag ``Tournament``."""

    form: Format | None = None
    """None if the games do not state a format, like those of earlier versions."""
    players: tuple[str, ...] = ()
    """The players in the order of seeding."""
    rounds: int = 1
    """Number of rounds or, in a knockout, number of encounters of each duel."""
    games: int = 1
    """Number of games in an encounter."""
    seeds: int = 1
    """Number of seeds of a gauntlet."""

    @property
    def total(self) -> int | None:
        """Total number of games, of a Swiss tournament at most; None if unknown or determined by results."""
        count = len(self.players)
        robin = count * (count - 1) // 2
        gauntlet = self.seeds * (count - self.seeds)
        encounters = {Format.ROUND_ROBIN: robin, Format.GAUNTLET: gauntlet, Format.SWISS: count // 2}
        return self.rounds * self.games * encounters[self.form] if self.form in encounters else None

    def __str__(self) -> str:
        names = (name.replace("%", "%25").replace(";", "%3B") for name in self.players)
        form = f"{self.form}; seeds {self.seeds}" if self.form is Format.GAUNTLET else f"{self.form}"
        return "; ".join([form, f"rounds {self.rounds}", f"games {self.games}", *names])

    @classmethod
    def of(cls, pgn_tags: Mapping[str, str]) -> Self | None:
        """Return the format of a game's event from the tags of the game.

        Return None if the game does not belong to an event of ``tbgen match``.
        """
        match = re.fullmatch(_TOURNAMENT, printable(pgn_tags.get(tag_names.TOURNAMENT, "")))
        if match is None:
            return cls() if tag_names.SCHEDULE in pgn_tags else None
        form, seeds, rounds, games, names = match.groups(default="1")
        return cls(Format(form), tuple(map(unquote, names.split("; "))), int(rounds), int(games), int(seeds))


@dataclass(frozen=True, slots=True)
class GameRecord:
    """The players of a game, and its outcome."""

    file: str
    number: int
    """Number of the game in the file, from 1."""
    white: str
    """Name of White. A nameless player gets a unique name, because two nameless players may be
    different players. The name consists of a question mark, file, game and colour."""
    black: str
    """Name of Black."""
    outcome: Outcome
    round: str = ""
    """Value of the tag ``Round``; empty if unknown."""
    start: str = ""
    """First four fields of the FEN of the start position; empty for the usual start position."""
    move_count: int | None = None
    """Number of moves, rounded up, from the tag ``PlyCount``; None if unavailable."""
    link: str = ""
    """Address at which the explorer shows the game; empty for no link."""
    event: EventFormat | None = None
    """The format of the event of ``tbgen match`` to which the game belongs; None for other games."""

    @classmethod
    def of(cls, file: str, game: TaggedGame, explorer: str = "") -> Self | None:
        """Return the record of a game; None if the game is broken or empty.

        :param file: name of the file.
        :param explorer: address of the explorer, for a link to the game; empty for no link.
        """
        raw = game.raw
        outcome = game.outcome
        if outcome is None:
            return None
        file = printable(file)
        tags = raw.values

        def tag_of(name: str, default: str) -> str:
            text = printable(tags.get(name, "?")).strip()
            return default if text in _UNKNOWN_VALUES else text

        white, black = (tag_of(side, f"? ({file} {raw.number}, {side})") for side in ("White", "Black"))
        start = _fields(tag_of("FEN", ""))
        count = None if raw.ply_count is None else (raw.ply_count + 1) // 2
        link = explorer and explorer + explorer_query(raw.data, outcome.settings.variant)
        round_ = tag_of("Round", "")
        event = EventFormat.of(tags)
        return cls(
            file, raw.number, white, black, outcome, round_, start, move_count=count, link=link, event=event
        )

    def scored_by(self, scheme: Scheme) -> GameRecord:
        """Return the record with its outcome scored under a scheme, with the game's cutoff and komi.

        The outcome can change only if it has bounds.

        :raises UsageError: if the scheme does not allow the game's komi.
        """
        scoring = self.outcome.settings.scoring
        if self.outcome.bounds is None or scoring.scheme is scheme:
            return self
        return replace(self, outcome=self.outcome.scored_by(replace(scoring, scheme=scheme)))

    def round_numbers(self) -> list[tuple[int, str]]:
        """Return a sort key: the numbers in the round, which may have any number of digits."""
        numbers = (digits.lstrip("0") for digits in re.findall(r"[0-9]+", self.round))
        return [(len(digits), digits) for digits in numbers]

    @property
    def location(self) -> str:
        """The name of the file, and the number of the game in the file."""
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
        """The result in chess: that of the mate, the stalemate or the win off the board that ended the game;
        after any other ending, the result recorded in the PGN."""
        outcome = self.outcome
        return outcome.classical if outcome.basis.final or outcome.basis.off_board else outcome.recorded

    @property
    def value(self) -> GScore:
        """The result."""
        return self.outcome.value

    @property
    def points(self) -> Fraction:
        """White's exact points under the game's own scoring."""
        return self.points_by(self.outcome.settings.scoring.scheme)

    def points_by(self, scheme: Scheme, value: GScore | None = None) -> Fraction:
        """Return White's exact points for the result under a scheme, with the game's cutoff and komi.

        :param value: a score to use instead of the result.
        :raises UsageError: if the scheme does not allow the game's komi.
        """
        return _cached_points(self.outcome.settings.scoring, scheme, self.value if value is None else value)


def _fields(fen: str) -> str:
    """Return the first four fields of a FEN; an empty string for the usual start position."""
    fields, usual_fields = (text.split()[:4] for text in (fen, chess.STARTING_FEN))
    return "" if fields == usual_fields else " ".join(fields)


@lru_cache(maxsize=4096)
def _cached_points(scoring: Scoring, scheme: Scheme, value: GScore) -> Fraction:
    return (1 + replace(scoring, scheme=scheme).lead(value)) / 2


def games_by_round(games: Iterable[GameRecord]) -> list[list[GameRecord]]:
    """Return the games of each round; none if the tag ``Round`` of a game has no number.

    A round ends where the first number of the tag changes, or where a player meets another opponent: in a
    round robin of ``tbgen match``, all rounds of a cycle have the same number.
    """
    rounds: list[list[GameRecord]] = []
    round_number: tuple[int, str] | None = None
    opponents: dict[str, str] = {}
    for game in sorted(games, key=GameRecord.round_numbers):
        numbers = game.round_numbers()
        if not numbers:
            return []
        sides = {game.white: game.black, game.black: game.white}
        if numbers[0] != round_number or any(
            opponents.get(name, other) != other for name, other in sides.items()
        ):
            rounds.append([])
            opponents = {}
        round_number = numbers[0]
        opponents |= sides
        rounds[-1].append(game)
    return rounds


Pair = tuple[GameRecord, GameRecord]


def find_pairs(games: Iterable[GameRecord]) -> list[Pair]:
    """Return the pairs among games; each game belongs to at most one.

    A pair consists of two games between the same players from the same position, with colours reversed. Games
    of the same round are paired first, then the others. Each game is paired with the earliest possible
    partner that is not paired yet. In a round such as ``3.1.2``, the last number is the number of the game
    and is ignored. Opening moves are not compared, because files do not show where a book ended.
    """
    unpaired_games = [game for game in games if game.white != game.black]
    all_pairs: list[Pair] = []
    for round_of in (lambda game: game.round.rpartition(".")[0] or game.round or None, lambda game: ""):
        pairs = _pairs_in_rounds(unpaired_games, round_of)
        paired_ids = {id(game) for pair in pairs for game in pair}
        unpaired_games = [game for game in unpaired_games if id(game) not in paired_ids]
        all_pairs += pairs
    return all_pairs


def _pairs_in_rounds(games: Sequence[GameRecord], round_of: Callable[[GameRecord], Hashable]) -> list[Pair]:
    """Return the pairs of games for which ``round_of`` returns equal values. None excludes a game."""
    waiting_games: dict[Hashable, deque[GameRecord]] = defaultdict(deque)
    pairs = []
    for game in games:
        round_ = round_of(game)
        if round_ is None:
            continue
        partners = waiting_games[game.black, game.white, game.start, round_]
        if partners:
            pairs.append((partners.popleft(), game))
        else:
            waiting_games[game.white, game.black, game.start, round_].append(game)
    return pairs
