"""The page about TCEC's games is made of its saved data, and these agree with what TCEC has published."""

import json
from pathlib import Path

from tests.support.paths import DATA
from tests.support.script_modules import load_script

tcec = load_script("tcec")


ARCHIVE = (DATA / "archive.pgn").read_text()


def test_data_are_collected_from_an_archive(three_men: Path, tmp_path: Path) -> None:
    archive = tmp_path / "master-archive"
    archive.mkdir()
    for name in ("TCEC_Season_18_-_League_1", "TCEC_Season_18_-_Sufi_Testing_1"):
        (archive / f"{name}.pgn").write_text(ARCHIVE)
    (archive / "large.pgn").write_bytes(b"\n" * (4 << 20))
    tcec.collect(tmp_path, three_men, tmp_path / "data")
    rows = (tmp_path / "data" / "results.csv").read_text().splitlines()
    assert [row.split(",")[:5] for row in rows[1:]] == [
        ["TCEC_Season_18_-_League_1", "1.1", "A 1", "B 2", "1/2-1/2"],
        ["TCEC_Season_18_-_League_1", "1.2", "B 2", "A 1", "1-0"],
    ]
    saved = json.loads((tmp_path / "data" / "draws.json").read_text())
    (draw,) = saved.pop("known")
    assert saved == {"files": 1, "games": 2, "bases": {"tablebase": 1}, "men": {"3": 1}}
    assert draw["fen"] == "8/5B1k/8/6K1/8/8/8/8 w - - 0 154"
    assert draw["accrued"] == "-G15.5"
    assert (draw["value"], len(draw["line"])) == ("G0.5", 3), "White can force stalemate"
