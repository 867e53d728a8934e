"""Depths that tables do not store: what is said of them, how they are found, and when layers are made."""

import pickle
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.board.material import Material
from tbgen.board.score import GScore, to_signed
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingLayerError
from tbgen.games.outcome import Basis
from tbgen.games.referee import Arbiter, adjudicate
from tbgen.probe.depths import Layers
from tbgen.probe.moves import DepthSearch
from tbgen.probe.states import ProbeResult, state_of
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tests.support.builds import without_accrued
from tests.support.depths import forget_depths
from tests.support.exhaustive import exhaustive, sample
from tests.support.random_boards import random_board

SHARES = {"KRvKN": 30, "KBvKN": 80, "KRvKP": 60, "KQvKQ": 80, "KQvKR": 95, "KPvKP": 60}
"""Materials, and how many depths in a hundred are found at least by looking at 60 states; seeds are fixed."""


@pytest.fixture
def packed(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tablebase]:
    """The same without depths of accrued scores."""
    directory = tmp_path / "packed"
    directory.symlink_to(tables)
    forget_depths(monkeypatch, directory)
    with open_tablebase(directory) as packed:
        yield packed


State = tuple[chess.Board, GScore, ProbeResult]
"""A position, an accrued score, and the answer of the whole table."""


def accrued_states(tablebase: Tablebase, name: str, count: int) -> list[State]:
    """Random states whose accrued score counts: its rank exceeds neither the position rank nor that of the
    value."""
    rng, found = random.Random(name), list[State]()
    while len(found) < count:
        board = random_board(rng, Material.parse(name))
        fresh = tablebase.probe(board)
        top = min(fresh.position_score.rank, fresh.value.rank)
        accrued = GScore(rng.randrange(2, max(top, 2) + 1), rng.random() < 0.5)
        if top >= 2 and accrued != fresh.position_score:
            found.append((board, accrued, tablebase.probe(board, accrued)))
    return found


@pytest.mark.parametrize("name", ["KPvKP", *exhaustive(["KRvKN", "KQvKQ"])])
def test_what_tables_do_not_store_is_none(name: str, tablebase: Tablebase, packed: Tablebase) -> None:
    """Packed tables have all values, the depths of fresh states, and depths 0; other depths are None."""
    unknown = 0
    for board, accrued, full in accrued_states(tablebase, name, sample(30, 60)):
        assert packed.probe(board) == tablebase.probe(board)
        result = packed.probe(board, accrued)
        assert result == replace(full, depth=0 if full.value == accrued else None)
        every, ranked = tablebase.moves(board, accrued), packed.moves(board, accrued)
        assert list(packed.moves_many([board], [accrued])) == [ranked]
        assert [move.value for move in ranked] == [move.value for move in every]
        depths = {move.move: move.depth for move in every}
        assert all(move.depth in (None, depths[move.move]) for move in ranked)
        for value in {move.value for move in ranked}:
            same = [move for move in ranked if move.value == value]
            stored = [move for move in same if move.depth is not None]
            if value == accrued:  # no hurry and no delay
                assert [move.uci for move in same] == sorted(move.uci for move in same)
            else:  # as ever, as far as it is known; then the others
                assert stored == [move for move in every if move in stored]
                others = [move.uci for move in same[len(stored) :]]
                assert others == sorted(others)
                unknown += len(others)
    assert unknown > 25


@pytest.mark.parametrize("name", ["KPvKP", *exhaustive(sorted(SHARES.keys() - {"KPvKP"}))])
def test_searched_depths_are_those_that_tables_store(
    name: str, tablebase: Tablebase, packed: Tablebase
) -> None:
    """A search finds the depth that a plain table stores, or none."""
    states = [
        found for found in accrued_states(tablebase, name, sample(15, 50)) if found[1] != found[2].value
    ]
    together = DepthSearch(packed._values.goal)
    answered = 0
    for board, accrued, full in states:
        _, state = state_of(board, accrued, Variant.R_MOBILITY)
        value = to_signed(full.value)
        depth = DepthSearch(packed._values.goal).depth(state, value, max_states=60)
        again = together.depth(state, value, max_states=60)
        assert depth in (None, full.depth), board.fen()
        assert again in (None, full.depth), board.fen()
        assert depth is None or again is not None  # what it has found out helps
        answered += depth is not None
    assert 100 * answered >= (SHARES[name] - sample(20, 0)) * len(states)


def test_the_search_ends_where_tables_contradict_each_other(tablebase: Tablebase) -> None:
    """The search gives up if no move keeps the value, or if the moves that do only repeat states."""
    _, state = state_of("1K6/3k3B/8/8/8/8/8/8 w - - 1 1", "-G1.5", Variant.R_MOBILITY)
    for value in ("-G9.5", "G5.5"):
        search = DepthSearch(lambda about: tablebase._values.goal(about)._replace(depth=None))
        assert search.depth(state, to_signed(GScore(value)), max_states=50) is None


