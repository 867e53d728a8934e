"""``tbgen publish`` and ``tbgen fetch`` as commands."""

import json
import signal
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from tests.support.commands import Capture, answer, failure, said
from tests.support.processes import end, started
from tests.support.web_server import Handler, serving


@pytest.fixture
def published(own: Path, tmp_path: Path, capsys: Capture) -> Path:
    target = tmp_path / "set"
    assert "6 tables, " in answer(capsys, "publish", str(target), "--dir", str(own))
    return target


def test_publish_a_site(own: Path, tmp_path: Path, capsys: Capture) -> None:
    """The tables of a site are a set, from which they can be fetched."""
    site = tmp_path / "site"
    text = answer(capsys, "publish", "--site", str(site), "KQvK", "--dir", str(own))
    assert text.startswith(f"{site}: 2 tables, ")
    assert (site / "index.html").exists()
    said(capsys, 0, "fetch", "KQvK", "--from", site / "tables", "--dir", tmp_path / "new")
    assert (tmp_path / "new" / "KQvK.r.h5").exists()


def test_fetch_says_beforehand_what_there_is_to_do(published: Path, tmp_path: Path, capsys: Capture) -> None:
    with serving(published) as server:
        words = "fetch", "--men", "2", "KQvK", "--from", server.address, "--dir", tmp_path / "new"
        out, told = said(capsys, 0, *words)
        assert out == ""
        assert told[0].startswith("tbgen: 2 tables to fetch, ")
        assert "KQvK.r.h5: " in " ".join(told)
        out, told = said(capsys, 0, *words, "--json")
    document = json.loads(out)
    assert "; 2 in " in told[0]
    assert (document["fetched"], document["error"]) == ([], None)
    assert document["there"] == ["KvK.r.h5", "KQvK.r.h5"]


def test_a_failure_in_json(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (published / "KQvK.r.h5").unlink()
    words = "--from", published, "--dir", tmp_path / "new", "--json", "--jobs", "1"
    out, told = said(capsys, 1, "fetch", *words)
    document = json.loads(out)
    assert len(document["fetched"]) == 5
    assert document["missing"] == ["KQvK.r.h5"]
    assert document["error"]["sentence"] in told[-1]
    monkeypatch.chdir(published)
    assert "the set of . lacks KQQvK for" in failure(capsys, 3, "fetch", "KQQvK", "--from", ".")
    assert "junk" in failure(capsys, 2, "fetch", "junk", "--from", str(published))


def test_an_interrupted_fetch_ends_at_once_and_goes_on(
    published: Path, tmp_path: Path, capsys: Capture
) -> None:
    """An interrupt ends the command even while the server is silent."""
    data = (published / "KQvK.r.h5").read_bytes()

    def misbehave(handler: Handler, name: str) -> bool:
        if name != "KQvK.r.h5" or handler.headers.get("Range"):
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[:20_000])
        handler.wfile.flush()
        silence.wait(300)
        handler.close_connection = True
        return True

    silence = Event()
    part = tmp_path / "new" / "KQvK.r.h5.part"
    with serving(published, misbehave=misbehave) as server:
        words = "fetch", "KQvK", "--from", server.address, "--dir", str(tmp_path / "new")
        with started("tbgen", *words) as running:
            while not part.exists():
                sleep(0.01)
            running.send_signal(signal.SIGINT)
            code, error = end(running)
        silence.set()
        assert (code, error.splitlines()[-1]) == (130, "tbgen: interrupted")
        assert not (tmp_path / "new" / "KQvK.r.h5").exists()
        part.write_bytes(data[:20_000])
        said(capsys, 0, *words)
        assert ("KQvK.r.h5", "bytes=20000-") in server.asked
    assert (tmp_path / "new" / "KQvK.r.h5").read_bytes() == data


@pytest.mark.exhaustive
def test_a_failed_fetch_ends_at_once(published: Path, tmp_path: Path) -> None:
    """A failure ends the command even while the server is silent about another file."""
    asked, silence = Event(), Event()
    waited = []

    def misbehave(handler: Handler, name: str) -> bool:
        if name == "KRvK.r.h5":
            asked.wait(300)
            (tmp_path / name / "other").mkdir(parents=True)
        if name != "KQvK.r.h5":
            return False
        asked.set()
        waited.append(not silence.wait(300))
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
