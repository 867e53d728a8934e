"""The program that makes mistakes in the code and has the tests look for them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.script_modules import load_script

mutants = load_script("mutants")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one module, and tests that notice one of its mistakes."""
    root = tmp_path / "checkout"
    (root / "tbgen" / "index").mkdir(parents=True)
    for package in (root / "tbgen", root / "tbgen" / "index"):
        (package / "__init__.py").touch()
    (root / "tbgen" / "index" / "one.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    (root / "tbgen" / "index" / "two.py").write_text("def idle(a: int) -> int:\n    return a - 1\n")
    (root / "tests" / "support").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "support" / "chosen.py", root / "tests" / "support")
    (root / "tests" / "test_one.py").write_text(
        "import pytest\nfrom tbgen.index import one, two\n\n"
        "@pytest.fixture(scope='session')\ndef sum():\n    return one.add(2, 2)\n\n"
        "@pytest.fixture(scope='module')\ndef browser():\n    pass\n\n"
        "def test_second(sum):\n    assert sum == 4\n\n"
        "def test_third(browser):\n    assert two.idle(1) == 0\n"
    )
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    monkeypatch.setattr(mutants, "ROOT", root)
    monkeypatch.setattr(mutants, "_kernels", lambda: tmp_path / "none")
    return root


def test_calls_of_compiled_functions_are_followed_to_python(tmp_path: Path) -> None:
    package = tmp_path / "tbgen" / "index"
    package.mkdir(parents=True)
    (package / "kernels.py").write_text(
        "@jit\ndef inner(a):\n    return a + 1\n\n@jit\ndef outer(a):\n    return inner(a)\n\n"
        "entry = fixed(outer)\n"
    )
    (package / "module.py").write_text(
        "def idle():\n    return 1\n\ndef work():\n    a = 1\n    return entry(a)\n"
    )
    changed = next(each for each in mutants.choose(9, 1, tmp_path) if each.function == "inner")
    assert mutants.Calls(tmp_path).lines(changed) == {
        "tbgen/index/kernels.py": {3},
        "tbgen/index/module.py": {5, 6},
    }


@pytest.mark.exhaustive
@pytest.mark.usefixtures("checkout")
def test_mutants_are_killed_or_survive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--out", str(tmp_path / "out"), "--jobs", "1"]
    assert mutants.main(words) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "1 of 3 mutants killed"
    by_outcome = {line.split()[0]: line for line in lines}
    assert "add: a + b -> (a - b)  FAILED tests/test_one.py::test_second" in by_outcome["killed"]
    assert by_outcome.keys() == {"killed", "unreached"}, "tests with a browser do not count"
    assert mutants.main(words) == 0
    assert capsys.readouterr().err == "", "what is known is not tried again"
