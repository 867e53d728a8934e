"""Standings as JSON: tbgen's own document, and the files that TCEC's page reads.

TCEC's Cute Chess writes the crosstable and the schedule of an event: ``generateCrossTable`` and
``generateSchedule`` in ``projects/cli/src/enginematch.cpp`` of github.com/TCEC-Chess/tceccutechess (30 April
2021). TCEC's server adds ``RMobilityScore``, ``DirectEncounter`` and ``RMobilityResult``. The page,
github.com/TCEC-Chess/tcecgui (14 September 2024), reads the files in ``analyse_crosstable`` and
``update_table`` of ``js/game.js``. It also reads the field ``Color`` of each entry of ``Scores``, so this
field is written, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import msgspec
from msgspec.structs import astuple

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.documents import UNSET, Document, EndsDocument, SideName, UnsetType
from tbgen.errors import printable
from tbgen.games.outcome import RESULTS, Basis, Doubt, Outcome
from tbgen.games.pgn.reader import read_game
from tbgen.games.standings.elo import Elo, EloModel, Sprt
from tbgen.games.standings.players import GamesOfPlayer, PairResults, Player, Results, Seat
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.tiebreaks import TIEBREAKS, OrderBy, TieData
from tbgen.games.standings.tournament import EventResult, LeftOutCounts, Standings
from tbgen.games.tagging import TaggedGame
from tbgen.probe.probe_document import PointsDocument, points_document

if TYPE_CHECKING:
    from tbgen.games.standings.ratings import Rating

_SIDES: Final[Mapping[SideName, bool]] = {"white": True, "black": False}
_SUMS: Final = ("points", "rmobility")
"""The tiebreaks whose possible sums are in the document of a player."""

_K_FACTOR: Final = 32
"""Maximum gain from one game in Elo points, as in TCEC's Cute Chess."""
_RATING: Final = re.compile(r"\d{1,5}", re.ASCII)
_START_TIME: Final = re.compile(r"(\d{4})[-.](\d\d)[-.](\d\d)T(\d\d:\d\d:\d\d)")
_COMMENT: Final = re.compile(rb"\{([^}]*)\}")
_EVALUATION: Final = re.compile(rb"\bwv=(?P<whites>[-+]?[\w.]+)|\A\s*\+?(?P<own>-?M?[\d.]+)/\d")
"""An evaluation in a comment: TCEC's, from White's point of view, or Cute Chess's, from the mover's."""
_ENDINGS: Final = {
    Basis.STALEMATE: "Stalemate",
    Basis.REPETITION: "3-fold repetition",
    Basis.FIFTY_MOVES: "Fifty moves rule",
}
"""For each ending on the board, the words of Cute Chess."""
_WINNERS: Final = {"1-0": "White", "0-1": "Black", "1/2-1/2": "None"}


class EloDocument(Document):
    """A difference in Elo points, as in :class:`Elo`; None stands for numbers that are not finite."""

    difference: float | None
    margin: float | None
    los: float | None
    normalised: float | None
    normalised_margin: float | None
    """Elo, its margin, LOS, and normalised Elo with its margin; null for infinite numbers."""


def elo_document(elo: Elo | None) -> EloDocument | None:
    """Return the document of a difference; None if there is none."""
    if elo is None:
        return None
    return EloDocument(*map(_finite, astuple(elo)))


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


class RatingDocument(Document):
    """A joint rating, as in :class:`Rating`; None stands for numbers that are not finite."""

    rating: float | None
    margin: float | None
    superiority: float | None
    """The rating, its margin, and the LOS over the next player of the group; null if nothing bounds them."""
    group: int
    """Number of the group of players who can be compared."""

    @classmethod
    def of_rating(cls, rating: Rating) -> Self:
        """Return the document of a rating."""
        rated, margin, los = map(_finite, (rating.rating, rating.margin, rating.superiority))
        return cls(rated, margin, los, rating.group)


class PairsDocument(Document):
    """The results of pairs of games, as in :class:`PairResults`."""

    count: int
    pentanomial: Sequence[int]
    """Number of pairs: in all, and with 0, 1/2, 1, 1 1/2 and 2 points in chess."""
    elo: EloDocument | None
    """Elo by pairs."""

    @classmethod
    def of_pairs(cls, pairs: PairResults) -> Self:
        """Return the document of pairs."""
        return cls.of(pairs, elo=elo_document(pairs.elo))


class MeetingDocument(Results):
    """The results of a player against one opponent."""

    pairs: PairsDocument


class SumsDocument(Document):
    """The least and the greatest possible number, as in :class:`Sums`."""

    least: float
    most: float


class PlacesDocument(Document):
    """The best and the worst possible place."""

    best: int
    worst: int


