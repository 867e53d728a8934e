"""Command lines of cutechess-cli, its fork by TCEC, and fastchess, as their users write them."""

import shlex
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tbgen.match.foreign import translate
from tests.match.engines import MATE, words
from tests.support.matches import games_of, played
from tests.support.refusals import refusal

CUTECHESS = """-tournament round-robin -engine {A} -engine {B} -each proto=uci tc=40/60+0.6 timemargin=100
    restart=on -concurrency 2 -openings file={book} format=epd order=random plies=8 policy=default -repeat 2
    -games 2 -rounds 2 -recover -resign movecount=3 score=600 twosided=true -draw movenumber=40 movecount=8
    score=10 -maxmoves 0 -event Test -site Here -srand 7 -wait 1 -ratinginterval 10 -outcomeinterval 4
    -sprt elo0=0 elo1=5 alpha=0.05 beta=0.05 -tbpieces 6 -tbignore50 -debug -pgnout {pgn} min fi"""
TCEC = """-tournament round-robin -event "Season X" -site https://tcec-chess.com -each proto=uci tc=60+1
    stderr=x -engine {A} -engine {B} -engine {C} ponder -bergerschedule -openings {book} -games 2
    -rounds 1 -repeat
    -draw movenumber=1 movecount=5 score=20 maxpieces=8 maxpawns=8 reset=false -resign movecount=5 score=1000
    -tcecadj -strikes 3 -kfactor 10 -ecopgn eco.pgn -livepgnout live min nojson -tournamentfile t.json -resume
    -noswap -reverse -pgnout {pgn}"""
FASTCHESS = """-engine {A} nodes=20 -engine {B} plies=3 -openings file={book} format=epd order=random
    -each tc=300+5 option.Hash=2 -resign movecount=3 score=600 -draw movenumber=34 movecount=8 score=20
    -sprt elo0=0 elo1=2 alpha=0.05 beta=0.05 model=normalized -rounds 2 -repeat -concurrency 2 -recover
    -report penta=true -output format=cutechess -scoreinterval 2 -autosaveinterval 5 -startup-ms 60000 -wait 5
    -config outname=c.json -log file=x.log level=trace engine=true -tournament roundrobin -variant standard
    -pgnout notation=san nodes=true seldepth=false append=true file={pgn}"""


def played_line(line: str, pgn: Path, **engines: str) -> int:
    """Return the exit code of ``tbgen match`` with the command line of another program."""
    book = pgn.with_name("book.epd")
    book.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n")
    names = {name: shlex.join(words(name, moves=moves)) for name, moves in engines.items()}
    given = shlex.split(line.format(pgn=pgn, book=book, **names))
    return main(["match", *given, "--dir", str(pgn.parent / "none")])


def test_a_line_of_cutechess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "a=b.pgn"
    assert played_line(CUTECHESS, pgn, A=MATE, B=MATE) == 0
    output = capsys.readouterr()
    games = games_of(pgn)
    assert [game.tags["Event"] for game in games] == ["Test"] * 4
    assert [game.tags["TimeControl"] for game in games] == ["40/60+0.6"] * 4
    assert "Games of A: 2 lost by mate, 2 won by mate\nGames of B: 2 " in output.out
    assert output.err.splitlines()[:3] == [
        "tbgen: -tbignore50 has no effect: values always ignore the 50-move rule",
        "tbgen: -debug has no effect: --log DIR keeps what engines say",
        "tbgen: -pgnout min has no effect: games have all tags, because an event is resumed by them",
    ]


