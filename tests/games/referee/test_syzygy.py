"""Games that stopped in positions without a table, whose results Syzygy files prove or bound."""

from pathlib import Path

import chess
import pytest

from tbgen.beyond.jobs import Solver
from tbgen.board.fen import parse_fen
from tbgen.board.scoring import ProvedBounds, Scheme, ScoreInterval
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError, UnprovenError
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import Basis, Outcome
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter, adjudicate
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tests.games.referee.test_solving import said
from tests.support.solving import LOCKED, Prover

WON = "8/8/8/3k4/8/8/8/KQ6 b - - 9 60"
DRAWN = "8/8/8/4k3/8/4K3/4P3/8 w - - 4 60"
NO_FILE = "8/8/8/3k4/8/5p2/8/KR6 b - - 3 60"


@pytest.fixture
def no_tables(tmp_path: Path) -> Tablebase:
    return open_tablebase(tmp_path)


def arbiter(fen: str, scheme: Scheme = Scheme.EXPONENTIAL, variant: Variant = Variant.R_MOBILITY) -> Arbiter:
    return Arbiter.of(parse_fen(fen), GameOptions(variant, scheme=scheme).settings({}))


def test_a_forced_mate_beats_any_accrued_score(syzygy: Syzygy, tmp_path: Path) -> None:
    for variant in Variant:
        for accrued in ("G1.0", "-G1.0", "-G3.5"):
            tables = open_tablebase(tmp_path, rules=variant)
            outcome = adjudicate(arbiter(f"{WON} {accrued}", variant=variant), tables, syzygy=syzygy)
            assert said(outcome) == ("G0.0", "syzygy", None, True)
            assert (str(outcome.accrued), outcome.missing, outcome.depth) == (accrued, None, None)
            assert outcome.classical == "1-0"


def test_a_cursed_win_is_a_win(syzygy: Syzygy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The game has stopped as a draw by the 50-move rule of chess; only five men have cursed wins."""
    monkeypatch.setattr(syzygy._files, "get_wdl", lambda _: -1)
    ending = Ending(None, None, "Draw by adjudication: SyzygyTB")
    outcome = adjudicate(arbiter(f"{LOCKED} G4.5"), None, ending, recorded="1/2-1/2", syzygy=syzygy)
    assert said(outcome) == ("-G0.0", "syzygy", None, True)
    assert outcome.recorded == "1/2-1/2"


def test_positions_without_a_forced_mate(syzygy: Syzygy, no_tables: Tablebase) -> None:
    """In chess alone, stalemates by either side and other draws are equal."""
    bases = {Scheme.EXPONENTIAL: "table missing", Scheme.WINNER: "table missing", Scheme.CLASSICAL: "bounded"}
    for scheme, basis in bases.items():
        outcome = adjudicate(arbiter(f"{DRAWN} G3.5", scheme), no_tables, syzygy=syzygy)
        assert said(outcome) == ("G3.5", basis, "-G0.5 G0.5", basis == "bounded")
        assert outcome.missing_syzygy == ""
    with pytest.raises(MissingTableError):
        adjudicate(arbiter(DRAWN), no_tables, syzygy=syzygy, require_tables=True)
    assert adjudicate(arbiter(DRAWN, Scheme.CLASSICAL), no_tables, syzygy=syzygy, require_proof=True).proven


def test_tables_come_first(syzygy: Syzygy, three_men: Path) -> None:
    with open_tablebase(three_men) as tables:
        outcome = adjudicate(arbiter(WON), tables, syzygy=syzygy)
        assert (outcome.basis, outcome.depth is None) == (Basis.TABLEBASE, False)
        assert adjudicate(arbiter(DRAWN), tables, syzygy=syzygy).basis is Basis.TABLEBASE


def test_finished_games_are_not_looked_up(syzygy: Syzygy) -> None:
    lost = Ending(Basis.TIME_FORFEIT, chess.BLACK, "White loses on time")
    assert adjudicate(arbiter(WON), None, lost, syzygy=syzygy).basis is Basis.TIME_FORFEIT
    drawn = arbiter("7k/8/6K1/8/8/8/8/R7 w - - 100 90 G5.0")
    assert adjudicate(drawn, syzygy=syzygy).basis is Basis.FIFTY_MOVES


def test_a_missing_file_is_named(syzygy: Syzygy, no_tables: Tablebase) -> None:
    outcome = adjudicate(arbiter(NO_FILE), no_tables, syzygy=syzygy)
    assert (outcome.basis, outcome.bounds) == (Basis.TABLE_MISSING, None)
    assert outcome.missing_syzygy == "KRvKP.rtbw"
    assert outcome.lacks[1:] == ["Syzygy file KRvKP.rtbw is missing"]
    assert outcome.narrowed(ScoreInterval.parse("G1.0 G1.0"), Basis.SOLVED).lacks == []
    castling = adjudicate(arbiter("4k3/8/8/8/8/8/8/4K2R w K - 4 60"), no_tables, syzygy=syzygy)
    assert castling.missing_syzygy == ""
    with pytest.raises(UnprovenError, match=r"; Syzygy file KPPvKPP\.rtbw is missing; try --solve"):
        adjudicate(arbiter(LOCKED), no_tables, syzygy=syzygy, require_proof=True)


def test_solutions_and_files_are_combined(syzygy: Syzygy, no_tables: Tablebase) -> None:
    """Stored results may have been found without files."""

    def judged(proved: str, accrued: str) -> Outcome:
        solver = Solver(prover=Prover({DRAWN: [ProvedBounds(ScoreInterval.parse(proved))]}))
        return adjudicate(arbiter(DRAWN + accrued), no_tables, syzygy=syzygy, solver=solver)

    for proved, value, basis, bounds in (
        ("-G0.0 -G2.0", "-G2.0", "nearest bound", "-G0.5 -G2.0"),
        ("G0.5 G0.0", "G0.5", "solved", None),
        ("-G0.0 G0.0", "G3.5", "table missing", "-G0.5 G0.5"),
        ("G2.5 G2.5", "G2.5", "solved", None),
    ):
        assert said(judged(proved, " G3.5")) == (value, basis, bounds, basis == "solved")
    with pytest.raises(TbgenError, match="contradict each other"):
        judged("G0.0 G0.0", "")
