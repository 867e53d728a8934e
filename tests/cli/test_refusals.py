"""What commands refuse: an exit code, one sentence, and nothing else anywhere."""

from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import Capture
from tests.support.paths import KOMI, MATCH
from tests.support.solving import CASTLING, LOCKED, WALL

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
BARE = "8/8/8/2K3k1/8/8/8/8 w - - 0 1"

Row = tuple[list[str], str] | tuple[list[str], str, int]
"""Words, what the sentence has, and the exit code if it is not 2."""

GAMES = ("tag in.pgn out.pgn", "score in.pgn", "adjudicate in.pgn")
OF_GAMES: list[Row] = [
    (["--scoring", "elo"], "'elo' is not a scoring: expected one of exponential"),
    (["--cutoff", "-G6"], "'-G6' is not a cutoff: expected a G-score without sign"),
    (["--komi=G5.3"], "'G5.3' is not a komi: expected moves in quarters"),
    (["--scoring", "full", "--komi", "-G5.5"], "full points need a komi that no score equals"),
    (["--fifty-move-rule", "fide"], "'fide' is not a 50-move rule: expected one of improving"),
    (["--rules", "x"], "there are no rules 'x'"),
    (["--syzygy", "none"], "none is no directory"),
    (["--syzygy", "."], "there are no Syzygy files (.rtbw) in"),
    (["--syzygy", ""], "--syzygy: no directory is named: give the one that"),
    (["--solve-time", "5m"], "--solve-time has no effect alone: add --solve"),
    (["--solve-total", "5m"], "--solve-total has no effect alone: add --solve"),
    (["--solve-memory", "5G"], "--solve-memory has no effect alone: add --solve"),
    (["--solve-threads", "1"], "--solve-threads has no effect alone: add --solve"),
    (["--solve-results", "x"], "--solve-results has no effect alone: add --solve"),
    (["--solve-cells", "x"], "--solve-cells has no effect alone: add --solve"),
    (["--solve", "--rules", "wg"], "only r-mobility is solved beyond the tables"),
    (["--solve", "--solve-time", "soon"], "'soon' is not a time"),
    (["--solve", "--solve-total", "0s"], "'0s' is not a time"),
    (["--solve", "--solve-memory", "-1G"], "'-1G' is too small a size"),
    (["--solve", "--solve-results", "."], "'.' is no file"),
    (["--solve", "--solve-cells", "in.pgn"], "in.pgn is not a directory: choose another for cells"),
    (["--solve", "--solve-results", "in.pgn"], "'in.pgn' has no results that this version of tbgen"),
]

