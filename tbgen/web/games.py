"""Games, refereed: one with its variations ply by ply, or many with their results. All of it blocks."""

import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import chess

from tbgen.errors import UsageError
from tbgen.games.pgn.reader import Game, read_game
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.pgn.variations import VariationMove, Variations, read_variations
from tbgen.games.referee import Arbiter, GameOptions, adjudicate
from tbgen.games.settings import GameSettings
from tbgen.probe.documents import points_document
from tbgen.web.documents import (
    GameDocument,
    GamePlyDocument,
    GamesDocument,
    ListedGameDocument,
    OutcomeDocument,
    VariationPlyDocument,
)
from tbgen.web.errors import Refusal
from tbgen.web.playing import GameState, Worth, in_tables, worth_fields, worths
from tbgen.web.settings import MOST_GAMES, MOST_PLIES, MOST_PLIES_OF_GAMES
from tbgen.web.stock import Stock


def game(stock: Stock, body: bytes) -> GameDocument:
    """Return what has accrued at every ply of the game of a PGN text and its variations, what that is worth
    where tables say, and the outcome.

    :raises Refusal: if the game is too long.
    :raises TbgenError: if it is no game, or more than one, or a table cannot be used.
    """
    played, (moves, cut, comments, nags) = _game_with_variations(body)
    settings = GameOptions(stock.variant).settings(played.tags)
    arbiter = Arbiter.of(played.start, settings)
    main = [VariationMove(number, move) for number, move in enumerate(played.moves)]
    states = _states(arbiter, [*main, *moves])
    known = worths(stock.tables, states)
    outcome = _outcome(stock, arbiter, played)
    depth = [0]
    for after, _ in (*main, *moves):
        depth.append(depth[after] + 1)
    fields = [
        _fields(*each, settings=settings)
        | {"comment": comments.get(number, ""), "nags": nags.get(number, [])}
        for number, each in enumerate(zip(depth, states, known, strict=True))
    ]
    return GameDocument(
        rules=stock.variant,
        fifty_move_rule=settings.fifty_move_rule,
        plies=[GamePlyDocument(**each) for each in fields[: len(main) + 1]],
        variations=[
            VariationPlyDocument(**each, after=after)
            for each, (after, _) in zip(fields[len(main) + 1 :], moves, strict=True)
        ],
        cut_variations=cut,
        outcome=outcome,
        missing_tables=sorted({worth.missing for worth in known if worth.missing}),
    )


def _fields(ply: int, state: GameState, worth: Worth, *, settings: GameSettings) -> dict[str, Any]:
    """Return what is said of a position of a game and of the move that led to it."""
    return {
        "ply": ply,
        "uci": state.uci or None,
        "san": state.san or None,
        "position_score": str(state.position_score),
        "clock": state.clock,
        **worth_fields(state, worth, settings.scoring),
    }


def only_game(pgn: bytes) -> Game:
    """Return the one game of a PGN text.

    :raises Refusal: if it is too long.
    :raises UsageError: if there is another number of games, or the game is broken.
    """
    return _game_with_variations(pgn)[0]


def _game_with_variations(pgn: bytes) -> tuple[Game, Variations]:
    raws = list(islice(_raw_games(pgn), 2))
    if len(raws) != 1:
        number = "more than one game" if raws else "no game"
        raise UsageError(f"the PGN has {number}: give one")
    found = read_game(raws[0])
    if found.error is not None:
        raise UsageError(found.error.alone)  # its text may be one that nobody has written line by line
    variations = read_variations(raws[0], found)
    if (plies := len(found.moves) + len(variations.moves)) > MOST_PLIES:
        with_them = " with its variations" if variations.moves else ""
        raise Refusal(413, "too_large", f"the game has {plies} plies{with_them}: one may have {MOST_PLIES}")
    return found, variations


def _raw_games(pgn: bytes) -> Iterator[RawGame]:
    return (raw for raw in split_games(io.BytesIO(pgn)) if not raw.empty)


def _states(arbiter: Arbiter, moves: Sequence[VariationMove]) -> list[GameState]:
    """Return the states of a game and its variations by their numbers; the arbiter has made the moves of the
    main line in the end.

    :param moves: those of the main line first.
    """
    next_moves = defaultdict[int, list[tuple[int, chess.Move | None]]](list)
    for number, (after, made) in enumerate(moves, 1):
        next_moves[after].append((number, made))
    found = {0: GameState.of(arbiter)}
    to_do = [*next_moves[0]]  # the last one is next; without a move, one is taken back
    while len(found) <= len(moves):
        number, move = to_do.pop()
        if move is None:
            arbiter.pop()
            continue
        san = arbiter.board.san(move)
        arbiter.push(move)
        found[number] = GameState.of(arbiter, move.uci(), san)
        to_do += [(number, None), *next_moves[number]]
    return [found[number] for number in range(len(moves) + 1)]


def _outcome(stock: Stock, arbiter: Arbiter, played: Game) -> OutcomeDocument:
    """Return what a game comes to whose moves are made."""
    tables = stock.tables if in_tables(arbiter.board) else None
    outcome = adjudicate(arbiter, tables, played.ending, recorded=played.result, doubts=played.doubts)
    return OutcomeDocument(
        value=str(outcome.value),
        holder=outcome.value.holder,
        basis=outcome.basis,
        proven=outcome.proven,
        depth=outcome.depth,
        points=points_document(outcome.settings.scoring, outcome.value),
        doubts=list(outcome.doubts),
    )


def games(stock: Stock, body: bytes) -> GamesDocument:
    """Return the games of a PGN text with what they come to; a broken one has what is wrong instead.

    :raises Refusal: if there are too many games, or too many plies.
    :raises UsageError: if there is no game.
    :raises TbgenError: if a table cannot be used.
    """
    raws = list(islice(_raw_games(body), MOST_GAMES + 1))
    if not raws:
        raise UsageError("the PGN has no game: give one")
    if len(raws) > MOST_GAMES:
        raise Refusal(413, "too_large", f"the PGN has more than {MOST_GAMES} games: send it in parts")
    found, plies = list[ListedGameDocument](), 0
    for raw in raws:
        played = read_game(raw)
        plies += len(played.moves)
        if plies > MOST_PLIES_OF_GAMES:
            sentence = f"the games have more than {MOST_PLIES_OF_GAMES} plies: send them in parts"
            raise Refusal(413, "too_large", sentence)
        found.append(_listed(stock, raw, played))
    return GamesDocument(rules=stock.variant, games=found)


def _listed(stock: Stock, raw: RawGame, played: Game) -> ListedGameDocument:
    """Return a game in short."""
    outcome = None
    error: UsageError | None = played.error
    if error is None:
        try:
            arbiter = Arbiter.of(played.start, GameOptions(stock.variant).settings(played.tags))
            for move in played.moves:
                arbiter.push(move)
            outcome = _outcome(stock, arbiter, played)
        except UsageError as wrong:
            error = wrong
    return ListedGameDocument(
        number=played.number,
        tags=played.tags,
        comment=played.comment,
        result=played.result,
        plies=len(played.moves),
        outcome=outcome,
        error=None if error is None else str(error),
        pgn=raw.data.decode("utf-8", "replace"),
    )
