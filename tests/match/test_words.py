"""Settings as users write them."""

import sys
from pathlib import Path
from typing import Any

import click
import pytest
from chess.engine import Option, UciOptionMap

from tbgen.cli.main import main
from tbgen.cli.match import LIVE_ADDRESS, run
from tbgen.errors import UsageError
from tbgen.games.standings.elo import EloModel, TestSettings
from tbgen.keywords import struct_of
from tbgen.match.adjudication import DrawRule, ResignRule
from tbgen.match.clock import TimeControl
from tbgen.match.event_settings import entrants_of, processors_of, read_toml_options
from tbgen.match.openings import OpeningOrder, OpeningPolicy, OpeningSettings
from tbgen.uci.options import options_for
from tests.match.engines import words
from tests.support.commands import failure
from tests.support.matches import games_of
from tests.support.paths import DATA, rows
from tests.support.refusals import refusal

CMD = f"cmd={sys.executable}"


def test_engines_in_the_words_of_cute_chess(tmp_path: Path) -> None:
    one, other = entrants_of(
        [
            [CMD, "name=one", "arg=-S", "arg=-E", "option.Hash=16", "option.Own Book=false", "restart=on"],
            [CMD, f"dir={tmp_path}", "tc=1:00+2", "timemargin=200", "stall=7"],
        ],
        ["proto=uci", "option.Hash=64", "tc=40/60", "option.Threads=2"],
    )
    assert one.engine.command == (sys.executable, "-S", "-E")
    assert one.engine.options == {"Hash": "16", "Own Book": "false", "Threads": "2"}
    assert (one.control, one.engine.restart) == (TimeControl(40, 60), True)
    assert (other.name, other.engine.directory, other.engine.stall_limit) == (
        Path(sys.executable).name,
        tmp_path,
        7,
    )
    assert other.control == TimeControl(0, 60, 2, margin=0.2)


def test_engines_of_the_same_name_are_numbered() -> None:
    entrants = entrants_of([[CMD, "name=A"], [CMD, "name=A 2"], [CMD, "name=A"], [CMD, "name=A"]])
    assert [entrant.name for entrant in entrants] == ["A", "A 2", "A 3", "A 4"]


def test_the_words_of_an_engine_override_those_of_all_key_by_key() -> None:
    """Nodes do not replace the clock, and both limit a search; a replaced clock is reported."""
    said: list[str] = []
    (one,) = entrants_of([[CMD, "name=e\u0308", "nodes=5"]], ["tc=40/60", "timemargin=10"], said.append)
    assert one.name == "\xeb"
    assert one.control == TimeControl(40, 60, nodes=5, margin=0.01)
    (both,) = entrants_of([[CMD]], ["tc=40/60", "depth=9", "tc=20"], said.append)
    assert (both.control, said) == (TimeControl(time=20, depth=9), [])
    engines = [[CMD, "name=A", "st=2"], [CMD, "name=B", "tc=5"], [CMD, "name=C", "tc=inf", "nodes=9"]]
    found = entrants_of([*engines, [CMD, "tc=8"]], ["tc=8"], said.append)
    own = [TimeControl(per_move=2), TimeControl(time=5), TimeControl(nodes=9)]
    assert [entrant.control for entrant in found] == [*own, TimeControl(time=8)]
    assert said == [
        "A: its own st=2 replaces tc=8 of --each",
        "B: its own tc=5 replaces tc=8 of --each",
        "C: its own tc=inf replaces tc=8 of --each",
        "C has no clock, only nodes=9, but others have one",
    ]


KNOWN = UciOptionMap(
    (name, Option(name, kind, None, None, None, list(values)))
    for name, kind, *values in (
        ("Hash", "spin"), ("Threads", "spin"), ("Move Overhead", "spin"), ("SyzygyPath", "string"),
        ("Own Book", "check"), ("Style", "combo", "Solid", "Risky"), ("Clear Hash", "button"),
    )
)  # fmt: skip


def test_options_of_engines_as_they_are_written() -> None:
    for written, expected in rows("engine_options.txt", " -> "):
        said: list[str] = []
        options = [f"option.{option}" for option in written.split(" | ")]
        (entrant,) = entrants_of([[CMD, "name=A", *options[1:]]], options[:1], said.append)
        try:
            found = [
                f"{name}={value}" for name, value in options_for(KNOWN, entrant.engine.options).items()
            ] or ["-"]
        except UsageError as error:
            found = [f"A refuses its options: {error}"]
        for one, other in zip(sorted(said + found), sorted(expected.split(" | ")), strict=True):
            assert one.startswith(other), written


def test_programs_are_found_as_by_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "an engine"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match="is not executable"):
        entrants_of([[f"cmd={script}"]])
    script.chmod(0o755)
    assert entrants_of([[f"cmd={script}"]])[0].engine.command == (str(script),)
    assert entrants_of([["cmd=an engine", f"dir={tmp_path}"]])[0].engine.command == (str(script),)
    assert entrants_of([[f"{CMD} -S 'a b'"]])[0].engine.command == (sys.executable, "-S", "a b")
    assert entrants_of([["cmd=sh"]])[0].engine.command[0].endswith("/sh")


