"""Lists of tables, statistics and samples."""

import json
from collections import Counter
from pathlib import Path

import chess
import pytest
from starlette.testclient import TestClient

from tbgen.board.variant import Variant
from tbgen.web.app import make_app
from tbgen.web.settings import Settings
from tests.support.commands import answer
from tests.support.packed_tables import PackedTables


def test_tables_and_statistics_are_what_the_command_says(
    api: TestClient, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = api.get("/tables").json()["tables"]
    for variant in Variant:
        words = ["--json", "--rules", variant, "--dir", str(tables)]
        assert json.loads(answer(capsys, "info", *words))["tables"] == [
            table for table in listed if table["rules"] == variant
        ]
        (told,) = json.loads(answer(capsys, "info", "KBvK", *words))["tables"]
        assert api.get(f"/{variant}/stats/kvkb").json() == told
    assert api.get("/tables").json()["tables"] == listed


def test_new_tables_are_seen(own: Path, tables: Path) -> None:
    with TestClient(make_app(Settings((own,)))) as client:
        before = client.get("/tables")
        assert client.get("/r/stats/KBNvK").status_code == 404
        (own / "KBNvK.r.h5").write_bytes((tables / "KBNvK.r.h5").read_bytes())
        assert client.get("/r/stats/KBNvK").json()["material"] == "KBNvK"
        after = client.get("/tables", headers={"If-None-Match": before.headers["etag"]})
        assert len(after.json()["tables"]) == len(before.json()["tables"]) + 1


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_samples_have_the_value(rules: str, api: TestClient) -> None:
    for value, side in (("G0.5", "white"), ("-G5.5", "black"), ("G1.5", "")):
        found = api.get(f"/{rules}/sample?material=kbvk&value={value}&side={side}").json()
        board = chess.Board(found["fen"])
        assert found == api.get(f"/{rules}", params={"fen": found["fen"]}).json()
        assert (found["material"], found["value"]) == ("KBvK", value)
        assert board.pieces(chess.BISHOP, chess.WHITE)
        assert not side or board.turn == (side == "white")


def test_samples_are_of_both_sides_and_of_all_positions(api: TestClient) -> None:
    """King against king has 462 positions up to symmetry for either side to move."""
    seen = Counter(api.get("/r/sample?material=KvK").json()["fen"] for _ in range(60))
    assert len(seen) > 40
    assert {fen.split()[1] for fen in seen} == {"w", "b"}
    assert api.get("/r/sample?material=KvK").headers["cache-control"] == "no-store"


def test_samples_of_any_table(api: TestClient, own: Path) -> None:
    """Only some materials have a value; without one any has a position."""
    for value in ("-G0.0", "G8.5"):
        found = {api.get(f"/r/sample?value={value}").json()["value"] for _ in range(4)}
        assert found == {value}
    assert len({api.get("/wg/sample").json()["material"] for _ in range(40)}) > 10
    with TestClient(make_app(Settings((own,)))) as client:
        refused = client.get("/r/sample?value=G60.5")
        assert (refused.status_code, refused.json()["code"]) == (404, "no_position")


@pytest.mark.slow
def test_samples_of_packed_tables(
    packed: PackedTables, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are drawn without unpacking the table; what is rare may not be found."""
    packed("KQvK")
    with TestClient(make_app(Settings((packed.directory, tables)))) as client:
        assert client.get("/r/stats/KQvK").json()["form"] == "packed"
        for side in ("white", "black"):
            found = client.get(f"/r/sample?material=KQvK&value=G0.0&side={side}").json()
            assert (found["value"], found["fen"].split()[1]) == ("G0.0", side[0])
        assert client.get("/r/sample?material=KQvK").json()["material"] == "KQvK"
        assert not (packed.directory / ".unpacked").exists()
        monkeypatch.setattr("tbgen.web.stock._TRIES", 0)
        refused = client.get("/r/sample?material=KQvK&value=G0.0")
        assert (refused.status_code, refused.json()["code"]) == (404, "no_position")
        assert "rare" in refused.json()["message"]
