"""Bounds by forcing moves agree with tables, and their proofs find errors."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Meter, SolvingInterruptedError, Stop
from tbgen.beyond.cell_proof import WrongBoundError
from tbgen.beyond.forcing import ForcingProof, ForcingSearch, ForcingSearches
from tbgen.beyond.proof import prove_forcing
from tbgen.beyond.solver import solve
from tbgen.beyond.statements import claims
from tbgen.board.score import Code, GScore, Signed, to_signed
from tbgen.cells.bounds import UnstorableCellError
from tbgen.probe.tablebase import Tablebase
from tests.support.packed_tables import PackedTables

PERPETUAL = "4R3/pp1N1ppk/7p/1q6/2pP4/P1P3P1/1n5P/7K w - - 9 42"
"""White's knight checks on f8 and d7."""
STAYS = "8/1q1K1k2/3Pp3/2P2p2/5P2/2Q5/8/8 w - - 9 87"
"""Black's queen checks, White to move."""
BEATEN = "5k2/p2R4/5N1p/6p1/1b6/1P4P1/P1rp1KPP/8 w - - 10 41"
"""Nh7+ Kg8 Nf6+, and Kh8 is mated."""
QUIET = "5k2/5p2/8/1B2p1Q1/P2b4/1p4PP/1q3P2/6K1 w - - 10 46"
"""White needs quiet moves that leave few answers."""
FULL = "rnb2r1k/ppp4p/7Q/3p4/q1n1p3/b2PB3/PPPBNPPP/RN3RK1 w - - 0 1"
"""Men that may have more moves than codes can represent."""
LONG = "8/3q1rP1/2N4R/6P1/Q2r2Pp/3knR1p/5p1K/8 b - - 0 1"
"""Both sides have many checks, and Black mates in three moves."""
OPEN = "8/8/6pk/8/3Q1P1P/8/8/2K2q2 w - - 10 92"
"""Black's queen may check for long."""

MEMORY = 1 << 30


def best_of(board: chess.Board, accrued: GScore, white: bool) -> ForcingProof | None:
    """Return the best bound that a side proves by forcing moves."""
    return best_of_each(board, accrued).get(white)


def best_of_each(
    board: chess.Board, accrued: GScore, tables: Tablebase | None = None, most: int = 200
) -> dict[bool, ForcingProof]:
    """Return the proofs of the best bounds by whether the side is White, with the tables if passed."""

    def worth(after: chess.Board) -> Signed | None:
        few = tables is not None and chess.popcount(after.occupied) <= 3
        return to_signed(tables.probe(after, tbgen.FRESH).value) if tables and few else None

    attackers = ForcingSearches(board, to_signed(accrued), worth, Meter(Budget()), MEMORY)
    for _ in attackers.turns(most):
        pass
    return attackers.proofs


FEW = [
    "k7/8/8/5Q2/8/1K1p4/8/8 w - - 0 1",
    "2r5/8/8/8/8/8/k2K4/5Q2 w - - 0 1",
    "8/7k/8/4QK2/5p2/8/8/8 w - - 0 1",
    "6Q1/6p1/8/8/k7/8/3K4/8 w - - 0 1",
]
"""Four men, and White has a bound without tables."""


@pytest.mark.parametrize(
    ("fen", "accrued", "white", "bound"),
    [
        (PERPETUAL, "G1.0", True, "G1.0"),
        (PERPETUAL, "-G1.5", True, "G1.0"),
        (PERPETUAL, "-G1.0", True, None),  # it would take G0.5
        (STAYS, "-G1.0", False, "-G1.0"),
        (STAYS, "G4.0", False, "-G1.0"),
        (BEATEN, "-G3.0", True, "G2.0"),
        (BEATEN, "-G3.0", False, None),
        ("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1", "-G11.5", True, "G0.0"),
        (QUIET, "G2.0", True, "G1.0"),
        ("8/Q7/6p1/p7/3p4/6P1/4q3/K6k b - - 0 1", "-G5.0", False, "-G2.0"),
        ("2k5/pp6/8/Q2K4/8/8/8/8 w - - 0 1", "-G9.5", True, "G2.0"),
    ],
)
def test_bounds(fen: str, accrued: str, white: bool, bound: str | None) -> None:
    """A line ends with the bound, in a repeated position or in mate."""
    board, held = chess.Board(fen), GScore(accrued)
    found = best_of(board, held, white)
    assert (None if found is None else str(GScore.from_code(found.bound))) == bound
    if found is None:
        return
    been = set[str]()
    for move in found.line():
        been.add(board.epd())
        zeroing = board.is_zeroing(move)
        board.push(move)
        own = GScore.of_board(board)
        held = own if zeroing or own.rank < held.rank else held
    assert str(held) == bound
    assert board.epd() in been or board.is_checkmate()