class StandingsGame(Document):
    """A game of standings, with its points under the scheme of the standings."""

    file: str
    number: int
    round: str
    white: str
    black: str
    """The file, the number in it, the tag ``Round``, and the players."""
    classical: str
    """The result in chess."""
    accrued: GScore
    value: GScore
    basis: Basis
    """The accrued score, the result and its grounds."""
    points: PointsDocument
    """The points of ``white`` and ``black``."""
    bounds: EndsDocument[GScore] | UnsetType = UNSET
    doubts: Sequence[Doubt] | UnsetType = UNSET
    """If there are any: proved bounds, with ``lower`` and ``upper``, and doubts."""

    @classmethod
    def of_game(cls, game: GameRecord, scheme: Scheme) -> Self:
        """Return the document of a game."""
        outcome = game.outcome
        scoring = replace(game.outcome.settings.scoring, scheme=scheme)
        return cls.of(
            game,
            outcome,
            points=points_document(scoring, outcome.value),
            bounds=UNSET if outcome.bounds is None else EndsDocument.of(outcome.bounds),
            doubts=outcome.doubts or UNSET,
        )


class PlayerDocument(Document):
    """A player of standings: attributes of :class:`Player` and :class:`Results`, and sums of them."""

    name: str
    place: int
    possible_places: PlacesDocument
    """Name and place; the ``best`` and the ``worst`` place that unproven values leave possible."""
    games: int
    """Number of games."""
    points: Mapping[Scheme, Fraction | None]
    """Points by every scoring."""
    wins: int
    draws: int
    losses: int
    classical: Fraction
    """Results and points in chess."""
    share: Fraction
    lead: Fraction
    """Points per game, and points minus those of the opponents."""
    byes: int
    direct: float | None
    """Number of byes, and the direct encounters."""
    tiebreaks: Mapping[str, float | None]
    """All tiebreaks by their names, beginning with what the order counts first."""
    sums: Mapping[str, SumsDocument]
    """For ``points`` by the scoring and for ``rmobility``, the possible ``least`` and ``most``."""
    elo: EloDocument | None
    pairs: PairsDocument
    """Elo by games, and the pairs of games."""
    rating: RatingDocument | None
    """The joint rating; null if there are more than 1,000 players."""
    colours: Mapping[SideName, Results]
    """The results with each colour."""
    given: Mapping[SideName, Mapping[GScore, int]]
    suffered: Mapping[SideName, Mapping[GScore, int]]
    """By colour, the number of games with each score for the player, and against him."""
    meetings: Mapping[str, MeetingDocument]
    """The results and pairs against each opponent."""

    @classmethod
    def of_player(cls, player: Player, standings: Standings) -> Self:
        """Return the document of a player."""
        certainty = standings.certainty
        rating = standings.ratings.get(player.name)
        results = player.results
        sides = {side: player.by_side[white] for side, white in _SIDES.items()}
        return cls.of(
            player,
            results,
            possible_places=PlacesDocument.of(certainty.places[player.name]),
            lead=2 * results.points - results.games,
            direct=player.tiebreaks.get("direct"),
            sums={key: SumsDocument.of(certainty.sums(TIEBREAKS[key], player)) for key in _SUMS},
            elo=elo_document(player.elo),
            pairs=PairsDocument.of_pairs(player.pairs),
            rating=rating and RatingDocument.of_rating(rating),
            colours={side: games.results for side, games in sides.items()},
            given={side: _by_score(games.held_counts) for side, games in sides.items()},
            suffered={side: _by_score(games.suffered_counts) for side, games in sides.items()},
            meetings={
                name: MeetingDocument.of(meeting.results, pairs=PairsDocument.of_pairs(meeting.pairs))
                for name, meeting in player.meetings.items()
            },
        )


def _by_score(counts: Mapping[int, int]) -> dict[GScore, int]:
    return {GScore(rank, True): counts[rank] for rank in sorted(counts)}


class UnprovenDocument(Document):
    """The games whose values are not proved, by file and number."""

    count: int
    games: list[str]
    sentence: str


class SprtDocument(Document):
    """A test of the strength of a player, as in :class:`Sprt`."""

    player: str
    opponent: str
    unit: Literal["games", "pairs"]
    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: EloModel
    count: int
    wins: float
    losses: float
    draws: float
    llr: float
    lower: float
    upper: float
    verdict: Literal["H0", "H1", "continue"]

    @classmethod
    def of_test(cls, test: Sprt, player: str, opponent: str) -> Self:
        """Return the document of a test of one of two players."""
        return cls.of(test, player=player, opponent=opponent, unit="pairs" if test.pairs else "games")


