"""Puzzles and positions to play, checked move by move by the tables."""

from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import chess
import pytest
from starlette.testclient import TestClient

from tbgen.board.rules import FRESH
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.web import lookups, puzzles
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.payloads import Level
from tbgen.web.replies import Refusal
from tbgen.web.stock import Stock
from tests.support.exhaustive import sample
from tests.web.test_positions import asked

DAY = "2026-11-25"


def values(tables: Tablebase, fen: str) -> dict[str, GScore]:
    """Return the value after each legal move, from a separate look-up of the state after it."""
    board = chess.Board(fen)
    before, found = GScore.of_board(board), {}
    for move in list(board.legal_moves):
        zeroing = board.is_zeroing(move)
        board.push(move)
        own = GScore.of_board(board)
        accrued = own if tables.rules.is_reset_by(zeroing) or own.rank < before.rank else before
        board.halfmove_clock = 1  # so that the accrued score counts
        found[move.uci()] = tables.probe(board, accrued).value
        board.pop()
    return found


def check(tables: Tablebase, told: dict[str, Any]) -> None:
    """Check that only one move of a puzzle keeps the value, and that its level fits its tempting moves."""
    board = chess.Board(told["fen"])
    best, found = tables.probe(board, FRESH), values(tables, told["fen"])
    right, *wrong = (move["uci"] for move in told["moves"])
    assert [uci for uci, value in found.items() if value == best.value] == [right]
    better = max if board.turn else min
    assert best.value == better(found.values())
    assert best.value.white == board.turn
    assert best.value.rank <= 12
    assert best.depth in range(3, 16)
    assert not board.is_capture(chess.Move.from_uci(right))

    def replies(uci: str) -> float:
        after = board.copy()
        after.push_uci(uci)
        return after.legal_moves.count() + (0 if after.is_check() else 0.5)

    tempting = [
        uci for uci in wrong if replies(uci) <= replies(right) or board.is_capture(chess.Move.from_uci(uci))
    ]
    assert sorted(told["tempting"]) == sorted(tempting)
    assert told["level"] == ("easy" if len(tempting) < 2 else "medium" if len(tempting) < 5 else "hard")


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_puzzles_have_one_move(rules: str, api: TestClient, whole_game_tables: Path) -> None:
    """Puzzles of each level have one move, with either side to move; a day's puzzle is always the same, and
    another day has another one."""
    turns = Counter[str]()
    with open_tablebase(whole_game_tables, rules=rules) as tables:
        for number in range(200):
            if number >= sample(2, 200) and len(turns) == 2:
                break
            level = list(Level)[number % 3]
            told = asked(api, f"/{rules}/puzzle", level=level)
            assert told["level"] == level
            turns[told["fen"].split()[1]] += 1
            check(tables, told)
        check(tables, asked(api, f"/{rules}/puzzle", material="KBvKN"))
    daily = [asked(api, f"/{rules}/puzzle", day=day) for day in (DAY, DAY, "2026-11-26")]
    assert daily[0] == daily[1] != daily[2]
    assert len(turns) == 2


def test_challenges_take_their_plies(api: TestClient) -> None:
    limits = {"easy": range(3, 9), "medium": range(9, 21), "hard": range(21, 1000)}
    for level, plies in limits.items():
        told = asked(api, "/r/challenge", level=level)
        assert told == asked(api, "/r", fen=told["fen"])
        assert told["depth"] in plies
        assert told["holder"] == ("white" if told["fen"].split()[1] == "w" else "black")
    assert set(asked(api, "/r/challenge", material="KQvKR")["fen"].split()[0].upper()) >= {"Q", "R"}


def test_what_cannot_be_found_is_said(reference_dir: Path) -> None:
    with TestClient(make_app(Settings((reference_dir,), limit=0))) as client:
        for path, words in (
            *(
                (f"/wg/{name}", "there are no tables of whole-game")
                for name in ("puzzle", "challenge", "sample")
            ),
            ("/r/challenge?material=KRvK", "tbgen build KRvK"),
        ):
            answer = client.get(path)
            assert (answer.status_code, words in answer.json()["message"]) == (404, True)


def test_a_missing_sub_table_is_no_reason_to_fail(reference_dir: Path, tmp_path: Path) -> None:
    """In the first of these positions, the bishop hangs, so that a move needs the missing table."""
    (tmp_path / "KBvK.r.h5").symlink_to(reference_dir / "KBvK.r.h5")
    boards = [chess.Board("8/8/8/4k3/5B2/8/3K4/8 b"), chess.Board("8/8/8/8/8/4B3/8/1k1K4 w")]
    with open_tablebase(tmp_path, rules=Variant.R_MOBILITY) as tables, pytest.MonkeyPatch.context() as patch:
        patch.setattr(puzzles, "random_positions", lambda *_: boards)
        assert puzzles.challenge(Stock(tables), "easy", None).builtins()["material"] == "KBvK"
        patch.setattr("tbgen.web.stock.any_board_of", lambda *_: boards[0])
        with pytest.raises(MissingTableError, match="KvK"):
            lookups.sample(Stock(tables), None, None, None)
        patch.setattr(Stock, "samples", lambda *_: iter(boards))
        assert lookups.sample(Stock(tables), "KBvK", None, None).fen == boards[1].fen()


def test_what_no_table_holds_is_searched_for_once(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a search is bounded, however it is spelt; new tables or many requests are reasons for
    another one, since a search is random. Distant days share the memory of a search."""
    looked_up, picked, probe_many = list[int](), Mock(return_value=()), Tablebase.probe_many
    assert puzzles._MAX_BATCHES * puzzles._BATCH_POSITIONS <= 1 << 13

    def counting(tables: Tablebase, boards: list[chess.Board], accrued: Any) -> Any:
        looked_up.append(len(boards))
        return probe_many(tables, boards, accrued)

    monkeypatch.setattr(Tablebase, "probe_many", counting)
    monkeypatch.setattr(puzzles, "_MAX_BATCHES", 2)
    monkeypatch.setattr(puzzles, "picked_positions", picked)
    monkeypatch.setattr("tbgen.web.stock._REFUSALS_PER_SEARCH", 3)
    spellings, names = ["KQvK", "kqk", "KvKQ", "KQvK", "KQvK"], [*4 * ["old"], "new"]
    with open_tablebase(own, rules=Variant.R_MOBILITY) as tables:
        stock = Stock(tables)
        for name, spelling, searches in zip(names, spellings, [1, 1, 1, 2, 3], strict=True):
            (own / name).touch()
            with pytest.raises(Refusal, match="no puzzle was found"):
                puzzles.puzzle(stock, "hard", spelling, None)
            with pytest.raises(Refusal, match="no position to play was found"):
                puzzles.challenge(stock, "hard", spelling)
            assert sum(looked_up) == searches * 2 * 2 * puzzles._BATCH_POSITIONS
        for day in (DAY, "2026-11-26", "2026-12-27"):
            with pytest.raises(Refusal, match="no puzzle was found"):
                puzzles.puzzle(stock, None, "KQvK", day)
        assert picked.call_count == 2
