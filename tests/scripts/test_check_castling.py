"""The script finds that positions with castling rights agree with their moves, and when they do not."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tests.support.exhaustive import sample
from tests.support.paths import ROOT

sys.path.append(str(ROOT / "scripts"))
import check_castling

SCRIPT = ROOT / "scripts" / "check_castling.py"

pytestmark = pytest.mark.usefixtures("compiled")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_positions_agree(rules: str, whole_game_tables: Path) -> None:
    count, names = sample(4, 20), ("KRvK", "KRvKP", "KRvKR")
    done = run("--dir", str(whole_game_tables), "--positions", str(count), "--rules", rules, *names)
    assert (done.returncode, done.stderr) == (0, "")
    wanted = "".join(
        f"{name:6} agrees: {2 * count} positions with castling rights, "
        "0 of them with an en passant right, [0-9.]+ s\n"
        for name in names
    )
    assert re.fullmatch(wanted, done.stdout)


def test_a_wrong_value_is_found(
    three_men: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told of positions with castling rights, not of those without, is wrong."""
    real = Tablebase.probe

    def probe(self: Tablebase, position: Any, accrued: Any = None) -> Any:
        found = real(self, position, accrued)
        return replace(found, value=GScore("-G1.0")) if position.castling_rights else found

    monkeypatch.setattr(Tablebase, "probe", probe)
    assert check_castling.run(three_men, ["KRvK"], 2, 50, Variant.R_MOBILITY) == 1
    assert "KRvK   DIFFERS in " in capsys.readouterr().out


def test_missing_tables(tmp_path: Path, three_men: Path) -> None:
    done = run("--dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: table KRvK is missing")
    done = run("--dir", str(three_men), "KRRRvK")
    assert done.returncode == 3
    assert "KRRRvK is missing" in done.stderr