class StandingsDocument(Document):
    """Standings and their games. Numbers are not rounded."""

    scoring: Scheme
    order: str
    tiebreaks: list[str]
    """The scoring, the order and its tiebreaks."""
    rules: str
    source: str
    """The origin of the order."""
    settings: Mapping[str, Sequence[str]]
    """The rules of play."""
    left_out: LeftOutCounts
    """Numbers of games that are ``unfinished``, ``broken``, and ``lost_by_both`` sides (0-0)."""
    games_per_player: SumsDocument
    """The ``least`` and the ``most``."""
    games: list[StandingsGame]
    players: list[PlayerDocument]
    """The games, and the players in order."""
    bases: Mapping[Basis, int]
    """Number of results by basis."""
    unproven: UnprovenDocument
    """The ``count`` of games whose value is not proved, the ``games``, and the ``sentence`` about places."""
    gains: Mapping[str, Fraction]
    """Gains and losses by best play."""
    result: EventResult | None
    """Who has won the event, or is first (docs/match.md)."""
    sprt: SprtDocument | UnsetType = UNSET
    """The test, if there is one."""

    @classmethod
    def of_standings(cls, standings: Standings) -> Self:
        """Return the document of standings."""
        certainty = standings.certainty
        test = standings.sprt
        unproven = [game.location for game in certainty.unproven_games]
        return cls.of(
            standings,
            standings.order,
            scoring=standings.scheme,
            order=standings.order.name,
            tiebreaks=[tiebreak.key for tiebreak in standings.tiebreaks],
            games_per_player=SumsDocument(*standings.game_count_range),
            games=[StandingsGame.of_game(game, standings.scheme) for game in standings.games],
            players=[PlayerDocument.of_player(player, standings) for player in standings.players],
            unproven=UnprovenDocument(len(unproven), unproven, certainty.sentence),
            sprt=UNSET if test is None else SprtDocument.of_test(test, *standings.names),
        )


@dataclass
class TcecEvent:
    """The games of an event and the ratings of its players, for TCEC's page."""

    schedule: list[dict[str, Any]] = field(default_factory=list)
    """One row per game, in the order in which the games were added."""
    name: str = ""
    """The name of the event, from the tags of the games."""
    ratings: dict[str, int] = field(default_factory=dict)
    """Elo rating of each player with a rating in the tags of his games."""
    _game_numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    """Numbers of games in the schedule, by file name and number in the file."""

    def add(self, game: TaggedGame, record: GameRecord | None) -> None:
        """Add a game. A broken game also gets a row, so that all games keep their numbers.

        :param record: record of the game; None if the game is broken.
        """
        if game.raw.empty:
            return
        tags = {name: printable(value) for name, value in game.raw.values.items()}
        self.name = self.name or tags.get("Event", "")
        number = len(self.schedule) + 1
        row: dict[str, Any] = {"Game": number, **{name: tags.get(name, "?") for name in ("White", "Black")}}
        if record is not None:
            self._game_numbers[record.file, record.number] = number
            row |= {"White": record.white, "Black": record.black, **_result_fields(game, record, tags)}
            for name, colour in ((record.white, "White"), (record.black, "Black")):
                if _RATING.fullmatch(rating := tags.get(f"{colour}Elo", "")):
                    self.ratings.setdefault(name, int(rating))
        self.schedule.append(row)

    def documents(self, standings: Standings) -> dict[str, bytes]:
        """Return the content of each file under its name on TCEC's page.

        :param standings: standings of these games.
        """
        files = {"crosstable.json": self.crosstable(standings), "schedule.json": self.schedule}
        return {name: msgspec.json.encode(document) + b"\n" for name, document in files.items()}

    def crosstable(self, standings: Standings) -> dict[str, Any]:
        """Return the crosstable of these games from their standings.

        Sums of r-mobility are exponential points with four decimals. All other sums are of points in chess.
        """
        data = TieData.of(standings.players, OrderBy.CHESS, Scheme.EXPONENTIAL)
        names = list(data.players)
        table = {
            name: {"Abbreviation": abbreviation, **self._player(player, data)}
            for abbreviation, (name, player) in zip(_abbreviations(names), data.players.items(), strict=True)
        }
        return {"Event": self.name, "Order": names, "Table": table}

    def _player(self, player: Player, data: TieData) -> dict[str, Any]:
        white, black = (player.by_side[white].results for white in (True, False))
        score = player.results.classical
        level = [other for other in data.players.values() if other.results.classical == score]

        def tiebreak_value(tiebreak: str) -> float:
            return round(float(TIEBREAKS[tiebreak].number_of(player, level, data) or 0), 4)

        return {
            "Rank": player.place,
            "Rating": self.ratings.get(player.name, 0),
            "Elo": round(sum(map(self._gain, player.seats)), 2),
            "Score": float(score),
            "Games": player.results.games,
            "GamesAsWhite": white.games,
            "GamesAsBlack": black.games,
            "WinsAsWhite": white.wins,
            "WinsAsBlack": black.wins,
            "LossAsWhite": white.losses,
            "LossAsBlack": black.losses,
            "Performance": round(float(100 * score / player.results.games), 2),
            "Neustadtl": tiebreak_value("sb"),
            "Strikes": int(tiebreak_value("crashes")),
            "DirectEncounter": tiebreak_value("direct"),
            "RMobilityScore": tiebreak_value("rmobility"),
            "Results": {name: self._meeting(meeting) for name, meeting in player.meetings.items()},
        }

    def _meeting(self, meeting: GamesOfPlayer) -> dict[str, Any]:
        return {
            "H2h": float(meeting.results.classical),
            "Text": "".join("0=1"[seat.half_points] for seat in meeting.seats),
            "Scores": [self._score(seat) for seat in meeting.seats],
        }

    def _score(self, seat: Seat) -> dict[str, Any]:
        return {
            "Game": self._game_numbers[seat.game.file, seat.game.number],
            "Result": seat.half_points / 2,
            "Winner": _WINNERS[seat.game.classical],
            "Color": 0 if seat.is_white else 1,
        }

    def _gain(self, seat: Seat) -> float:
        """Return the Elo points that a player has gained in a game, from its result in chess."""
        white, black = (self.ratings.get(name, 0) for name in (seat.game.white, seat.game.black))
        rating_lead = white - black if seat.is_white else black - white
        return _K_FACTOR * (seat.half_points / 2 - 1 / (1 + 10 ** (-rating_lead / 400)))


