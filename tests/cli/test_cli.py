"""The command line: answers, exit codes, one sentence per failure."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tbgen
from tbgen.cli.main import main
from tbgen.cli.text import size_text
from tbgen.material import all_materials
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.store.writer import write_table

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
KEYS = [
    "fen",
    "material",
    "rules",
    "position_score",
    "accrued",
    "value",
    "holder",
    "depth",
    "points",
    "moves",
]


@pytest.fixture(autouse=True)
def default_directory(reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Standard output of a command that succeeds and says nothing else."""
    assert main(words) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def failure(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """The sentence of a command that fails."""
    assert main(words) == code
    sentence = capsys.readouterr().err
    assert sentence.startswith("tbgen: ")
    assert sentence.count("\n") == 1
    return sentence


def test_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "probe", KBK, "--line")
    for line in ("value           G1.5  (White holds it)", "depth           4 plies", "KBvK, Black to move"):
        assert line in text.splitlines()
    table = [line.split() for line in text.splitlines()]
    assert table[-4:] == [
        ["1...", "Kh5", "G3.5"],
        ["2.", "Kf4", "G2.5"],
        ["2...", "Kh6", "G2.5"],
        ["3.", "Kg4", "G1.5"],
    ]
    assert ["Kh5", "G1.5", "3", "plies"] in table


def test_a_position_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(answer(capsys, "probe", "--json", *KBK.split()))
    assert list(document) == KEYS
    moves = document.pop("moves")
    assert document == {
        "fen": KBK,
        "material": "KBvK",
        "rules": "r",
        "position_score": "G3.5",
        "accrued": "G3.5",
        "value": "G1.5",
        "holder": "white",
        "depth": 4,
        "points": {"white": 0.5625, "black": 0.4375, "lead": 0.125},
    }
    assert moves[0] == {"uci": "g5h5", "san": "Kh5", "value": "G1.5", "depth": 3, "zeroing": False}
    document = json.loads(answer(capsys, "probe", "--json", "--line", KBK))
    assert list(document) == [*KEYS, "line"]
    assert document["line"][-1] == {"uci": "f4g4", "san": "Kg4", "accrued": "G1.5", "depth": 0}


@pytest.mark.parametrize("option", [["--accrued", "-G1.5"], ["--accrued=-G1.5"], ["--accrued", "mg1.5"], []])
@pytest.mark.parametrize("first", [True, False])
def test_accrued_scores(option: list[str], first: bool, capsys: pytest.CaptureFixture[str]) -> None:
    fen = "8/8/8/4KBk1/8/8/8/8 b - - 3 1" + ("" if option else " -G1.5")
    words = ["probe", "--json", *(option if first else []), fen, *([] if first else option)]
    document = json.loads(answer(capsys, *words))
    assert document["accrued"] == "-G1.5"


def test_the_option_counts_whatever_the_fen_says(capsys: pytest.CaptureFixture[str]) -> None:
    fens = [KBK, "8/8/8/4KBk1/8/8/8/8 b - - 3 1 G2.5"]
    for fen in fens:
        assert json.loads(answer(capsys, "probe", "--json", fen, "--accrued", "-G1.5"))["accrued"] == "-G1.5"
    assert [json.loads(answer(capsys, "probe", "--json", fen))["accrued"] for fen in fens] == ["G3.5", "G2.5"]


