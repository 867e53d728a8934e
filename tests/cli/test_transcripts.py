"""Commands whose whole output is compared with files of tests/data/transcripts."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.commands import printed
from tests.support.script_modules import load_script

script = load_script("printed")
COMMANDS = script.command_sections("transcripts/commands.list")
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
        printed(name, f"{text}files: {', '.join(sorted(path.name for path in Path().iterdir()))}\n")
