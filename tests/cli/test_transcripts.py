"""Commands and requests whose whole output is compared with files of tests/data: transcripts and records."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.commands import printed
from tests.support.exhaustive import exhaustive
from tests.support.script_modules import load_script

script = load_script("printed")
COMMANDS = script.command_sections("transcripts/commands.list")
DEAR = ("verify", "solve", "report")
"""Records that take more than two seconds."""
LAST_DIGITS = re.compile(r"(?<=\.\d{9})\d+")
"""Decimals of numbers that may differ between machines."""


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize("name", COMMANDS)
def test_output(name: str, reference_dir: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are real; what cells would solve is made up, see :class:`tests.support.solving.Cells`.

    The files that are there in the end are listed: commands that fail leave none.
    """
    monkeypatch.delenv("TBGEN_DIR")
    with script.place(reference_dir):
        Path("three").symlink_to(small)
        Path("alone").mkdir()
        shutil.copy(reference_dir / "KBvK.r.h5", "alone")
        text = LAST_DIGITS.sub("", "".join(map(script.run, COMMANDS[name])))
        printed(
            f"transcripts/{name}",
            f"{text}files: {', '.join(sorted(path.name for path in Path().iterdir()))}\n",
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(name for name in script.names() if name not in DEAR), *exhaustive(DEAR)])
def test_records(name: str, whole_game_tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made up, and ``scripts/printed.py`` makes the same records without pytest."""
    monkeypatch.delenv("TBGEN_DIR", raising=False)
    printed(f"printed/{name}", script.recorded(name, whole_game_tables))