def test_a_line_of_tcec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Colours are reversed in the whole schedule, without swaps; words without effect are reported once."""
    pgn = tmp_path / "games.pgn"
    assert played_line(TCEC, pgn, A=MATE, B=MATE, C=MATE) == 0
    assert {game.tags["White"] + game.tags["Black"] for game in games_of(pgn)} == {"CB", "AC", "BA"}
    told = [line.split()[1] for line in capsys.readouterr().err.splitlines() if " has no effect: " in line]
    options = "-bergerschedule -strikes -kfactor -ecopgn -livepgnout -tournamentfile -resume"
    assert told == ["-each", "-engine", *options.split()]


def test_a_line_of_fastchess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both engines have a clock, and each has a limit of nodes or depth as well."""
    pgn = tmp_path / "games.pgn"
    assert played_line(FASTCHESS, pgn, A=MATE, B=MATE) == 0
    assert [game.tags["TimeControl"] for game in games_of(pgn)] == ["300+5"] * 4
    told = [line.split(": ")[1] for line in capsys.readouterr().err.splitlines() if " effect: " in line]
    names = ["report", "output", "scoreinterval", "autosaveinterval", "config", "log", "pgnout nodes=true"]
    assert told == [f"-{name} has no effect" for name in names]
    assert not list(tmp_path.glob("*file=*"))


def given(line: str) -> list[str]:
    return translate(line.split(), lambda _: None)


def test_words_of_other_programs() -> None:
    for line, expected in (
        ("--pgn a=b.pgn --rounds 2", "--pgn a=b.pgn --rounds 2"),
        ("-pgnout a=b.pgn fi event.toml", "--pgn a=b.pgn event.toml"),
        ("--pgnout=a.pgn -pgnout=file=b.pgn", "--pgn a.pgn --pgn b.pgn"),
        ("-openings book.epd", "--openings file=book.epd"),
        ("-openings order=random file=a.epd", "--openings order=random file=a.epd"),
        ("-each tc=1 trust -engine cmd=a plies=3 args=-x", "--each tc=1 --engine cmd=a depth=3 arg=-x"),
        ("-repeat event.toml -use-affinity 0-3", "--repeat event.toml --affinity 0-3"),
        ("-use-affinity", "--affinity all"),
        ("-tcecadj -resign movecount=3 score=9", "-resign twosided=true movecount=3 score=9"),
        ("-event resign -site tcecadj -tcecadj", "-event resign -site tcecadj"),
        ("-startup-ms 1500 -log run=7 -help", "--each start=1.5 --log run=7 --help"),
        ("-startup-ms 1-2", "--each 1-2"),
        ("-report penta=true event.toml -- -resume", "event.toml -- -resume"),
        ("-sprt elo0=-1 elo1=5 -wait 5", "-sprt elo0=-1 elo1=5 -wait 5"),
        ("-config file=config.json discard=true", ""),
    ):
        assert given(line) == expected.split(), line


ENGINES = """[
    {"name": "A", "command": "./a -x", "workingDirectory": "/a", "protocol": "uci", "variants": ["standard"],
     "options": [{"name": "Hash", "value": 64, "default": 16, "type": "spin", "min": 1},
                 {"name": "Own Book", "value": false}, {"name": "Same", "value": 1, "default": 1}]},
    {"name": "B", "command": "b", "whitepov": true}
]"""


def test_engines_configured_in_cute_chess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "engines.json"
    file.write_text(ENGINES)
    options = ["option.Hash=64", "option.Own Book=false"]
    expected = ["name=A", "cmd=./a -x", "proto=uci", "restart=auto", "dir=/a", *options, "tc=5"]
    assert given("-engine conf=A tc=5") == ["--engine", *expected]
    for text, name, sentence in (
        (ENGINES, "B", "whitepov is not understood"),
        (ENGINES, "C", "there is no engine of that name in engines.json; give cmd= instead"),
        ("[1]", "A", "engines.json cannot be read here: Expected `object`, got `int` - at `$[0]`"),
    ):
        file.write_text(text)
        assert sentence in refusal(given, f"-engine conf={name}"), name


def test_counts_of_endings_include_earlier_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgn = tmp_path / "games.pgn"
    played(pgn, "-outcomeinterval", "3")
    assert "Games of" not in capsys.readouterr().out
    played(pgn, "-outcomeinterval", "3", "--rounds", "2")
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("Games of")] == [
        "Games of A: 2 lost by repetition, 1 won by repetition",
        "Games of B: 2 won by repetition, 1 lost by repetition",
    ]