def test_many_positions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line has its answer, but blank ones, as the help says."""
    lines = [KBK, "", "junk", "8/8/8/2K3k1/8/8/8/7Q w - - 0 1", f"  {KBK}\t", "\udcff"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["probe", "-"]) == 3
    output = capsys.readouterr()
    assert output.err == ""
    documents = [json.loads(line) for line in output.out.splitlines()]
    assert [document["fen"] for document in documents] == [KBK, "junk", lines[3], KBK, "\udcff"]
    assert [list(document) for document in documents] == [
        KEYS,
        *[["fen", "error"]] * 2,
        KEYS,
        ["fen", "error"],
    ]
    assert "tbgen build KQvK" in documents[2]["error"]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["probe", "junk"], 2, "not a FEN"),
        (["probe", "8/8/8/8/8/8/8/8 w - - 0 1"], 2, "no king"),
        (["probe", "4k3/8/8/8/8/8/8/4K2R w K - 0 1"], 2, "castling"),
        (["probe", KBK, "--accrued", "-x"], 2, "not a G-score"),
        (["probe", KBK, "--accrued", "G0.5"], 2, "ends the game"),
        (["probe", KBK, "--accrued"], 2, "tbgen probe --help"),
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
    table_path(tmp_path, "KBvK").write_bytes(b"something else")
    assert "tbgen build --force KBvK" in failure(capsys, 1, "probe", KBK, "--dir", str(tmp_path))
    for words in ([], ["KBvK"]):
        sentence = failure(capsys, 1, "info", *words, "--dir", str(tmp_path))
        assert sentence.startswith(f"tbgen: {table_path(tmp_path, 'KBvK')} cannot be used: ")
    assert main(["info", "--dir", str(tmp_path), "--json"]) == 1
    output = capsys.readouterr()
    assert output.err == ""
    document = json.loads(output.out)
    assert list(document["damaged"]) == ["KBvK"]
    assert len(document["missing"]) == 35


def test_info(capsys: pytest.CaptureFixture[str], reference_dir: Path) -> None:
    text = answer(capsys, "info")
    assert text.startswith(f"{reference_dir}: 3 of 36 tables")
    assert "missing: KQvK KRvK KPvK " in text
    text = answer(capsys, "info", "kvkb", "KvK")
    for line in (
        "longest depth  46 plies, accrued scores included",
        "      G1.5           23,254           25,023",
    ):
        assert line in text.splitlines()
    document = json.loads(answer(capsys, "info", "KvK", "--json"))
    (table,) = document["tables"]
    assert table["values"]["white"]["-G8.5"] == 51
    assert table["positions"] == {"white": 462, "black": 462, "en_passant": 0}
    assert main(["info", "KQvK", "KvK", "KRvK"]) == 3
    output = capsys.readouterr()
    assert output.out == answer(capsys, "info", "KvK")
    assert output.err == "".join(
        f"tbgen: table {name} is missing; build it with: tbgen build {name}\n" for name in ("KQvK", "KRvK")
    )
    assert main(["info", "KQvK"]) == 3
    assert capsys.readouterr().out == ""


def test_layers_beside_a_table(
    reference_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are named with their table and in the sums, and nowhere if there are none."""
    assert "layer" not in answer(capsys, "info") + answer(capsys, "info", "KNvK")
    for name in ("KvK", "KNvK"):
        shutil.copy(table_path(reference_dir, name), tmp_path)
    kvk, knvk = (table_path(tmp_path, name).stat().st_size for name in ("KvK", "KNvK"))
    (tmp_path / "KNvK.r.G3.5.layer.h5").write_bytes(bytes(1 << 20))
    (tmp_path / "KNvK.r.-G3.5.layer.h5").write_bytes(bytes(2 << 20))
    (tmp_path / "KNNvK.r.G3.5.layer.h5").write_bytes(bytes(5 << 20))
    words = ["info", "--dir", str(tmp_path)]
    title, *lines = answer(capsys, *words).splitlines()
    size, together = size_text(kvk + knvk), size_text(kvk + knvk + (3 << 20))
    assert title == (f"{tmp_path}: 2 of 36 tables, {size}, and 2 layers of 3.00 MiB beside them: {together}")
    assert [line.split()[0] for line in lines if line.endswith("tbgen 0.1.0, 2 layers of 3.00 MiB")] == [
        "KNvK"
    ]
    assert "kept beside    2 layers of 3.00 MiB" in answer(capsys, *words, "KNvK").splitlines()
    document = json.loads(answer(capsys, *words, "--json"))
    assert (document["bytes"], document["layer_bytes"]) == (kvk + knvk, 3 << 20)
    assert [(table["layers"], table["layer_bytes"]) for table in document["tables"]] == [(0, 0), (2, 3 << 20)]


