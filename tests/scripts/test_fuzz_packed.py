"""The script makes packed tables that lead nowhere beyond arrays."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.mark.exhaustive
def test_kernels_stay_within_their_arrays(tables: Path) -> None:
    script = (sys.executable, ROOT / "scripts" / "fuzz_packed.py", "--dir", tables, "--number", "200")
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "times refused, 0 failed" in done.stdout