ROWS: dict[str, list[Row]] = {
    "": [([], "tbgen --help"), (["nonsense"], "nonsense")],
    "adjudicate": [
        ([KBK.replace("0 1", "1 1 G9.3")], "'G9.3' is not a G-score"),
        ([KBK.replace("0 1", "1 1 -G0.0")], "the accrued score -G0.0 ends the game"),
        (["8/8/8/8/8/8/8/8 w - - 0 1"], "White has no king"),
        ([KBK.replace(" b ", " x ")], "is not a FEN: expected 'w' or 'b'"),
        (["8/8/8/4KBk1/8/8/8/8"], "is not a FEN"),
        (["/dev/null"], "there is no game in /dev/null"),
        (["no_such_file.pgn"], "there is no file 'no_such_file.pgn': expected a PGN file"),
        (["."], "is a directory: expected a PGN file"),
        (["in.pgn", "*.png"], "no file matches '*.png'"),
    ],
    "build": [
        (["KXvK"], "not a material name"),
        (["KBBNNvK"], "at most 5"),
        (["KKvK"], "exactly one king"),
        (["--men", "6"], "'--men': expected a whole number from 2 to 5, not 6"),
        (["--men", "x"], "'--men': expected a whole number from 2 to 5, not x"),
        (["KBvK", "--threads", "0"], "'--threads': expected a whole number of at least 1, not 0"),
        (["KBvK", "--threads", "-1"], "'--threads': expected a whole number of at least 1, not -1"),
        *((["KBvK", f"--memory={size}"], "is not a size") for size in ("G", "1e3M", "12Gi B")),
        *((["KBvK", f"--memory={size}"], "is too small a size") for size in ("0G", "0", "0.0001K")),
        (["KBvK", "--memory", "-1"], "'-1' is too small a size: give one such as 12G"),
        (["KBvK", "--memory", f"{'9' * 400}G"], "is too great a size"),
        (["KBvK", "--memory", "12"], "'12' is a size without a unit: give one such as 12G"),
        ([], "nothing to build"),
        (["KNvK", "--rules", "w"], "there are no rules 'w'"),
    ],
    "completion": [
        ([], "Choose from: bash, zsh, fish; see: tbgen completion --help"),
        (["csh"], "'csh' is not one of 'bash', 'zsh', 'fish'"),
    ],
    "export": [
        (["flat", "--dir", "."], "no tables", 3),
        (["flat", "KQvK", "--dir", "."], "tbgen build KQvK", 3),
    ],
    "fetch": [
        (["--from", "ftp://example.org/"], "an http or https address"),
        (["--from", "nowhere"], "there is no directory nowhere"),
        (["--from", ".", "--jobs", "0"], "--jobs"),
        ([], "--from"),
    ],
    "info": [
        (["nonsense"], "not a material name"),
        (["KvK", "-G5"], "'-G5' is not a material name"),
        (["KvK", "--non\nsense", "-G5"], "No such option '--non\\nsense'; see: tbgen info --help\n"),
        (["--dir", "in.pgn"], "in.pgn is not a directory; choose another with --dir\n", 1),
        (["KvK", "--dir", "in.pgn"], "in.pgn is not a directory; choose another with --dir\n", 1),
    ],
    "probe": [
        (["junk"], "not a FEN"),
        (["4k3/8/8/8/8/8/PP6/4K2R w K - 0 1"], "tbgen build KRPPvK", 3),
        (["8/8/8/2K3k1/8/8/8/7Q w - - 0 1"], "tbgen build KQvK", 3),
        ([KBK, "--accrued", "-x"], "not a G-score"),
        ([KBK, "--accrued", "G0.5"], "ends the game"),
        ([KBK, "--accrued"], "tbgen probe --help"),
        ([KBK, "--accrued", "--json"], "'--accrued' requires an argument; see: tbgen probe"),
        ([*KBK.split(), "-G1.7"], "not a G-score"),
        ([KBK, "--komi", "-G1.3"], "'-G1.3' is not a komi"),
        ([KBK, "--nonsense"], "--nonsense"),
        ([KBK, "--dir", "in.pgn"], "in.pgn is not a directory; choose another with --dir\n", 1),
        ([], "tbgen probe --help"),
        ([BARE, "--view", "suicide"], "'suicide' is not a view: expected one of classical, stalemate-wins, "),
        ([BARE, "--view", "lasker", "--accrued", "G3.5"], "--accrued cannot be used with --view"),
        ([BARE, "--view", "lasker", "--depths"], "--depths cannot be used with --view"),
        ([BARE, "--view", "lasker", "--line"], "--line cannot be used with --view"),
        ([BARE, "--view", "lasker", "--scoring", "komi"], "--scoring cannot be used with --view"),
    ],
    "publish": [
        (["set", "--dir", "."], "no tables", 3),
        (["set", "KQvK", "--dir", "."], "tbgen build KQvK", 3),
        (["--site", "site", "--cells", "."], "leave out --cells or --site"),
        (["--site", "."], "has other files"),
    ],
    "report": [
        ([], "its data: --json; saved data: --save DIR; or a list: --mating MEN"),
        (["KvK", "kkb", "--out", "x"], "'kkb' is not a material name"),
        (["--out", "--json"], "'--out' requires an argument; see: tbgen report --help"),
        (["--from", ".", "--json", "--depths"], "--depths takes tables: leave it out"),
        (["--from", ".", "--json", "--layers"], "--layers takes tables: leave it out"),
        (["--out", "x", "--rules", "s"], "--rules: there are no rules 's'"),
        (["KvK", "KQvK", "--out", "x"], "; build it with: tbgen build KQvK\n", 3),
        (["--out", "x", "--dir", "no"], "no has no such table; make some with: tbgen build", 3),
        (["--out", "x", "--dir", "/dev/null"], "/dev/null is not a directory; choose another with --dir", 1),
        (["--out", "/dev/null"], "make the directory /dev/null: a file is in the way; choose another", 1),
        (["--out", "/dev/null/x"], "cannot make the directory /dev/null/x: a file is in the way", 1),
        (["--out", "/proc/x"], "cannot make the directory /proc/x: ", 1),
        (["--mating", "[fW]"], "[fW] is not a man of tables"),
        (["--mating", "Xv"], "'Xv' is not a material name"),
        (["--mating", ""], "no man is named: name some such as [WF] or N"),
        (
            ["--mating", "WF"],
            "'WF' is no man here: expected Q, R, B, N, or a description or name in brackets",
        ),
        (["--mating", "P"], "'P' is no man here"),
        (
            ["--mating", "[CC] [Z]"],
            "table of these men; make some: tbgen build 'K[CC]vK' 'K[Z]vK'\n",
            3,
        ),
        (["--mating", "N KQvKR"], "table KQvKR is missing", 3),
        (["--mating", "N", "--out", "x"], "--mating prints a list from tables: leave out --out"),
        (["--mating", "N", "--men", "3"], "leave out --men"),
        (["--mating", "N", "--depths"], "leave out --depths"),
    ],
    "score": [
        ([], "there is no file to score"),
        ([MATCH, "--sprt", "5"], "--sprt '5': expected ELO0 ELO1, or ELO0 ELO1 ALPHA BETA"),
        ([MATCH, "--sprt", "5", "0"], "a test needs elo0 below elo1"),
        (["nothing.pgn", "--sprt", "50", "0"], "a test needs elo0 below elo1"),  # before files are read
        ([MATCH, "--sprt", "0", "5", "0.05", "2"], "are no probabilities of error"),
        ([MATCH, "--format", "pdf"], "'pdf' is not one of"),
        (["nothing.pgn"], "there is no file 'nothing.pgn': expected a PGN file"),
        (["in.pgn", "nothing.pgn"], "there is no file 'nothing.pgn': expected a PGN file"),
        (["*.png"], "no file matches '*.png': name a PGN file, or another pattern"),
        (["/dev/null"], "there are no games to score"),
        ([MATCH, "--order", "elo"], "'elo' is not one of"),
        ([MATCH, "--tiebreaks", "sb,elo"], "--tiebreaks: 'elo' is no tiebreak: expected some of points,"),
        ([MATCH, "--tiebreaks", "g0.7"], "or scores such as g1.0"),
        ([MATCH, "--tables", "elo"], "'elo' is no table of standings: expected some of standings"),
        ([MATCH, "--sprt", "0", "5", "--sprt-model", "x"], "'x' is not a model of a test: expected one of"),
        ([MATCH, "--sprt", "0", "5", "--sprt-model", "bayesian", "--pairs"], "has no model of pairs"),
        ([MATCH, "--pairs"], "--pairs needs a test: add --sprt elo0=0 elo1=5"),
        ([MATCH, "--sprt-player", "sf"], "--sprt-player needs a test: add --sprt elo0=0 elo1=5"),
        ([MATCH, "--sprt", "0", "5", "--sprt-player", "x"], "no player is called 'x'"),
        ([MATCH, MATCH], "is named twice, so its games would count twice: name it once"),
        ([MATCH, "--out", MATCH], "cannot make the directory"),
        ([MATCH, "--out", "x", "--json"], "--json prints the document: for a file in the directory of --out"),
        ([MATCH, "--format", "json", "--explorer", "https://x.org/"], "links of a page: add --format html\n"),
        (
            [MATCH, "--explorer", "https://x.org/"],
            "--explorer is for the links of a page: add --format html\n",
        ),
        (
            [MATCH, "--explorer", "javascript:alert(1)", "--format", "html"],
            "is no address of an explorer: expected one such as https://example.org/\n",
        ),
        (
            [MATCH, "--format", "tcec-json"],
            "--format tcec-json makes two files, ordered by points in chess: add --out DIR --order tcec",
        ),
        (
            [MATCH, "--format", "tcec-json", "--out", "x"],
            "add --out DIR --order tcec, or another order of TCEC",
        ),
    ],
    "solve": [
        ([LOCKED, "--mobile", "e9"], "'e9' is not a square"),
        ([LOCKED, "--mobile", "e4,e4"], "names a square twice"),
        ([LOCKED, "--mobile", "g4"], "g4 has a pawn"),
        ([LOCKED, "--time", "soon"], "'soon' is not a time"),
        ([LOCKED, "--time", "0s"], "'0s' is not a time: give one such as 60s, 5m or 2h"),
        ([LOCKED, "--time", "-5s"], "'-5s' is not a time: give one such as 60s, 5m or 2h"),
        ([LOCKED, "--memory", "1"], "without a unit"),
        ([LOCKED, "--rules", "wg"], "No such option '--rules'"),
        ([LOCKED, "--stream"], "give --json too"),
        (
            [LOCKED, "--syzygy", "none"],
            "none is no directory: give the one that Syzygy files (.rtbw) lie in\n",
        ),
        ([CASTLING, "--estimate"], "castling rights"),
        (["none.fen"], "there is no file 'none.fen': expected a FEN, a file of FENs, or -"),
        (["."], "'.' cannot be read: Is a directory", 1),
        (["empty.fen"], "there is no position in empty.fen"),
        (["games.pgn.gz"], "games.pgn.gz has games: solve their final positions by: tbgen adjudicate"),
        (["some.fen", "more.fen"], "'some.fen more.fen' is neither a FEN nor one file of FENs"),
        (["some.fen", "--line"], "--line is for one position: leave it out, or give one FEN"),
        ([WALL, LOCKED, "--mobile", "a1"], "--mobile is for one position"),
        (["some.fen", "--stream", "--json"], "--stream is for one position"),
        ([WALL, "--total", "1h"], "--total is for many positions: leave it out, or give a file of them"),
        ([WALL, "--results", "x"], "--results is for many positions"),
        (["some.fen", "--results", "some.fen"], "name another file with --results"),
        (["some.fen", "--results", "."], "name one for results with --results"),
    ],
    "tag": [
        (["--", "-5.pgn", "out.pgn"], "there is no file '-5.pgn'"),
        (["in.pgn", "out.pgn", "--jobs", "0"], "'--jobs': expected a whole number from 1 to 512, not 0"),
        (["in.pgn", "-", "--json"], "standard output, where the games go too: name a file for them\n"),
        (["no.pgn", "out.pgn"], "there is no file"),
        ([".", "out.pgn"], "is a directory: expected a PGN file"),
        (["*.png", "out.pgn"], "no file matches '*.png'"),
        (["in.pgn"], "name files to tag, and last the one to write; see: tbgen tag --help"),
        (["in.pgn", MATCH, "some.fen"], "some.fen is there already: name a new file"),
        (["-", "."], ". is a directory: name files for it that have different names"),
        (["in.pgn", "./in.pgn", "."], "name files for it that have different names"),
        (["in.pgn", ""], "the name of the file to write is empty"),
        (["in.pgn", "no/out.pgn"], "no/out.pgn could not be written: No such file", 1),
        (["in.pgn", "in.pgn/out.pgn"], "in.pgn/out.pgn could not be written: Not a directory", 1),
        (["in.pgn", "/proc/out.pgn"], "/proc/out.pgn could not be written: No", 1),
    ],
    "verify": [(["--dir", "in.pgn"], "in.pgn is not a directory; choose another with --dir\n", 1)],
}


@pytest.fixture
def place(reference_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with files to name, and with tables elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))
    Path("in.pgn").write_bytes(Path(KOMI).read_bytes())
    Path("some.fen").write_text(f"{WALL}\n{LOCKED}\n")
    Path("empty.fen").write_text("\n \n")
    return tmp_path


@pytest.mark.parametrize("command", [*ROWS, *GAMES])
def test_what_is_refused(command: str, place: Path, capsys: Capture) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    for words, sentence, *code in ROWS.get(command, OF_GAMES):
        assert main([*command.split(), *words]) == (code or [2])[0], words
        output = capsys.readouterr()
        assert (output.out, output.err.count("\n")) == ("", 1), words
        assert output.err.startswith("tbgen: "), words
        assert sentence in output.err, words
        assert {path: path.read_bytes() for path in place.iterdir()} == before, words