def test_what_is_missing_of_five_men(
    reference_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said of five men until there is such a table; then they are named once they are few."""
    for path in reference_dir.glob("*.r.h5"):
        shutil.copy(path, tmp_path)
    words = ["info", "--dir", str(tmp_path)]
    assert "men" not in answer(capsys, *words)
    five = [material for material in all_materials(5) if material.men == 5]
    table_path(tmp_path, five[0].name).touch()
    assert main(words) == 1  # the file is empty
    title, *_, last = capsys.readouterr().out.splitlines()
    assert title.startswith(f"{tmp_path}: 3 of 146 tables")
    assert last.endswith(" 109 of 110 with 5 men")
    assert main([*words, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["missing"]) == 33 + 109
    for material in five[10:]:
        table_path(tmp_path, material.name).touch()
    assert main(words) == 1
    text = capsys.readouterr().out
    missing = text[text.index("missing: ") :].split()
    assert missing[-9:] == [material.name for material in five[1:10]]
    assert len(missing) == 1 + 33 + 9


def manifest(capsys: pytest.CaptureFixture[str], *words: str) -> list[list[str]]:
    return [line.split(" ") for line in answer(capsys, "info", "--manifest", *words).splitlines()]


def test_the_manifest(capsys: pytest.CaptureFixture[str], reference_dir: Path, tmp_path: Path) -> None:
    """Two directories are compared line by line, or by the last line, with and without accrued scores."""
    title, *tables, last = manifest(capsys)
    assert " ".join(title) == "# material rules fresh accrued digest"
    assert [table[:2] + table[3:4] for table in tables] == [
        [name, "r", "stored"] for name in ("KvK", "KBvK", "KNvK")
    ]
    for column, at in ((2, 2), (4, 4)):
        text = "".join(f"{line[0]} {line[1]} {line[column]}\n" for line in tables)
        assert last[at] == hashlib.sha256(text.encode()).hexdigest()
    assert last[:2] + last[3:4] == ["set", "r", "3"]
    document = json.loads(answer(capsys, "info", "--manifest", "--json"))
    assert [[table["material"], table["fresh"], table["digest"]] for table in document["tables"]] == [
        [line[0], line[2], line[4]] for line in tables
    ]
    assert (document["fresh"], document["digest"]) == (last[2], last[4])
    for name in ("KvK", "KNvK"):
        shutil.copy(table_path(reference_dir, name), tmp_path)
    with TableFile(table_path(reference_dir, "KBvK")) as file:
        table = file.read()
    table.run_mask, table.run_rank = np.zeros((2, 2, 0), np.uint64), table.run_rank[:0]
    table.run_value, table.run_depth = table.run_value[:0], table.run_depth[:0]
    write_table(table, table_path(tmp_path, "KBvK"), version="9.9", build_seconds=2.0)
    _, changed, alone = manifest(capsys, "KBvK", "--dir", str(tmp_path))
    assert (changed[2:4], alone[3]) == ([tables[1][2], "left-out"], "1")
    others = manifest(capsys, "--dir", str(tmp_path))
    assert [line == other for line, other in zip(tables, others[1:], strict=False)] == [True, False, True]
    assert others[-1][2] == last[2]
    assert others[-1][4] != last[4]


def test_the_manifest_of_what_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table_path(tmp_path, "KBvK").write_bytes(b"something else")
    for words, code in ((["KvK"], 3), ([], 1), (["KvK", "KBvK"], 3)):
        assert main(["info", "--manifest", *words, "--dir", str(tmp_path)]) == code
        output = capsys.readouterr()
        expected = ["KvK r missing"] * ("KvK" in words) + ["KBvK r damaged"] * (words != ["KvK"])
        assert output.out.splitlines()[1:] == expected
        assert [line.startswith("tbgen: ") for line in output.err.splitlines()] == [True] * len(expected)
    assert main(["info", "--manifest", "KvK", "KBvK", "--json", "--dir", str(tmp_path)]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["missing"], list(document["damaged"])) == (["KvK"], ["KBvK"])
    assert (document["tables"], document["digest"]) == ([], None)


@pytest.mark.parametrize("words", [["--help"], ["probe", "--help"], ["info", "--help"], ["--version"]])
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert not caught.value.code
    text = capsys.readouterr().out
    assert f"tbgen {tbgen.__version__}\n" == text if words == ["--version"] else "example" in text


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("probe", "blank lines, which are skipped without an answer"),
        ("info", "the longest of the table, those of accrued scores included where it stores them"),
    ],
)
def test_what_the_help_says(command: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert sentence in " ".join(capsys.readouterr().out.split())


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tbgen", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload, no-any-return]


def test_the_process() -> None:
    done = run("probe", KBK)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("probe", "-", input="junk\n")
    assert done.returncode == 2
    done = run("probe", "-", input="\xff\n")
    assert json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, b"interrupted"), (signal.SIGTERM, b"terminated")]
)
def test_an_interrupt(number: signal.Signals, said: bytes) -> None:
    command = [sys.executable, "-m", "tbgen", "probe", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(f"{KBK}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(10) == 128 + number
        assert process.stderr.read() == b"tbgen: %b\n" % said


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
    assert main(words[place]) == 2
    assert capsys.readouterr().err.count("\n") == 1


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


def test_a_byte_order_mark_before_the_first_position() -> None:
    command = [sys.executable, "-m", "tbgen", "probe", "-"]
    done = subprocess.run(command, input=f"{KBK}\n".encode("utf-8-sig"), capture_output=True)
    assert (done.returncode, json.loads(done.stdout)["fen"]) == (0, KBK)


@pytest.mark.parametrize(("score", "accrued"), [("-G1.5", "-G1.5"), ("-g5.5", "G3.5"), ("mG1.5", "-G1.5")])
def test_the_seventh_field_of_a_fen_without_quotes(
    score: str, accrued: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fen = "8/8/8/4KBk1/8/8/8/8 b - - 3 1"
    for words in (["--json", *fen.split(), score], [*fen.split(), score, "--json"]):
        document = json.loads(answer(capsys, "probe", *words))
        assert (document["fen"], document["accrued"]) == (f"{fen} {score}", accrued)
    assert "not a G-score" in failure(capsys, 2, "probe", *fen.split(), "-G1.7")


def test_arguments_that_mean_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = failure(capsys, 2, "info", "KvK", "--non\nsense", "-G5")
    assert sentence == "tbgen: '--non\\nsense -G5' means nothing here; see: tbgen info --help\n"


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
