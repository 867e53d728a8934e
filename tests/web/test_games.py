"""Games by the API: accrued scores, values from tables, and the outcome."""

import io
import random
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.pgn
import pytest
from starlette.testclient import TestClient

from tbgen.probe.tablebase import open_tablebase
from tbgen.web.configuration import MAX_GAMES_BYTES
from tests.support.exhaustive import sample
from tests.support.paths import ROOT

DRAWN = (ROOT / "docs" / "drawn_game.pgn").read_text()
BROKEN = "1. e4 e5 2. Ke3 *"


def played(fen: str, plies: int, seed: int) -> chess.pgn.Game:
    """Return a game of random moves from a position."""
    rng, board = random.Random(seed), chess.Board(fen)
    for _ in range(plies):
        if moves := list(board.legal_moves):
            board.push(rng.choice(moves))
    return chess.pgn.Game.from_board(board)


def test_comments(api: TestClient) -> None:
    """Comments of the main line and of variations are those found by python-chess."""
    text = """{Start} 1. e4 {King's
    pawn} e5 (1... c5 {Sicilian} 2. Nf3 (2. c3 {Alapin}) 2... d6) {open} 2. Nf3 {A} {B} *"""
    found = api.post("/r/game", content=text).json()
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    wanted = {" ".join(node.comment.split()): node for node in walked(game) if node.comment}
    assert len(wanted) == 6
    said = {ply["comment"]: ply for ply in [*found["plies"], *found["variations"]] if ply["comment"]}
    assert {comment: ply["fen"] for comment, ply in said.items()} == {
        comment: node.board().fen() for comment, node in wanted.items()
    }


def test_glyphs(api: TestClient) -> None:
    """Glyphs as numbers and as signs, in variations too, are those found by python-chess."""
    text = """1. e4! $13 e5?! (1... c5 $1 $146 2. Nf3+!? (2. c3?? $3) 2... d6 $2) $14 2. Nf3 !! $14
    Nc6 ?? (2... d6 $0 $4) 3. Bb5 $7 a6 $1000 $256 $255 *"""
    found = api.post("/r/game", content=text).json()
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    wanted = {node.board().fen(): node.nags - {0, 256, 1000} for node in walked(game)}
    assert sum(map(len, wanted.values())) == 16
    plies = [*found["plies"], *found["variations"]]
    assert {ply["fen"]: set(ply["nags"]) for ply in plies} == wanted
    assert plies[1]["nags"] == [1, 13]
    assert [ply["san"] for ply in plies[:5]] == [None, "e4", "e5", "Nf3", "Nc6"]
    odd = api.post("/r/game", content="$1 ! 1. e4 $2 ($3 1. d4 $4 Ke3 $5 d5 $6) $7 e5 *").json()
    assert [ply["nags"] for ply in [*odd["plies"], *odd["variations"]]] == [[], [2, 7], [], [4]]


def walked(node: chess.pgn.GameNode) -> Iterator[chess.pgn.GameNode]:
    """Yield a node and all its descendants."""
    yield node
    for variation in node.variations:
        yield from walked(variation)


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_plies_have_what_a_probe_of_the_moves_so_far_says(rules: str, api: TestClient, tables: Path) -> None:
    """The accrued score of a ply equals that of a board with the same moves."""
    game = played("8/8/8/3k4/8/2KP4/8/5b2 w - - 0 1", 60, 1)
    plies = api.post(f"/{rules}/game", content=str(game)).json()["plies"]
    board = game.board()
    with open_tablebase(tables, rules=rules) as tablebase:
        for ply, move in zip(plies, [None, *game.mainline_moves()], strict=True):
            assert ply["uci"] == (move and move.uci())
            if move is not None:
                assert ply["san"] == board.san(move)
                board.push(move)
            expected = tablebase.probe(board)
            assert (ply["fen"], ply["depth"]) == (board.fen(), expected.depth)
            for name in ("value", "accrued", "position_score"):
                assert ply[name] == str(getattr(expected, name))


def test_where_no_table_reaches(api: TestClient) -> None:
    """A game from six men through five, without a table, to four."""
    game = '[FEN "8/8/2nk4/3p4/2BP4/2K5/8/8 b - - 0 1"]\n\n1... dxc4 2. d5 Kxd5 *'
    found = api.post("/r/game", content=game).json()
    assert [ply["value"] is None for ply in found["plies"]] == [True, True, True, False]
    assert found["missing_tables"] == ["KNPvKP"]
    assert found["plies"][0]["points"] is None
    assert found["plies"][0]["category"] is None
    # Castling rights are not looked up.
    game = '[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]\n\n1. O-O Kd7 *'
    plies = api.post("/r/game", content=game).json()["plies"]
    assert [ply["value"] is None for ply in plies] == [True, False, False]
    # Nor are results that both sides have lost.
    for fen, result, doubts in (
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "*", []),
        ("8/8/8/4KBk1/8/8/8/8 b - - 0 1", "0-0", ["both forfeit"]),
    ):
        stopped = api.post("/r/game", content=f'[FEN "{fen}"]\n\n{result}').json()["outcome"]
        assert (stopped["basis"], stopped["proven"], stopped["doubts"]) == ("played", False, doubts)


