"""What is installed is the whole package: templates, the page and what is vendored, not the modules alone."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.paths import ROOT


def test_a_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("tbgen/")}
    kept = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tbgen").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"tbgen/web/page/index.html", "tbgen/report/site/templates/report.html.jinja"} <= kept
    assert packed == kept
