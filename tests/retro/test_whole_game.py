"""Tables for whole-game mobility: against a slow solver, python-chess, play-outs, and r-mobility."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.fen import parse_fen
from tbgen.board.material import Material, all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError, UsageError
from tbgen.index.table import Table
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.verify.proof import verify_table
from tbgen.verify.report import VerifyResult, board_at
from tests.support.distributions import DISTRIBUTIONS, distribution
from tests.support.exhaustive import exhaustive
from tests.support.one_ply import by_probing, folded, one_ply
from tests.support.random_boards import en_passant_board, random_board
from tests.support.reference import solve_whole_game
from tests.support.reference_table import whole_game_table
from tests.support.solved_tables import sub_tables_of

MATERIALS = all_materials(4)
THREE_MEN = [material.name for material in all_materials(3)]

Start = tuple[chess.Board, GScore | None]


@pytest.fixture(scope="module")
def tablebase(whole_game_tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(whole_game_tables, rules="wg") as tablebase:
        yield tablebase


def read(directory: Path, name: str, variant: Variant = Variant.WHOLE_GAME) -> Table:
    with TableFile(table_path(directory, name, variant)) as file:
        return file.read()


def starts(seed: str) -> Iterator[Start]:
    """Random positions without end, some with an en passant right, half of them with an accrued score."""
    rng = random.Random(seed)
    while True:
        board = en_passant_board(rng) if rng.random() < 0.03 else random_board(rng, rng.choice(MATERIALS))
        rank = GScore.of_board(board).rank
        plain = rank < 2 or rng.random() < 0.5
        yield board, None if plain else GScore(rng.randrange(2, rank + 3), rng.random() < 0.5)


def rank_of(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    ranks: NDArray[np.uint8] = np.minimum(codes, 255 - codes)
    return ranks


# The reference


@pytest.mark.parametrize("name", ["KvK", "KNvK", *exhaustive(["KPvK", "KBvK", "KRvK", "KQvK"])])
def test_every_value_is_that_of_the_reference(name: str, whole_game_tables: Path) -> None:
    table, right = read(whole_game_tables, name), whole_game_table(name)
    assert np.array_equal(table.value, right.value)
    assert np.array_equal(table.depth, right.depth)
    assert (table.variant, table.stores_accrued, table.run_rank.size) == (Variant.WHOLE_GAME, False, 0)


@pytest.mark.parametrize("name", ["KvK", "KNvK", *exhaustive(["KBvK", "KPvK"])])
def test_one_value_serves_every_accrued_score(name: str) -> None:
    """The reference solves each accrued score on its own: W counts if its rank is smaller than that of A."""
    solution, states = solve_whole_game(name), 0
    for layer in solution.layers():
        mask, rank = layer.mask.ravel(), min(layer.accrued, 255 - layer.accrued)
        fresh = rank_of(solution.value) < rank
        assert (layer.value.ravel() == np.where(fresh, solution.value, layer.accrued))[mask].all()
        assert (layer.depth.ravel() == np.where(fresh, solution.depth, 0))[mask].all()
        states += int(mask.sum())
    assert states > 10_000


def test_distributions() -> None:
    """All legal positions of the board; KvK has no zeroing moves and is the same in both games."""
    assert distribution(solve_whole_game("KNvK"), 0) == (
        "G0.5 2844, G1.0 16, G1.5 14992, G2.0 360, G2.5 11068, G3.0 260, G3.5 175908, -G3.5 48"
    )
    assert distribution(solve_whole_game("KvK"), 0) == DISTRIBUTIONS["KvK", 0]


@pytest.mark.parametrize("material", MATERIALS, ids=str)
def test_what_ends_the_game_is_the_same_in_both_games(material: Material, whole_game_tables: Path) -> None:
    """Forced mates and stalemates, and how long they take: no reset keeps either side from them."""
    whole, reset = (
        read(whole_game_tables, material.name, variant)
        for variant in (Variant.WHOLE_GAME, Variant.R_MOBILITY)
    )
    assert np.array_equal(whole.value == NONE, reset.value == NONE)
    for end in (0, 1, 254, 255):
        for one, other in ((whole.value, reset.value), (whole.ep_value, reset.ep_value)):
            assert np.array_equal(one == end, other == end)
        assert np.array_equal(whole.depth[whole.value == end], reset.depth[reset.value == end])
        assert np.array_equal(whole.ep_depth[whole.ep_value == end], reset.ep_depth[reset.ep_value == end])
    assert whole.max_depth <= 86


# One ply, by python-chess


def test_values_and_depths_follow_from_the_moves(tablebase: Tablebase) -> None:
    en_passant = changed = 0
    for board, accrued in islice(starts("one ply"), 1500):
        result = tablebase.probe(board, accrued)
        look_up = by_probing(tablebase)
        assert (result.value, result.depth) == one_ply(look_up, board, accrued, Variant.WHOLE_GAME), (
            board.fen(),
            accrued,
        )
        assert result.accrued == folded(board, accrued, Variant.WHOLE_GAME)
        en_passant += board.has_legal_en_passant()
        changed += accrued is not None and result.value != tablebase.probe(board).value
    assert en_passant > 20
    assert changed > 50


def test_en_passant_positions(tablebase: Tablebase) -> None:
    """They inherit the accrued score like all others: nothing has reset it."""
    rng, kept, taken = random.Random("passing"), 0, 0
    look_up = by_probing(tablebase)
    for _ in range(150):
        board = en_passant_board(rng)
        result = tablebase.probe(board)
        assert (result.value, result.depth) == one_ply(look_up, board, None, Variant.WHOLE_GAME), board.fen()
        held = GScore(rng.randrange(2, result.position_score.rank + 1), rng.random() < 0.5)
        with_score = tablebase.probe(board, held)
        replaced = result.value.rank < held.rank
        assert with_score.value == (result.value if replaced else held)
        assert with_score.depth == (result.depth if replaced else 0)
        assert with_score.accrued == folded(board, held, Variant.WHOLE_GAME)
        kept += not replaced
        taken += replaced
    assert min(kept, taken) > 15


# Moves and lines


def test_moves(tablebase: Tablebase) -> None:
    """Each is worth what the position after it is, with the accrued score taken along; best first."""
    asked = list(islice(starts("moves"), 200))
    boards, accrued = [board for board, _ in asked], [score for _, score in asked]
    together = tablebase.moves_many(boards, accrued)
    zeroing = 0
    for (board, score), many in zip(asked, together, strict=True):
        held = folded(board, score, Variant.WHOLE_GAME)
        moves = tablebase.moves(board, score)
        assert many == moves
        for move in moves:
            assert move.zeroing == board.is_zeroing(move.move)
            board.push(move.move)
            after = tablebase.probe(board, held)
            board.pop()
            assert (move.value, move.depth) == (after.value, after.depth)
            zeroing += move.zeroing and after.accrued == held
        if moves:
            best = max if board.turn else min
            assert moves[0].value == best(move.value for move in moves)
            assert moves[0].value == tablebase.probe(board, score).value
    assert zeroing > 20
    results = list(tablebase.probe_many(boards, accrued))
    assert results == [tablebase.probe(board, score) for board, score in asked]


def test_best_play_comes_to_the_value_and_keeps_it(tablebase: Tablebase) -> None:
    longest = passed = 0
    for start, accrued in islice(starts("best play"), 150):
        promised = tablebase.probe(start, accrued)
        board, held = start.copy(stack=False), promised.accrued
        line = tablebase.line(start, accrued)
        assert len(line) == promised.depth
        for ply in range(promised.depth + 20):
            due = max(0, promised.depth - ply)
            assert tablebase.probe(board, held).value == promised.value, start.fen()
            assert tablebase.probe(board, held).depth == due, start.fen()
            assert (held == promised.value) == (due == 0), start.fen()
            moves = tablebase.moves(board, held)
            if not moves:
                break
            passed += moves[0].zeroing
            board.push(moves[0].move)
            held = folded(board, held, Variant.WHOLE_GAME)
            assert ply >= len(line) or line[ply].accrued == held
        assert held == promised.value
        longest = max(longest, promised.depth)
    assert longest > 40
    assert passed > 100


def test_no_defence_makes_it_better(tablebase: Tablebase) -> None:
    rng, worse = random.Random("defence"), 0
    for start, accrued in islice(starts("defence"), 120):
        board, errs = start.copy(stack=False), rng.random() < 0.5
        first = value = tablebase.probe(start, accrued).value
        held = folded(board, accrued, Variant.WHOLE_GAME)
        for _ in range(40):
            moves = tablebase.moves(board, held)
            if not moves:
                break
            board.push((rng.choice(moves) if board.turn is errs else moves[0]).move)
            held = folded(board, held, Variant.WHOLE_GAME)
            before, value = value, tablebase.probe(board, held).value
            assert value <= before if errs else value >= before, (start.fen(), accrued)
        worse += value != first
    assert worse > 50


def test_accrued_scores_that_mean_nothing(tablebase: Tablebase) -> None:
    for fen, value in (("k7/1Q6/1K6/8/8/8/8/8 b - - 0 1", "G0.0"), ("k7/8/1Q6/8/8/8/8/7K b - - 5 1", "G0.5")):
        board = chess.Board(fen)
        for accrued in ("G0.5", "-G0.0", "-G1.0", "G4.0"):
            result = tablebase.probe(board, accrued)
            assert (str(result.value), str(result.accrued), result.depth) == (value, value, 0)
    alive = chess.Board("k7/8/1K6/1Q6/8/8/8/8 w - - 0 1")
    for accrued in ("G0.5", "-G0.0"):
        with pytest.raises(UsageError, match=r"ends the game, and here it goes on"):
            tablebase.probe(alive, accrued)


def test_both_rules_side_by_side(whole_game_tables: Path, tablebase: Tablebase, tmp_path: Path) -> None:
    """Giving the pawn up wipes the score out in r-mobility alone."""
    fen = parse_fen("8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5")
    with open_tablebase(whole_game_tables) as others:
        assert str(others.probe(fen.board, fen.seventh).value) == "-G3.5"
        assert (others.rules, tablebase.rules) == ("r", "wg")
    assert str(tablebase.probe(fen.board, fen.seventh).value) == "-G2.5"
    with open_tablebase(tmp_path, rules="wg") as empty:
        assert empty.get(fen.board) is None
        with pytest.raises(MissingTableError, match=r"tbgen build KPvK --dir .* --rules wg$"):
            empty.probe(fen.board)
    damaged = table_path(tmp_path, "KPvK", Variant.WHOLE_GAME)
    damaged.write_bytes(table_path(whole_game_tables, "KPvK", Variant.WHOLE_GAME).read_bytes()[:-100])
    with open_tablebase(tmp_path, rules="wg") as tables, pytest.raises(TbgenError, match=r" --rules wg$"):
        tables.probe(fen.board)
    damaged.write_bytes(table_path(whole_game_tables, "KPvK", Variant.R_MOBILITY).read_bytes())
    foreign = r"it holds values for the rules 'r'.* --rules wg$"
    with open_tablebase(tmp_path, rules="wg") as tables, pytest.raises(TbgenError, match=foreign):
        tables.probe(fen.board)


# The proof


def proof_of(table: Table, directory: Path, **options: Any) -> VerifyResult:
    subs = {material: read(directory, material.name) for material in table.material.successors()}
    return verify_table(table, sub_tables_of(table.layout, subs), **options)


@pytest.mark.parametrize("name", THREE_MEN)
def test_the_reference_is_proved(name: str, whole_game_tables: Path) -> None:
    table = whole_game_table(name)
    result = proof_of(table, whole_game_tables)
    assert result.ok
    alive = solve_whole_game(name)
    assert result.positions == sum(table.positions)
    assert 0.8 * result.positions < result.states <= result.positions
    assert int((rank_of(alive.score[alive.moves.legal]) > 1).sum()) > result.states


def test_every_wrong_entry_is_found_and_named(whole_game_tables: Path) -> None:
    table, rng = read(whole_game_tables, "KNvK"), random.Random("wrong")
    named = 0
    for _ in range(60):
        array = rng.choice((table.value, table.depth)).reshape(-1)
        where = rng.randrange(array.size)
        before = int(array[where])
        array[where] = before ^ rng.randrange(1, 256)
        result = proof_of(table, whole_game_tables)
        array[where] = before
        side, slot = divmod(where, table.layout.size)
        board = board_at(table, (0, side, slot))
        assert result.wrong
        if board is not None:
            assert result.findings[0].fen == board.fen()
            named += 1
    assert named > 30
    assert proof_of(table, whole_game_tables).ok


@pytest.mark.parametrize("name", ["value", "ep_depth", *exhaustive(["depth", "ep_value"])])
def test_wrong_entries_with_pawns(name: str, whole_game_tables: Path) -> None:
    table, rng = read(whole_game_tables, "KPvKP"), np.random.default_rng(5)
    array = getattr(table, name)
    values = table.ep_value if name.startswith("ep") else table.value
    alive = np.flatnonzero(rank_of(values.ravel()) > 1)
    where = rng.choice(alive[values.ravel()[alive] != NONE])
    array.reshape(-1)[where] ^= 1
    result = proof_of(table, whole_game_tables)
    assert result.wrong
    assert str(result.findings[0]).count("(fresh): the moves lead to something else: stored") == 1
    assert bool(chess.Board(result.findings[0].fen).has_legal_en_passant()) == name.startswith("ep")


def test_a_sample(whole_game_tables: Path) -> None:
    table = read(whole_game_tables, "KBNvK")
    small, everything = (proof_of(table, whole_game_tables, sample=n) for n in (1000, 10**7))
    assert small.ok
    assert everything.ok
    assert 900 < small.states <= 1000
    assert everything.states > 3_000_000


def test_runs_have_no_place_in_such_a_table(whole_game_tables: Path) -> None:
    table = read(whole_game_tables, "KNvK", Variant.R_MOBILITY)
    table.variant = Variant.WHOLE_GAME
    with pytest.raises(ValueError, match="there are accrued scores in a table for whole games"):
        table.check_shapes()
    with pytest.raises(TbgenError, match="there are accrued scores in a table for whole games"):
        proof_of(table, whole_game_tables)