def _abbreviations(names: Sequence[str]) -> Iterator[str]:
    """Yield a unique abbreviation of each name: its first letter, then another of its letters or a number.

    >>> list(_abbreviations(["Stockfish", "Stoofvlees", "S", "s"]))
    ['St', 'So', 'S1', 'S2']
    """
    used = set[str]()
    for name in names:
        letters = [letter for letter in name if letter.isalnum()] or ["?"]
        suffixes = (*letters[1:], *range(1, len(names) + 1))
        abbreviation = next(
            pair for suffix in suffixes if (pair := f"{letters[0].upper()}{suffix}".capitalize()) not in used
        )
        used.add(abbreviation)
        yield abbreviation


def _result_fields(game: TaggedGame, record: GameRecord, tags: dict[str, str]) -> dict[str, Any]:
    """Return the result and other fields of a finished or running game for its row in the schedule."""
    outcome = record.outcome
    parsed = read_game(game.raw)
    finished = record.classical in RESULTS
    opening = ", ".join(filter(None, (tags.get("Opening"), tags.get("Variation"))))
    start = _START_TIME.match(tags.get("GameStartTime", ""))
    row = {
        "Result": record.classical,
        "RMobilityResult": str(outcome.value) if finished else "",
        "Moves": (len(parsed.moves) + 1) // 2,
        "Duration": tags.get("GameDuration", ""),
        "Start": "{3} on {0}.{1}.{2}".format(*start.groups()) if start else "",
        "ECO": tags.get("ECO", ""),
        "Opening": opening,
        "Termination": tags.get("TerminationDetails") or (_ending(outcome) if finished else "in progress"),
        "FinalFen": parsed.board.fen(),
        **_evaluations(game.raw.data[game.raw.moves_start :], white=not parsed.board.turn),
    }
    return {name: value for name, value in row.items() if value != ""}


def _ending(outcome: Outcome) -> str:
    """Return the ending of a game in the words of Cute Chess, else in the words of its PGN."""
    if outcome.basis is Basis.MATE:
        return f"{'White' if outcome.value.white else 'Black'} mates"
    return _ENDINGS.get(outcome.basis, outcome.ending.rpartition(" by adjudication: ")[2])


def _evaluations(movetext: bytes, *, white: bool) -> dict[str, str]:
    """Return both engines' evaluations, from White's point of view, found in the last two comments.

    :param white: whether White has made the last move.
    """
    evaluations = {}
    for comment in reversed(_COMMENT.findall(movetext)[-2:]):
        if match := _EVALUATION.search(comment):
            evaluation = (match["whites"] or match["own"]).decode()
            if match["own"] and not white and evaluation.strip("0."):
                evaluation = evaluation[1:] if evaluation[0] == "-" else f"-{evaluation}"
            evaluations["WhiteEv" if white else "BlackEv"] = evaluation
        white = not white
    return evaluations
