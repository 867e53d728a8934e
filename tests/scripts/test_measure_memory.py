"""The script that compares the memory which builds take with what was estimated."""

import io
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.generator import estimate
from tbgen.store.format import table_path
from tests.support.script_modules import load_script

measure_memory = load_script("measure_memory")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of a table is known on Linux alone")

MIB = 1 << 20


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds run in this process, whose peak stands for theirs."""

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        output, error = io.StringIO(), io.StringIO()
        with redirect_stdout(output), redirect_stderr(error):
            code = main(command[3:])
        return subprocess.CompletedProcess(command, code, output.getvalue(), error.getvalue())

    monkeypatch.setattr(subprocess, "run", run)


def test_estimates_are_compared_with_peaks(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(own.iterdir())
    code = measure_memory.main([str(own), "KBvK", "KNvK", "--threads", "1"])
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.split() == ["material", "estimate", "peak", "ratio", "bytes/slot"]
    assert [line.split()[0] for line in lines] == ["KBvK", "KNvK"]
    for line in lines:
        name, estimated, _, peak, _, ratio, _ = line.replace(",", "").split()
        need = estimate(Material.parse(name), Variant.R_MOBILITY, 1)
        assert int(estimated) == round(need.memory / MIB)
        assert float(ratio) == pytest.approx(int(peak) / int(estimated), rel=0.05), "sizes are rounded"
        assert int(peak) > 50
    assert code in (0, 1)
    assert sorted(own.iterdir()) == before


def test_an_estimate_may_be_off_by_a_tenth() -> None:
    measured = measure_memory.Measured(Material.parse("KBvK"), 1100 * MIB, 1000 * MIB, 1 << 18)
    assert measured.is_good
    assert replace(measured, estimated=900 * MIB).is_good
    assert not replace(measured, estimated=1101 * MIB).is_good
    assert not replace(measured, estimated=899 * MIB).is_good
    assert measured.ratio == pytest.approx(1000 / 1100)
    assert replace(measured, peak=1001 * MIB).rest - measured.rest == 4


def test_what_cannot_be_built(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said as the command says it; sub-tables that are missing are not built on the way."""
    shutil.copy(table_path(own, "KBvK", Variant.R_MOBILITY), own / "KBvKN.r.h5")
    assert measure_memory.main([str(own), "KQvKR", "--memory", "1M"]) == 1
    assert "KQvKR needs about" in capsys.readouterr().err
    table_path(own, "KRvK", Variant.R_MOBILITY).unlink()
    with pytest.raises(TbgenError, match="sub-tables of KQvKR are missing, build them first: KRvK"):
        measure_memory.run(own, ["KQvKR"], 1)
    assert measure_memory.main([str(own), "KXvK"]) == 2
