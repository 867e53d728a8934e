"""``tbgen publish`` and ``tbgen fetch`` as commands."""

import json
import signal
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from tbgen.exchange.published import LIST_NAME
from tests.support.commands import answer, failure
from tests.support.processes import end, started
from tests.support.web_server import Handler, serving


@pytest.fixture
def published(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    target = tmp_path / "set"
    assert "6 tables, " in answer(capsys, "publish", str(target), "--dir", str(own))
    return target


def fetched(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> tuple[str, str]:
    from tbgen.cli.main import main

    assert main(["fetch", *words]) == code
    return capsys.readouterr()


def test_publish_in_json(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "publish", str(tmp_path / "set"), "KQvK", "KvK", "--dir", str(own), "--json")
    assert [table["file"] for table in json.loads(text)["tables"]] == ["KvK.r.h5", "KQvK.r.h5"]
    assert (tmp_path / "set" / LIST_NAME).read_text() == text


def test_publish_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no tables" in failure(capsys, 3, "publish", str(tmp_path / "set"), "--dir", str(tmp_path))
    missing = failure(capsys, 3, "publish", str(tmp_path / "set"), "KQvK", "--dir", str(tmp_path))
    assert "tbgen build KQvK" in missing


def test_publish_a_site(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its tables are a set, from which they can be fetched."""
    site = tmp_path / "site"
    text = answer(capsys, "publish", "--site", str(site), "KQvK", "--dir", str(own))
    assert text.startswith(f"{site}: 2 tables, ")
    assert (site / "index.html").exists()
    fetched(capsys, 0, "KQvK", "--from", str(site / "tables"), "--dir", str(tmp_path / "new"))
    assert (tmp_path / "new" / "KQvK.r.h5").exists()
    refused = failure(capsys, 2, "publish", "--site", str(site), "--cells", str(tmp_path))
    assert "leave out --cells or --site" in refused
    assert "has other files" in failure(capsys, 2, "publish", "--site", str(own), "--dir", str(own))


def test_fetch_says_beforehand_what_there_is_to_do(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(published) as server:
        words = "KQvK", "--from", server.address, "--dir", str(tmp_path / "new")
        out, error = fetched(capsys, 0, *words)
        assert out == ""
        assert error.startswith("tbgen: 2 tables to fetch, ")
        assert "KQvK.r.h5: " in error
        out, error = fetched(capsys, 0, *words, "--json")
        document = json.loads(out)
        assert "0 tables to fetch, 0 bytes; 2 in " in error or "; 2 in " in error
        assert (document["fetched"], document["there"], document["error"]) == (
            [],
            ["KvK.r.h5", "KQvK.r.h5"],
            None,
        )


def test_fetch_by_number_of_men(published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetched(capsys, 0, "--men", "3", "--from", str(published), "--dir", str(tmp_path / "new"))
    assert len(list((tmp_path / "new").iterdir())) == 6


def test_a_failure_in_json(published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (published / "KQvK.r.h5").unlink()
    words = "--from", str(published), "--dir", str(tmp_path / "new"), "--json", "--jobs", "1"
    out, error = fetched(capsys, 1, *words)
    document = json.loads(out)
    assert len(document["fetched"]) == 5
    assert document["missing"] == ["KQvK.r.h5"]
    assert document["error"]["sentence"] in error


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--from", "ftp://example.org/"], 2, "an http or https address"),
        (["--from", "nowhere"], 2, "there is no directory nowhere"),
        (["KQQvK", "--from", "SET"], 3, "lacks KQQvK"),
        (["junk", "--from", "SET"], 2, "junk"),
        (["--from", "SET", "--jobs", "0"], 2, "--jobs"),
        ([], 2, "--from"),
    ],
)
def test_bad_input(
    words: list[str], code: int, sentence: str, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(published) if word == "SET" else word for word in words]
    assert sentence in failure(capsys, code, "fetch", *words)


def test_an_interrupted_fetch_ends_at_once_and_goes_on(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also while the server is silent."""
    data = (published / "KQvK.r.h5").read_bytes()

    def misbehave(handler: Handler, name: str) -> bool:
        if name != "KQvK.r.h5" or handler.headers.get("Range"):
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:20_000])
        handler.wfile.flush()
        for _ in range(3000):
            sleep(0.01)
            if silence:
                break
        handler.close_connection = True
        return True

    silence: list[int] = []
    part = tmp_path / "new" / "KQvK.r.h5.part"
    with serving(published, misbehave=misbehave) as server:
        words = "fetch", "KQvK", "--from", server.address, "--dir", str(tmp_path / "new")
        with started("tbgen", *words) as running:
            while not part.exists():
                sleep(0.01)
            sleep(0.3)
            running.send_signal(signal.SIGINT)
            code, error = end(running)
        silence.append(1)
        assert (code, error.splitlines()[-1]) == (130, "tbgen: interrupted")
        assert not (tmp_path / "new" / "KQvK.r.h5").exists()
        part.write_bytes(data[:20_000])
        fetched(capsys, 0, *words[1:])
        assert ("KQvK.r.h5", "bytes=20000-") in server.asked
    assert (tmp_path / "new" / "KQvK.r.h5").read_bytes() == data


def test_a_failed_fetch_ends_at_once(published: Path, tmp_path: Path) -> None:
    """Also while the server is silent about another file."""
    asked, silence = Event(), Event()
    waited = []

    def misbehave(handler: Handler, name: str) -> bool:
        if name == "KRvK.r.h5":
            asked.wait(30)
            (tmp_path / name / "other").mkdir(parents=True)
        if name != "KQvK.r.h5":
            return False
        asked.set()
        waited.append(not silence.wait(30))
        handler.close_connection = True
        return True

    with serving(published, misbehave=misbehave) as server:
        words = "fetch", "KQvK", "KRvK", "--from", server.address, "--dir", str(tmp_path)
        with started("tbgen", *words) as running:
            code, error = end(running)
        assert waited == []
        silence.set()
    assert (code, error.splitlines()[-1]) == (
        1,
        f"tbgen: {tmp_path}/KRvK.r.h5.part could not be written: Is a directory",
    )
