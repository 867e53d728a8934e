"""The command line: answers, exit codes, one sentence per failure."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tbgen
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.store.format import table_path
from tests.support.commands import answer, failure
from tests.support.processes import end, start, started

pytestmark = pytest.mark.usefixtures("default_directory")

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["probe", "junk"], 2, "not a FEN"),
        (["probe", "8/8/8/8/8/8/8/8 w - - 0 1"], 2, "no king"),
        (["probe", "4k3/8/8/8/8/8/PP6/4K2R w K - 0 1"], 3, "tbgen build KRPPvK"),
        (["probe", KBK, "--accrued", "-x"], 2, "not a G-score"),
        (["probe", KBK, "--accrued", "G0.5"], 2, "ends the game"),
        (["probe", KBK, "--accrued"], 2, "tbgen probe --help"),
        (["probe", KBK, "--accrued", "--json"], 2, "'--accrued' requires an argument; see: tbgen probe"),
        (["report", "--out", "--json"], 2, "'--out' requires an argument; see: tbgen report --help"),
        (["completion"], 2, "Choose from: bash, zsh, fish; see: tbgen completion --help"),
        (["build", "--men", "x"], 2, "expected a whole number from 2 to 5, not x"),
        (["tag", "--", "-5.pgn", "out.pgn"], 2, "there is no file '-5.pgn'"),
        (["probe"], 2, "tbgen probe --help"),
        (["probe", KBK, "--nonsense"], 2, "--nonsense"),
        (["nonsense"], 2, "nonsense"),
        ([], 2, "tbgen --help"),
        (["probe", "8/8/8/2K3k1/8/8/8/7Q w - - 0 1"], 3, "tbgen build KQvK"),
        (["info", "KBBBBvK"], 2, "at most 5"),
        (["info", "nonsense"], 2, "not a material name"),
    ],
)
def test_failures(words: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in failure(capsys, code, *words)


def test_a_damaged_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table_path(tmp_path, "KBvK", Variant.R_MOBILITY).write_bytes(b"something else")
    assert "tbgen build --force KBvK" in failure(capsys, 1, "probe", KBK, "--dir", str(tmp_path))
    for words in ([], ["KBvK"]):
        sentence = failure(capsys, 1, "info", *words, "--dir", str(tmp_path))
        assert sentence.startswith(
            f"tbgen: {table_path(tmp_path, 'KBvK', Variant.R_MOBILITY)} cannot be used: "
        )
    assert main(["info", "--dir", str(tmp_path), "--json"]) == 1
    output = capsys.readouterr()
    assert output.err == ""
    document = json.loads(output.out)
    assert list(document["damaged"]) == ["KBvK"]
    assert len(document["missing"]) == 35


@pytest.mark.parametrize("words", [["--help"], ["probe", "--help"], ["info", "--help"], ["--version"]])
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, *words)
    assert f"tbgen {tbgen.__version__}\n" == text if words == ["--version"] else "For example:\n" in text


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("probe", "--rules r|wg r-mobility"),
        ("build", "--jobs N|auto tables"),
        ("probe", "blank lines, which are skipped without an answer"),
        ("info", "The longest depth of a plain table includes those of accrued scores"),
    ],
)
def test_what_the_help_says(command: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in " ".join(answer(capsys, command, "--help").split())


def test_the_help_groups_options_under_headings(capsys: pytest.CaptureFixture[str]) -> None:
    lines = answer(capsys, "match", "--help").splitlines()
    headings = [line for line in lines if line.endswith(":") and line[0] != " "]
    assert headings[-6:] == ["Players:", "Event:", "Openings:", "Ends:", "Output:", "Options:"]
    found = {
        name: next(at for at, line in enumerate(lines) if name in line) for name in ("--play-on", "--json")
    }
    assert lines.index("Ends:") < found["--play-on"] < lines.index("Output:") < found["--json"]
    assert found["--json"] < lines.index("Options:")


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tbgen", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]


def test_the_process() -> None:
    done = run("probe", KBK)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("probe", "-", input="junk\n")
    assert done.returncode == 2
    done = run("probe", "-", input="\xff\n")
    assert json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, b"interrupted"), (signal.SIGTERM, b"terminated"), (signal.SIGHUP, b"hung up")],
)
def test_an_interrupt(number: signal.Signals, said: bytes) -> None:
    command = [sys.executable, "-m", "tbgen", "probe", "-"]
    with start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(f"{KBK}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(120) == 128 + number
        assert process.stderr.read() == b"tbgen: %b\n" % said


LOSING = """
import os, signal, time
from tbgen.cli import entry_point, main