def test_what_is_no_game(api: TestClient) -> None:
    for pgn, sentence in (
        ("", "the PGN has no game: give one"),
        (f"{DRAWN}\n\n{DRAWN}", "the PGN has more than one game"),
        (BROKEN, "ply 3: 'Ke3' is not a legal move"),
        ('[Variant "Atomic"]\n\n1. e4 *', "the variant 'Atomic' is not refereed here"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "this is not PGN: it has neither"),
        ('[Komi "nonsense"]\n\n1. e4 *', "'nonsense' is not a komi"),
    ):
        response = api.post("/r/game", content=pgn.encode("latin-1"))
        assert (response.status_code, response.json()["code"]) == (400, "bad_input")
        assert response.json()["message"].startswith(sentence)  # without a line number


def test_a_game_that_is_too_long(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.web.games.MAX_PLIES", 120)
    turns = " ".join(["Nf3 Nf6 Ng1 Ng8"] * 30)
    found = api.post("/r/game", content=f"{turns} *").json()
    assert len(found["plies"]) == 120 + 1
    assert found["outcome"]["basis"] == "fifty-move rule"
    response = api.post("/r/game", content=f"{turns} e4 *")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_variations_are_refereed_as_games_of_their_own(api: TestClient) -> None:
    """The last state of each variation equals that of a game with the same moves."""
    rng = random.Random(3)
    game = played("8/8/8/3k4/8/2KP4/8/5b2 w - - 0 1", 12, 3)
    nodes = [game, *game.mainline()]
    for _ in range(sample(12, 25)):
        node = rng.choice([each for each in nodes if each is not game.end()])
        taken = {child.move for child in node.variations}
        if free := [move for move in node.board().legal_moves if move not in taken]:
            nodes.append(node.add_variation(rng.choice(free)))
    found = api.post("/r/game", content=str(game)).json()
    said = [*found["plies"], *found["variations"]]
    by_moves = {}
    paths = [""]
    for number, ply in enumerate(said[1:], 1):
        after = ply["after"] if "after" in ply else number - 1
        assert after < number
        assert ply["ply"] == said[after]["ply"] + 1
        paths.append(f"{paths[after]} {ply['uci']}")
        by_moves[paths[-1]] = ply
    assert len(by_moves) == len(nodes) - 1 > 15
    assert found["cut_variations"] == 0
    for node in nodes[1:]:
        moves = node.board().move_stack
        alone = chess.pgn.Game()
        alone.setup(game.board())
        alone.add_line(moves)
        *_, last = api.post("/r/game", content=str(alone)).json()["plies"]
        ply = by_moves["".join(f" {move.uci()}" for move in moves)]
        assert {**ply, "after": 0} == {**last, "after": 0}


def test_odd_variations(api: TestClient) -> None:
    """Variations are cut before illegal moves and counted; the main line is not affected."""
    for text, count, cut in (
        ("1. e4 (1. d4 Ke3 d5) e5 *", 1, 1),
        ("1. e4 (1. d4 -- 2. c4) (1. c4) e5 *", 2, 1),
        ("1. e4 ((1. d4) 1. c4) e5 *", 1, 0),
        ("(1. d4) 1. e4 e5 *", 0, 0),
        ("1. e4 (1. d4 (1. c4 (1. b4)) d5) e5 {open (1. a4)", 4, 0),
    ):
        found = api.post("/r/game", content=f'[White "Ada"]\n\n{text}').json()
        assert [ply["san"] for ply in found["plies"]] == [None, "e4", "e5"], text
        assert (len(found["variations"]), found["cut_variations"]) == (count, cut), text


def test_results_of_many_games(api: TestClient) -> None:
    """Each game has the same result as alone; a broken one has its error, and the others follow."""
    texts = [
        DRAWN,
        f'[White "Ada"]\n[Black "B \\"B\\""]\n\n{BROKEN}',
        '[Komi "x"]\n\n1. e4 *',
        "1. e4 {good} *",
    ]
    found = api.post("/r/games", content="\n\n".join(texts)).json()["games"]
    alone = [api.post("/r/game", content=game["pgn"]).json() for game in found]
    for game, answer in zip(found, alone, strict=True):
        if "outcome" in answer:
            assert game["outcome"] == answer["outcome"]
            assert game["plies"] == len(answer["plies"]) - 1
            assert game["error"] is None
        else:
            assert game["outcome"] is None
            assert game["error"].partition(": ")[2] in answer["message"]
    assert [game["error"] is None for game in found] == [True, False, False, True]
    assert found[1]["tags"] == {"White": "Ada", "Black": 'B "B"'}
    assert (found[3]["number"], found[3]["comment"], found[3]["result"]) == (4, "good", "*")
    assert found[0]["result"] == "1/2-1/2"


def test_games_that_are_too_many(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.web.games.MAX_GAMES", 3)
    monkeypatch.setattr("tbgen.web.games.MAX_TOTAL_PLIES", 6)
    for texts, status, sentence in (
        (["1. e4 *"] * 3, 200, ""),
        (["1. e4 *"] * 4, 413, "more than 3 games"),
        (["1. e4 e5 2. d4 *"] * 3, 413, "more than 6 plies"),
        ([""], 400, "no game"),
        ([" " * (MAX_GAMES_BYTES + 1)], 413, "2048 KiB"),
    ):
        response = api.post("/wg/games", content="\n\n".join(texts))
        assert response.status_code == status
        assert sentence in response.json().get("message", "")
