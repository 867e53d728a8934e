"""The programs in ``scripts/`` as modules, for tests of what they do."""

import importlib
import sys
from types import ModuleType
from unittest.mock import patch

import pytest

from tests.support.paths import ROOT

SCRIPTS = str(ROOT / "scripts")


def load_script(name: str) -> ModuleType:
    """Import ``scripts/NAME.py``, as the others import it."""
    if SCRIPTS not in sys.path:
        sys.path.append(SCRIPTS)
    return importlib.import_module(name)


def ran(capsys: pytest.CaptureFixture[str], script: ModuleType, *words: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a script that is run with words, in this process."""
    with patch.object(sys, "argv", [script.__name__, *map(str, words)]):
        code = script.main()
    said = capsys.readouterr()
    return code, said.out, said.err