def test_the_other_options() -> None:
    openings = OpeningSettings(Path("a.pgn"), "pgn", OpeningOrder.RANDOM, 8, 3, OpeningPolicy.ROUND)
    for text, expected in (
        ("file=a.pgn format=pgn order=random plies=8 start=3 policy=round", openings),
        ("movecount=3 score=600", ResignRule(3, 600)),
        ("movecount=3 score=600 twosided=true", ResignRule(3, 600, two_sided=True)),
        ("movenumber=40 movecount=8 score=10", DrawRule(8, 10, min_moves=40)),
        ("elo0=-1.5 elo1=5 model=normalized", TestSettings(-1.5, 5, model=EloModel.NORMALISED)),
    ):
        assert struct_of("option", text.split(), type(expected)) == expected
    assert processors_of("0-2,5", range(8)) == (0, 1, 2, 5)
    assert processors_of("all", [1, 3]) == (1, 3)
    for text, sentence in (
        ("3-9", "must list some of the processors 0,1,2,3"),
        ("a", "is not a list of processors"),
        ("1,1", "once"),
    ):
        assert sentence in refusal(processors_of, text, range(4)), text


TOML = (DATA / "event.toml").read_text()


def test_a_toml_file_stands_for_a_command_line(tmp_path: Path) -> None:
    file = tmp_path / "event.toml"
    file.write_text(TOML)
    assert read_toml_options(file) == {
        "rounds": "2",
        "recover": False,
        "scoring": "harmonic",
        "verify-adjudications": "0.5",
        "each": ["nodes=5", "option.Hash=4", "option.Own Book=false"],
        "engine": [["cmd=a", "arg=x", "arg=y"], ["cmd=b", "option.Hash=8"]],
        "sprt": ["elo0=0", "elo1=5.5"],
    }


def test_an_event_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options of the command line override those of the file."""
    file, pgn = tmp_path / "event.toml", tmp_path / "games.pgn"
    text = f'rounds = 5\nscoring = "harmonic"\npgn = "{pgn}"\ndir = "{tmp_path}/none"\n[each]\nnodes = 5\n'
    for name in "AB":
        arguments = [word.partition("=")[2] for word in words(name) if word.startswith("arg=")]
        text += f'[[engine]]\ncmd = "{sys.executable}"\nname = "{name}"\narg = {arguments}\n'
    file.write_text(text)
    assert main(["match", str(file), "--rounds", "1"]) == 0
    assert [game.tags["RMobilityScoring"] for game in games_of(pgn)] == ["Harmonic"] * 2
    capsys.readouterr()
    for more, expected in (
        ("roundz = 5\n" + text, "'roundz' is not an option of tbgen match"),
        ("rounds = [5\n", "is not a TOML file"),
        ("rounds = 1979-05-27\n", "rounds is date"),
        (f"a = {'[' * 20_000}{']' * 20_000}\n", "nested too deep"),
        (f"a = {'{a=' * 20_000}1{'}' * 20_000}\n", "nested too deep"),
        (f"{'a.' * 20_000}a = 1\n", "a is dict: expected text"),
        ('pgn = "a\\u0000b"\n', "'pgn' contains NUL"),
        ('pgn = "a\0b"\n', "is not a TOML file"),
        ("rounds = 5\nsite = 'Zo\udceb'\n", "event.toml is not a TOML file: line 2 is not text in UTF-8"),
        ('"a\\u0000" = 1\n', "contains NUL"),
        ('[engine]\ncmd = "x\\u0000"\n', "'engine.cmd' contains NUL"),
        ('[engine.options]\n"A\\u0000" = 1\n', "contains NUL"),
        (f"rounds = 0x{'f' * 5000}\n", "'rounds' is a number that is too large"),
        ("rounds = true\n", "expected a whole number of at least 1, not True"),
        ("rounds = 1.5\n", "expected a whole number of at least 1, not 1.5"),
    ):
        file.write_text(more, errors="surrogateescape")
        assert expected in failure(capsys, 2, "match", str(file))


def test_switches_of_a_file(tmp_path: Path) -> None:
    """As on the command line, ``no-recover`` turns ``recover`` off, and the page needs ``live``."""
    file = tmp_path / "event.toml"

    def given(text: str, *more: str) -> dict[str, Any]:
        file.write_text(text)
        context = run.make_context("match", [str(file), *more])
        assert isinstance(context, click.Context)
        return context.params

    assert (given("live = false\n")["live"], given("live = true\n")["live"]) == (None, LIVE_ADDRESS)
    assert given('live = "9000"\n')["live"] == "9000"
    for text, recover in {
        "recover = false": False,
        "no-recover = true": False,
        "no_recover = false": True,
    }.items():
        assert given(text)["recover"] is recover, text
    assert given("quiet = true\n")["quiet"] is True
    text = 'pgnout = "a.pgn"\n[each]\nnodes = 5\n'
    assert given(text)["each"] == (["nodes=5"],)
    assert given(text, "--each", "tc=9", "--each", "nodes=7")["each"] == (["nodes=5"], ["tc=9"], ["nodes=7"])


def test_an_engine_alone_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "event.toml"
    for engine in (f'engine = "{CMD}"\n', f'[engine]\ncmd = "{sys.executable}"\n'):
        file.write_text(f'pgn = "{tmp_path}/games.pgn"\n{engine}')
        sentence = failure(capsys, 2, "match", str(file), "--engine", CMD, "name=other")
        assert sentence.startswith(f"tbgen: nothing limits a search of {Path(sys.executable).name}: ")
