"""Tables with described men on the command line and in Python: built, listed, proved and probed."""

import json
from pathlib import Path

import pytest

import tbgen
from tbgen.board.described import parse_described
from tbgen.cli.main import main
from tests.support.commands import answer, failure

FEN = "8/8/8/4K[WD]k1/8/8/8/8 b"

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("compiled")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with K[WD]vK, K[R]vK, KRvK and what they rest on, of both variants."""
    directory = tmp_path_factory.mktemp("described")
    for rules in ("r", "wg"):
        assert main(["build", "kvk[DW]", "K[R]vK", "KRvK", "--rules", rules, "--dir", str(directory)]) == 0
    return directory


def test_tables_are_listed_and_proved(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(answer(capsys, "info", "--json", "--dir", str(built)))
    assert [table["material"] for table in listed["tables"]] == ["KvK", "KRvK", "K[R]vK", "K[WD]vK"]
    for rules in ("r", "wg"):
        assert main(["verify", "k[wd]vk", "--rules", rules, "--dir", str(built)]) == 0
        assert "proved: 53,215 positions" in capsys.readouterr().out


def test_a_position_is_probed(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "probe", FEN, "--line", "--dir", str(built)).splitlines()
    assert "5  .    .    .    .    K    [WD] k    ." in text
    assert "K[WD]vK, Black to move" in text
    assert "value           G0.0  (White holds it)" in text
    document = json.loads(answer(capsys, "probe", FEN, "--json", "--line", "--dir", str(built)))
    assert document["material"] == "K[WD]vK"
    assert len(document["line"]) == document["depth"] == 22
    swapped = "8/8/8/4k[wd]K1/8/8/8/8 w"
    assert json.loads(answer(capsys, "probe", swapped, "--json", "--dir", str(built)))["value"] == "-G0.0"
    classical = answer(capsys, "probe", FEN, "--view", "classical", "--dir", str(built))
    assert "depth           22 plies" in classical


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_a_described_rook_is_a_rook(built: Path, rules: str) -> None:
    with tbgen.open_tablebase(built, rules=rules) as tables:
        for fen in ("8/8/8/4KRk1/8/8/8/8 b", "8/8/2k5/8/8/8/1R6/K7 w - - 1 1 G5.5", "8/8/k1K5/8/8/8/8/1r6 b"):
            other = fen.replace("R", "[R]").replace("r", "[r]")
            one, described = tables.probe(fen), tables.probe(other)
            assert (one.value, one.depth, one.accrued) == (
                described.value,
                described.depth,
                described.accrued,
            )
            moves = [
                [(move.uci, move.value, move.depth) for move in tables.moves(each)] for each in (fen, other)
            ]
            assert moves[0] == moves[1]
        line = tables.line(parse_described(FEN).board)
        assert line[-1].san.endswith("#")
        positions = tables.table("K[WD]vK").positions(value="G0.0", depth=1)
        assert {str(tables.probe(board).value) for board in positions[:5].boards()} == {"G0.0"}


def test_what_is_of_chess_says_so(built: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in (
        ["solve", FEN],
        ["report", "K[WD]vK", "--out", str(tmp_path)],
        ["export", str(tmp_path), "K[WD]vK"],
    ):
        assert "described men" in failure(capsys, 2, *command, "--dir", str(built))
    with tbgen.open_tablebase(built) as tables, pytest.raises(tbgen.UsageError, match="Black is in check"):
        tables.probe("8/8/8/4K[WD]1k/8/8/8/8 w")
