"""The command line: answers, exit codes, one sentence per failure."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tbgen
from tbgen.cli.main import COMMANDS, main
from tbgen.cli.options import Setting, command
from tests.support.commands import Capture, answer, failure, said
from tests.support.exhaustive import exhaustive
from tests.support.processes import end, started, wait_for

pytestmark = pytest.mark.usefixtures("default_directory")

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def test_a_damaged_table(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "KBvK.r.h5").write_bytes(b"something else")
    assert "tbgen build --force KBvK" in failure(capsys, 1, "probe", KBK, "--dir", str(tmp_path))
    for words in ([], ["KBvK"]):
        sentence = failure(capsys, 1, "info", *words, "--dir", str(tmp_path))
        assert sentence.startswith(f"tbgen: {tmp_path / 'KBvK.r.h5'} cannot be used: ")
    out, told = said(capsys, 1, "info", "--dir", tmp_path, "--json")
    document = json.loads(out)
    assert told == []
    assert list(document["damaged"]) == ["KBvK"]
    assert len(document["missing"]) == 35


def test_every_option_has_help(capsys: Capture) -> None:
    """The texts are recorded in tests/data/printed."""
    assert answer(capsys, "--version") == f"tbgen {tbgen.__version__}\n"
    for name in COMMANDS:
        options = import_module(f"tbgen.cli.{name}").run.params
        assert [each.name for each in options if isinstance(each, click.Option) and not each.help] == [], name


@pytest.mark.parametrize(
    ("number", "told"), [(signal.SIGTERM, "terminated"), *exhaustive([(signal.SIGINT, "interrupted")])]
)
def test_an_interrupt(number: signal.Signals, told: str) -> None:
    with started("tbgen", "probe", "-") as process:
        assert process.stdin
        process.stdin.write(f"junk\n{KBK}\n")
        process.stdin.flush()
        wait_for(process, KBK)
        process.send_signal(number)
        assert end(process) == (128 + number, f"tbgen: {told}\n")


LOSING = """
import os, signal, time
from tbgen.cli import entry_point, main

class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def run(arguments):
    Deleted()
    time.sleep(60)

main._run = run
entry_point()
"""


def test_a_signal_while_an_object_is_deleted() -> None:
    """Python ignores exceptions raised in a deletion, with a message."""
    with started("-c", LOSING) as process:
        assert end(process) == (130, "tbgen: interrupted\n")


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


SIGNALLED_TWICE = """
import os, sys
from tbgen.cli import entry_point, main
from tbgen.compiler import cache

def signalled(*arguments):
    os.kill(os.getpid(), int(sys.argv[2]))
    return say(*arguments)

say, main._run = main.say, signalled
if sys.argv[1] == "say":
    main.say = signalled
else:
    cache.remove_fallback = lambda: os.kill(os.getpid(), int(sys.argv[2]))
entry_point()
"""


@pytest.mark.parametrize(
    ("moment", "number", "told"),
    [
        ("say", signal.SIGTERM, "terminated"),
        ("remove", signal.SIGINT, "interrupted"),
        *exhaustive([("say", signal.SIGINT, "interrupted")]),
    ],
)
def test_a_signal_that_comes_twice_ends_with_one_sentence(
    moment: str, number: signal.Signals, told: str
) -> None:
    with started("-c", SIGNALLED_TWICE, moment, str(int(number))) as process:
        assert end(process) == (128 + number, f"tbgen: {told}\n")


SETTINGS = """
import importlib, logging, os, sys
import tbgen
from tbgen.cli.main import COMMANDS, main
from tbgen.engine.loading import load_in_thread
from tbgen.tables.look_up import KERNELS

os.environ["NUMBA_OPT"], os.environ["NUMBA_NUM_THREADS"] = "x", "1"
try:
    KERNELS._compile("kernels.o")
except tbgen.UsageError as error:
    print(error, file=sys.stderr)
for os.environ["NUMBA_OPT"], os.environ["NUMBA_NUM_THREADS"] in (("x", "1"), ("3", "0")):
    assert main(["verify", "KvK"]) == 2
