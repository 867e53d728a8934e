"""Pairs of games: the same players, the same start position, colours reversed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from tbgen.games.standings.record import GameRecord

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
