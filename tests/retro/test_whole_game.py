"""Tables for whole-game mobility: against python-chess, play-outs and r-mobility, and their proof.

Those of up to four men have the digests of proved tables: tests/retro/test_solver.py and
tests/test_manifests.py.
"""

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
from tbgen.board.material import all_materials
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError, UsageError
from tbgen.index.table import Table
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tbgen.verify.proof import Proof, verify_table
from tbgen.verify.report import VerifyResult, board_at
from tests.support.builds import whole_game_materials
from tests.support.exhaustive import exhaustive, sample
from tests.support.one_ply import by_probing, folded, one_ply
from tests.support.packed_tables import plain
from tests.support.random_boards import en_passant_board, random_board
from tests.support.solved_tables import sub_tables_of

MATERIALS = whole_game_materials()
THREE_MEN = [material.name for material in all_materials(3)]

Start = tuple[chess.Board, GScore | None]


@pytest.fixture(scope="module")
def tablebase(whole_game_tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(whole_game_tables, rules="wg") as tablebase:
        yield tablebase


def read(directory: Path, name: str) -> Table:
    return plain(directory, name, Variant.WHOLE_GAME)


def starts(seed: str) -> Iterator[Start]:
    """Random positions without end, some with an en passant right, half of them with an accrued score."""
    rng = random.Random(seed)
    while True:
        board = en_passant_board(rng) if rng.random() < 0.1 else random_board(rng, rng.choice(MATERIALS))
        rank = GScore.of_board(board).rank
        plain = rank < 2 or rng.random() < 0.5
        yield board, None if plain else GScore(rng.randrange(2, rank + 3), rng.random() < 0.5)


def rank_of(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    ranks: NDArray[np.uint8] = np.minimum(codes, 255 - codes)
    return ranks


@pytest.mark.parametrize("name", ["KvK", "KNvK", "KPvKP", *exhaustive(["KQvKP", "KBvKN", "KPPvK"])])
def test_what_ends_the_game_is_the_same_in_both_games(name: str, whole_game_tables: Path) -> None:
    """Forced mates and stalemates, and how long they take: no reset keeps either side from them."""
    whole, reset = (plain(whole_game_tables, name, v) for v in (Variant.WHOLE_GAME, Variant.R_MOBILITY))
    assert np.array_equal(whole.value == NONE, reset.value == NONE)
    for end in (0, 1, 254, 255):
        for one, other in ((whole.value, reset.value), (whole.ep_value, reset.ep_value)):
            assert np.array_equal(one == end, other == end)
        assert np.array_equal(whole.depth[whole.value == end], reset.depth[reset.value == end])
        assert np.array_equal(whole.ep_depth[whole.ep_value == end], reset.ep_depth[reset.ep_value == end])


# One ply, by python-chess


def test_values_and_depths_follow_from_the_moves(tablebase: Tablebase) -> None:
    en_passant = changed = 0
    look_up = by_probing(tablebase)
    for board, accrued in islice(starts("one ply"), sample(180, 1500)):
        result = tablebase.probe(board, accrued)
        assert (result.value, result.depth) == one_ply(look_up, board, accrued, Variant.WHOLE_GAME), (
            board.fen(),
            accrued,
        )
        assert result.accrued == folded(board, accrued, Variant.WHOLE_GAME)
        en_passant += board.has_legal_en_passant()
        changed += accrued is not None and result.value != tablebase.probe(board).value
    assert en_passant > 10
    assert changed > 10


# Moves and lines


def test_moves(tablebase: Tablebase) -> None:
    """Each is worth what the position after it is, with the accrued score taken along; best first."""
    asked = list(islice(starts("moves"), sample(50, 200)))
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
    assert zeroing > 5
    results = list(tablebase.probe_many(boards, accrued))
    assert results == [tablebase.probe(board, score) for board, score in asked]


def test_best_play_comes_to_the_value_and_keeps_it(tablebase: Tablebase) -> None:
    longest = passed = 0
    for start, accrued in islice(starts("best play"), sample(20, 150)):
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
    assert longest > 15
    assert passed > 10


def test_accrued_scores_that_mean_nothing(tablebase: Tablebase) -> None:
    for fen, value in (("k7/1Q6/1K6/8/8/8/8/8 b - - 0 1", "G0.0"), ("k7/8/1Q6/8/8/8/8/7K b - - 5 1", "G0.5")):
        board = chess.Board(fen)
        for accrued in ("G0.5", "-G0.0", "-G1.0", "G4.0"):
            result = tablebase.probe(board, accrued)
            assert (str(result.value), str(result.accrued), result.depth) == (value, value, 0)
    alive = chess.Board("k7/8/1K6/1Q6/8/8/8/8 w - - 0 1")
    for accrued in ("G0.5", "-G0.0"):
        with pytest.raises(UsageError, match=r"ends the game, but this position has legal moves"):
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
    foreign = r"it contains values for the rules 'r'.* --rules wg$"
    with open_tablebase(tmp_path, rules="wg") as tables, pytest.raises(TbgenError, match=foreign):
        tables.probe(fen.board)


# The proof


def proof_of(table: Table, directory: Path, **options: Any) -> VerifyResult:
    subs = {material: read(directory, material.name) for material in table.material.successors()}
    return verify_table(table, sub_tables_of(table.layout, subs), **options)


def test_tables_are_proved(whole_game_tables: Path) -> None:
    """A position is one state, unless the game ends there."""
    for name in THREE_MEN:
        table = read(whole_game_tables, name)
        result = proof_of(table, whole_game_tables)
        assert result.ok
        assert result.positions == sum(table.position_counts)
        assert 0.8 * result.positions < result.states <= result.positions


@pytest.mark.parametrize(
    ("name", "array"),
    [
        *[("KNvK", "value"), ("KNvK", "depth"), ("KPvKP", "ep_depth")],
        *exhaustive([("KPvKP", "value"), ("KPvKP", "depth"), ("KPvKP", "ep_value")]),
    ],
)
def test_a_wrong_entry_is_found_and_named(name: str, array: str, whole_game_tables: Path) -> None:
    table, rng = read(whole_game_tables, name), np.random.default_rng(5)
    is_passing = array.startswith("ep")
    values = (table.ep_value if is_passing else table.value).reshape(-1)
    where = rng.choice(np.flatnonzero((rank_of(values) > 1) & (values != NONE)))
    getattr(table, array).reshape(-1)[where] ^= 1
    with pytest.MonkeyPatch.context() as patch:
        if is_passing:  # its phase alone
            phase = int(table.ep_config[where // table.layout.phase_size, 0])
            patch.setattr(Proof, "_batches", lambda _: [(phase, phase + 1)])
        found = proof_of(table, whole_game_tables).findings[0]
    assert str(found).count("(fresh): the moves lead to another result: stored") == 1
    assert bool(chess.Board(found.fen).has_legal_en_passant()) == is_passing
    if not is_passing:
        board = board_at(table, (0, *divmod(int(where), table.layout.size)))
        assert board is not None
        assert found.fen == board.fen()


def test_a_sample(whole_game_tables: Path) -> None:
    table = read(whole_game_tables, "KPvK")
    small, everything = (proof_of(table, whole_game_tables, sample=n) for n in (1000, 10**6))
    assert small.ok
    assert everything.ok
    assert 900 < small.states <= 1000
    assert everything.states == proof_of(table, whole_game_tables).states > 100_000


def test_runs_have_no_place_in_such_a_table(whole_game_tables: Path) -> None:
    table = plain(whole_game_tables, "KNvK")
    table.variant = Variant.WHOLE_GAME
    with pytest.raises(ValueError, match="the variant needs no values for accrued scores"):
        table.check_shapes()
    with pytest.raises(TbgenError, match="the variant needs no values for accrued scores"):
        proof_of(table, whole_game_tables)