try:
    tbgen.solve
except tbgen.UsageError as error:
    print(error, file=sys.stderr)
note = lambda sentence: print(sentence, file=sys.stderr)
load_in_thread("this", lambda: importlib.import_module("tbgen.compiler.jit"), note).exception()
os.environ["MPLBACKEND"], os.environ["MPLCONFIGDIR"] = "module://of.a.notebook", "/dev/null/x"
from tbgen.html.charts import _needs_directory
try:
    with _needs_directory():
        raise OSError
except tbgen.UsageError as error:
    print(error, file=sys.stderr)
logging.getLogger("matplotlib").warning("a style is unknown")
"""


def test_settings_that_other_packages_reject() -> None:
    """Those of numba end a command, and are named in Python, also by a late probe, and by the engine; no
    backend of matplotlib is needed, nor its directory; it may still warn of anything else."""
    done = subprocess.run([sys.executable, "-c", SETTINGS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    probe, optimisation, threads, python, engine, plots, warning = done.stderr.splitlines()
    assert "must be > 0): correct or unset" in threads
    assert (optimisation, threads) == (f"tbgen: {probe}", f"tbgen: {python}")
    assert engine == f"this cannot be loaded: {python}"
    assert plots == "plots need a directory that can be written to: set MPLCONFIGDIR to one"
    assert warning == "a style is unknown"
    assert "(Environment variable 'NUMBA_OPT' is defined but" in optimisation


def test_output_that_nobody_reads() -> None:
    """Output that is read late is not lost, whatever a program has done that shares the pipe."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.close(reading)
    command = [sys.executable, "-m", "tbgen", "info"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE)
    assert os.get_blocking(writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_characters="\0")), st.sampled_from(["fen", "accrued", "material"]))
def test_no_text_gives_a_traceback(capsys: Capture, text: str, place: str) -> None:
    words = {
        "fen": ["probe", f"{text} "],
        "accrued": ["probe", KBK, f"--accrued={text}"],
        "material": ["info", f"{text} "],
    }
    code = main(words[place])
    assert (code, capsys.readouterr().err.count("\n")) in ((2, 1), (0, 0))  # some text is a score, such as G1


def closed(redirection: str, *words: str) -> tuple[int, str, str]:
    """Run a command in a shell with a closed stream; return exit code, stdout and stderr."""
    shell = f'exec "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-m", "tbgen", *words], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirection", "words", "code", "sentence"),
    [
        ("0>/dev/null", ["probe", "-"], 1, "standard input cannot be read: Bad file descriptor"),
        (">&-", ["probe", KBK], 1, "standard output is closed"),
        ("<&- >&- 2>&-", ["info"], 1, ""),
        (">&-", ["match"], 2, "name it with --pgn"),
        (">/dev/full <<E\nuci\nE", ["engine"], 1, "output: No space left on device"),
        *exhaustive(
            [
                ("<&-", ["probe", "-"], 1, "standard input is closed"),
                (">&-", ["--help"], 1, "standard output is closed"),
                (">&-", ["nonsense"], 2, "nonsense"),
                ("2>&-", ["nonsense"], 2, ""),
                ("2>/dev/full", ["nonsense"], 2, ""),
            ]
        ),
    ],
)
def test_closed_streams(redirection: str, words: list[str], code: int, sentence: str) -> None:
    found, out, err = closed(redirection, *words)
    assert (found, out) == (code, "")
    assert err.count("\n") == (1 if sentence else 0)
    assert sentence in err
    assert err.startswith("tbgen: " if sentence else "")


@pytest.mark.exhaustive
def test_an_answer_without_stdin_and_stderr() -> None:
    code, out, err = closed("<&- 2>&-", "probe", KBK)
    assert (code, err) == (0, "")
    assert "G1.5" in out


def test_help_without_docstrings_says_why_it_explains_nothing() -> None:
    def run(*, file: Annotated[str, Setting(listed="x")]) -> None: ...

    assert "PYTHONOPTIMIZE=2" in str(command(run).help)