def test_bounds_contain_the_values_of_tables(four_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.beyond.forcing._FIRST_MAX_POSITIONS", 300)
    with tbgen.open_tablebase(four_men) as tables:
        bounds = 0
        for board in [each for few in map(chess.Board, FEW) for each in (few, few.mirror())]:
            value, own = tables.probe(board).value, GScore.of_board(board)
            found = best_of_each(board, own, tables, most=300)
            bounds += len(found)
            for white, proof in found.items():
                bound = GScore.from_code(proof.bound)
                assert value >= bound if white else value <= bound, board.fen()
        assert bounds >= len(FEW)


def proved(fen: str, accrued: str, white: bool) -> tuple[Callable[[ForcingProof], int], ForcingProof]:
    """Return a function that proves a bound forward, and the proof by forcing moves."""
    board = chess.Board(fen)
    proof = best_of(board, GScore(accrued), white)
    assert proof is not None
    return partial(prove_forcing, board, GScore(accrued), Tablebase("no tables")), proof


@pytest.mark.parametrize(
    ("fen", "accrued", "white"), [(PERPETUAL, "G1.0", True), (STAYS, "G4.0", False), (BEATEN, "-G3.0", True)]
)
def test_a_proof_notices_a_bound_that_is_too_good(fen: str, accrued: str, white: bool) -> None:
    prove, proof = proved(fen, accrued, white)
    assert prove(proof) > 2
    better = Code(proof.bound - 1 if white else proof.bound + 1)
    with pytest.raises(WrongBoundError, match=r"(may stay for ever|its value is|no move is chosen)"):
        prove(replace(proof, bound=better))


def test_a_proof_notices_a_move_that_is_missing() -> None:
    prove, proof = proved(BEATEN, "-G3.0", True)
    position = proof.roots[0].position
    for _, after in position.chosen_move.answers:
        after.moves, after.value = [], Signed(0)
    with pytest.raises(WrongBoundError, match="no move is chosen"):
        prove(proof)


def test_a_search_continues_where_it_stopped() -> None:
    board = chess.Board("4r3/5R2/3p4/q1n3k1/2B5/1P3P2/1P6/1K4R1 b - - 10 51")
    steps, at_once = (
        ForcingSearch(board, to_signed(GScore("G2.0")), True, 2, 0, lambda _: None) for _ in range(2)
    )
    for most in range(10, 5_000, 10):
        steps.run(most, lambda: True)
    at_once.run(5_000, lambda: True)
    assert steps.proof is not None
    assert at_once.proof is not None
    assert steps.proof.bound == at_once.proof.bound == GScore("G1.0").code


def test_a_solution_by_forcing_moves(small: Path) -> None:
    found = solve(PERPETUAL, "G1.0", tables=small, budget=Budget(cells=1), line=True, verify=True)
    assert (str(found.lower), found.forcing, found.mobile[0]) == ("G1.0", (True, False), ())
    assert [move.san for move in found.plans[0]] == ["Nf8+", "Kh8", "Nd7+", "Kh7"]
    assert claims(found)[0] == "White can force G1.0 by forcing moves (Black is in check and has 1 move)"
    assert {move.uci: str(move.lower) for move in found.moves}["d7f8"] == "G1.0"
    assert found.lines is not None
    assert [ply.san for ply in found.lines[0]] == ["Nf8+", "Kh8", "Nd7+", "Kh7"]
    assert found.proof is not None
    assert found.proof.states >= 4
    king = solve(PERPETUAL, "G1.0", tables=small, budget=Budget(cells=1), mobile=[chess.H7])
    assert king.forcing == (False, False)  # chosen men are those of the cell


@pytest.mark.parametrize(
    ("fen", "accrued", "value"),
    [
        (FULL, "-G50.5", "G0.0"),
        (LONG, None, "-G0.0"),
        ("6k1/5ppp/8/8/1n2q3/1b6/8/K2RR3 w - - 0 1", None, "G0.0"),
        ("k2rr3/8/1B6/1N2Q3/8/8/5PPP/6K1 b - - 0 1", None, "-G0.0"),
    ],
)
def test_a_mate_by_forcing_moves_takes_no_cell(
    fen: str, accrued: str | None, value: str, small: Path
) -> None:
    """It does not matter that cells of so many men are refused."""
    found = solve(fen, accrued, tables=small, line=True)
    assert (str(found.value), found.cells, found.depth) == (value, 0, None)
    assert found.lines is None
    assert found.line is not None
    assert str(found.line[-1].accrued) == value
    assert found.plans[value == "G0.0"] == ()


@pytest.mark.usefixtures("ticking")
def test_men_that_are_too_many_are_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But only if more time would not help."""
    fen = FULL.replace(" w ", " b ")
    found = solve(fen, tables=small, budget=Budget(seconds=100), line=True, verify=True)
    assert (found.value, found.cells, found.stopped_by) == (None, 0, Stop.TIME)
    assert found.lines == ((), ())
    monkeypatch.setattr("tbgen.beyond.forcing._TRIED_RANKS", ())
    with pytest.raises(UnstorableCellError):
        solve(fen, tables=small, budget=Budget(seconds=100))


def test_kept_positions_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = Meter(Budget(memory=MEMORY))
    monkeypatch.setattr("tbgen.beyond.forcing._FIRST_MAX_POSITIONS", 100)
    monkeypatch.setattr("tbgen.beyond.forcing.MAX_POSITIONS", 400)
    found = ForcingSearches(chess.Board(OPEN), to_signed(GScore("G20.0")), lambda _: None, meter, MEMORY)
    list(found.turns(200))
    assert meter.forcing_bytes > 0
    assert meter.forcing_bytes % 1_700 == 0
    assert meter.has_memory(MEMORY - meter.forcing_bytes)
    assert not meter.has_memory(MEMORY - meter.forcing_bytes + 1)
    assert found.shortage is Stop.TIME
    list(found.turns(400))
    assert (meter.forcing_bytes, found.shortage) == (0, None)


def test_searches_share_their_part_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """When their share is used up, they are given up."""
    monkeypatch.setattr("tbgen.beyond.forcing._FIRST_MAX_POSITIONS", 100)
    meter, memory = Meter(Budget(memory=MEMORY)), 28 * 140 * 1_700
    found = ForcingSearches(chess.Board(OPEN), to_signed(GScore("G20.0")), lambda _: None, meter, memory)
    most = max(meter.forcing_bytes for _ in found.turns())
    assert memory / 4 < most < memory * 1.1
    assert (found.shortage, meter.forcing_bytes) == (Stop.MEMORY, 0)
    assert list(found.turns()) == []


def test_searches_leave_memory_to_cells(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.beyond.forcing._POSITION_BYTES", 1 << 20)
    budget = Budget(memory=2 << 30, cells=5)
    found = solve(LONG, tables=small, budget=budget)
    assert found.cells == 5


def test_what_tables_need_may_be_missing(packed: PackedTables, tmp_path: Path) -> None:
    """A packed table is useless without the tables that its positions depend on."""
    shutil.copy(packed("KRvK"), tmp_path)
    found = solve("8/8/4k3/8/8/3K4/8/R6n w - - 0 1", tables=tmp_path, budget=Budget(cells=0))
    assert found.missing


def test_sides_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []

    def run(search: ForcingSearch, most: int, has_time: Callable[[], bool]) -> None:
        turns.append((search.white, most))
        search.is_refuted = search.rank < 8 and search.white

    monkeypatch.setattr(ForcingSearch, "run", run)
    board, meter = chess.Board(LONG), Meter(Budget())
    attackers = ForcingSearches(board, Signed(72), lambda _: None, meter, MEMORY, checks_only=True)
    for _ in attackers.turns(2_000):
        pass
    of_white = [4 + 3, 3, 3]  # strict ones are refuted at once
    expected = [
        [(True, most)] * count + [(False, most)] * 7
        for most, count in zip((500, 1_000, 2_000), of_white, strict=True)
    ]
    assert turns == [turn for some in expected for turn in some]
    assert attackers.shortage is Stop.TIME
    for _ in attackers.turns():
        pass
    assert attackers.shortage is None


@pytest.mark.usefixtures("ticking")
def test_a_share_of_the_time() -> None:
    meter = Meter(Budget(seconds=2000))
    attackers = ForcingSearches(chess.Board(OPEN), Signed(~8), lambda _: None, meter, MEMORY)
    for _ in attackers.turns(time_share=1 / 4):
        pass
    assert 1400 < meter.seconds_left <= 1500
    assert attackers.shortage is Stop.TIME


@pytest.mark.parametrize(
    "what",
    [
        "tbgen.beyond.forcing.ForcingSearches.turns",
        "tbgen.beyond.search.Search.run",
        "tbgen.beyond.search.Search.report",
    ],
)
def test_an_interrupt_leaves_what_is_proved(what: str, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(what, interrupt)
    with pytest.raises(SolvingInterruptedError) as caught:
        solve(PERPETUAL, "G1.0", tables=small, budget=Budget(cells=1))
    assert caught.value.solution.stopped_by is Stop.INTERRUPT
    assert str(caught.value.solution.lower) == ("-G0.0" if "ForcingSearches" in what else "G1.0")
    assert caught.value.solution.moves