class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.{})

def run(arguments):
    Deleted()
    time.sleep(60)

main._run = run
entry_point()
"""


@pytest.mark.parametrize(("name", "said"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated")])
def test_a_signal_while_an_object_is_deleted(name: str, said: str) -> None:
    """Python ignores what is raised there, with a complaint."""
    with started("-c", LOSING.format(name)) as process:
        assert end(process) == (128 + getattr(signal, name), f"tbgen: {said}\n")


IMPORTING = """
import os, signal, sys
from tbgen.cli import entry_point

class Finder:
    def find_spec(self, name, *_):
        if name == "tbgen.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
entry_point()
"""


def test_an_interrupt_amid_the_first_imports() -> None:
    with started("-c", IMPORTING) as process:
        assert end(process) == (130, "tbgen: interrupted\n")


def test_output_that_nobody_reads() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tbgen", "info"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"tbgen: output: No space left on device\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_characters="\0")), st.sampled_from(["fen", "accrued", "material"]))
def test_no_text_gives_a_traceback(capsys: pytest.CaptureFixture[str], text: str, place: str) -> None:
    words = {
        "fen": ["probe", f"{text} "],
        "accrued": ["probe", KBK, f"--accrued={text}"],
        "material": ["info", f"{text} "],
    }
    code = main(words[place])
    assert (code, capsys.readouterr().err.count("\n")) in ((2, 1), (0, 0))  # some text is a score, such as G1


def closed(redirection: str, *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that the shell runs with a closed stream."""
    shell = f'exec "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-m", "tbgen", *words], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirection", "words", "code", "sentence"),
    [
        ("<&-", ["probe", "-"], 1, "standard input is closed"),
        ("0>/dev/null", ["probe", "-"], 1, "standard input cannot be read: Bad file descriptor"),
        (">&-", ["probe", KBK], 1, "standard output is closed"),
        (">&-", ["info"], 1, "standard output is closed"),
        (">&-", ["--help"], 1, "standard output is closed"),
        (">&-", ["--version"], 1, "standard output is closed"),
        (">&-", ["nonsense"], 2, "nonsense"),
        ("2>&-", ["nonsense"], 2, ""),
        ("2>/dev/full", ["nonsense"], 2, ""),
        ("<&- >&- 2>&-", ["info"], 1, ""),
    ],
)
def test_closed_streams(redirection: str, words: list[str], code: int, sentence: str) -> None:
    found, out, err = closed(redirection, *words)
    assert (found, out) == (code, "")
    assert err.count("\n") == (1 if sentence else 0)
    assert sentence in err
    assert err.startswith("tbgen: " if sentence else "")


def test_an_answer_without_stdin_and_stderr() -> None:
    code, out, err = closed("<&- 2>&-", "probe", KBK)
    assert (code, err) == (0, "")
    assert "G1.5" in out


def test_arguments_that_mean_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = failure(capsys, 2, "info", "KvK", "--non\nsense", "-G5")
    assert sentence == "tbgen: No such option '--non\\nsense'; see: tbgen info --help\n"
    assert "'-G5' is not a material name" in failure(capsys, 2, "info", "KvK", "-G5")


@pytest.mark.parametrize("command", [["probe", KBK], ["info"], ["info", "KvK"], ["verify"]])
def test_a_file_where_a_directory_should_be(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.touch()
    assert (
        failure(capsys, 1, *command, "--dir", str(path))
        == f"tbgen: {path} is not a directory; choose another with --dir\n"
    )