@pytest.mark.parametrize("name", ["KRvKP", *exhaustive(["KQvKR", "KPvKP"])])
def test_lines_without_stored_depths(name: str, tablebase: Tablebase, packed: Tablebase) -> None:
    """Each move of a line is a best move, and the line reaches the value after D(P, A) plies. Else the error
    says which depths are missing."""
    rng = random.Random(name)
    starts: list[tuple[chess.Board, GScore | None]] = [
        (random_board(rng, Material.parse(name)), None) for _ in range(sample(7, 30))
    ]
    starts += [(board, accrued) for board, accrued, _ in accrued_states(tablebase, name, sample(10, 30))]
    plies = lacking = searched = 0
    reasons = set[str]()
    for board, accrued in starts:
        start = tablebase.probe(board, accrued)
        try:
            line = packed.line(board, accrued)
        except MissingLayerError as error:
            reasons.add(str(error))
            lacking += 1
            continue
        assert len(line) == start.depth
        held, after = start.accrued, board.copy(stack=False)
        for left, ply in zip(range(len(line) - 1, -1, -1), line, strict=True):
            zeroing = after.is_zeroing(ply.move)
            after.push(ply.move)
            reached = tablebase.probe(after, tbgen.FRESH if zeroing else held)
            assert (reached.value, reached.depth, ply.depth) == (start.value, left, left), board.fen()
            held = reached.accrued
            assert ply.accrued == held
            searched += packed.probe(after, held).depth is None
        assert held == start.value
        plies += len(line)
    assert plies > sample(20, 200)
    assert searched > 1
    assert lacking < len(starts) // 4
    assert all(f"that {name} does not store: ask with --depths" in reason for reason in reasons)


def without_depths(tables: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a table of KBvK that does not know depths of accrued scores."""
    for needed in ("KvK", "KBvK"):
        shutil.copy(table_path(tables, needed, Variant.R_MOBILITY), directory)
    forget_depths(monkeypatch, directory)
    return directory


def test_depths_on_demand(
    three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Depths that the search does not find come from layers, which are kept."""
    directory = without_depths(three_men, tmp_path, monkeypatch)
    with open_tablebase(three_men) as full, open_tablebase(directory, depths=True) as deep:
        states = accrued_states(full, "KBvK", sample(10, 60))
        boards, scores = [board for board, _, _ in states], [accrued for _, accrued, _ in states]
        expected = [result for _, _, result in states]
        assert [deep.probe(*state[:2]) for state in states] == expected
        assert "accrued are not stored, and making them takes about" in caplog.text
        made = set(directory.glob("*.layer.h5"))
        assert made
        assert list(deep.probe_many(boards, scores)) == expected
        for board, accrued, _ in states:
            assert deep.moves(board, accrued) == full.moves(board, accrued)
            assert deep.line(board, accrued) == full.line(board, accrued)
        assert repr(pickle.loads(pickle.dumps(deep))) == repr(deep)


def test_a_table_whose_values_are_not_those_of_its_layers(
    three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = without_depths(three_men, tmp_path, monkeypatch)
    monkeypatch.setattr(DepthSearch, "depth", lambda *_: None)
    monkeypatch.setattr(Layers, "get", lambda *_: (GScore("G3.5").code, 1))
    with (
        open_tablebase(directory, depths=True) as deep,
        pytest.raises(DamagedTableError, match="accrued scores are not those"),
    ):
        deep.probe("1K6/3k3B/8/8/8/8/8/8 w - - 1 1", "-G1.5")


def test_a_table_without_accrued_scores(three_men: Path, tmp_path: Path) -> None:
    """If an accrued score counts, the answer is an error; other answers are unchanged."""
    bare = without_accrued(three_men, "KBvK", tmp_path / "bare")
    asked = "1K6/3k3B/8/8/8/8/8/8 w - - 1 1"
    with open_tablebase(bare) as tables, open_tablebase(three_men) as full:
        assert tables.probe(asked) == full.probe(asked)
        assert tables.probe(asked, "-G9.5") == full.probe(asked, "-G9.5")
        for ask in (tables.probe, tables.get, tables.moves, tables.line):
            with pytest.raises(
                MissingLayerError, match="KBvK was built without accrued scores: build it again"
            ):
                ask(asked, "-G1.5")
        with pytest.raises(MissingLayerError):
            adjudicate(Arbiter(f"{asked} -G1.5"), tables)
        with pytest.raises(MissingLayerError):
            tables.probe_arrays("KkB", [[57, 51, 55]], [0], [255 - 3])
    assert not list(bare.glob("*.layer.h5"))


def test_adjudication_does_without_depths(tablebase: Tablebase, packed: Tablebase) -> None:
    for board, accrued, full in accrued_states(tablebase, "KRvKN", 12):
        board.halfmove_clock = 1
        outcome = adjudicate(Arbiter(board, accrued=accrued), packed)
        assert (outcome.value, outcome.basis) == (full.value, Basis.TABLEBASE)
        assert outcome.depth == (0 if full.value == accrued else None)
