"""Sources of sets: misbehaving servers on this machine, proxies, and malformed addresses."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tbgen.errors import TbgenError, UsageError
from tbgen.exchange import sources
from tbgen.exchange.fetch import read_list
from tbgen.exchange.published import LIST_NAME
from tbgen.exchange.sources import DirectorySource, RejectedFileError, source_of
from tests.support.sets import KQVK, files, get
from tests.support.web_server import Handler, serving


@pytest.mark.parametrize("ranges", [True, False])
def test_a_transfer_that_breaks_off_goes_on(published: Path, tmp_path: Path, ranges: bool) -> None:
    data = (published / KQVK).read_bytes()
    left = [3, 1000, len(data) - 1]

    def misbehave(handler: Handler, name: str) -> bool:
        if name != KQVK or not left or handler.headers.get("Range"):
            return False
        handler.break_off(data[: left.pop(0)], len(data))
        return True

    with serving(published, ranges=ranges, misbehave=misbehave) as server:
        get(server.address, tmp_path, "KQvK")
        ranges_asked = [asked for name, asked in server.asked if name == KQVK and asked]
    assert (tmp_path / KQVK).read_bytes() == data
    if ranges:
        assert ranges_asked == ["bytes=3-"]


def test_a_server_that_refuses_every_range(published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        if handler.headers.get("Range"):
            handler.send_error(416)
        return bool(handler.headers.get("Range"))

    (tmp_path / f"{KQVK}.part").write_bytes((published / KQVK).read_bytes()[:777])
    with serving(published, misbehave=misbehave) as server:
        get(server.address, tmp_path, "KQvK")
        assert [asked for name, asked in server.asked if name == KQVK] == ["bytes=777-", None]
    assert (tmp_path / KQVK).read_bytes() == (published / KQVK).read_bytes()


def test_a_busy_server_is_asked_again(published: Path, tmp_path: Path) -> None:
    answers = [503, 429, 500]

    def misbehave(handler: Handler, name: str) -> bool:
        if not answers:
            return False
        handler.send_error(answers.pop())
        return True

    with serving(published, misbehave=misbehave) as server:
        assert get(server.address, tmp_path, "KvK").tables == ["KvK.r.h5"]


def test_a_server_that_goes_stops_the_rest(published: Path, tmp_path: Path) -> None:
    """After the server has gone, no further files are requested."""
    asked = []

    def misbehave(handler: Handler, name: str) -> bool:
        asked.append(name)
        if name in (LIST_NAME, "KvK.r.h5"):
            return False
        handler.close_connection = True
        return True

    with serving(published, misbehave=misbehave) as server, pytest.raises(TbgenError, match="cannot be rea"):
        get(server.address, tmp_path)
    assert len(set(asked)) == 3
    assert set(files(tmp_path)) == {"KvK.r.h5"}


def garbage(handler: Handler) -> None:
    handler.wfile.write(b"what is that?\r\n\r\n")
    handler.close_connection = True


def compressed(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (lambda handler: handler.send_error(416), "status 416"),
        (lambda handler: handler.redirect("http://[::1/x"), "which is not an address"),
        (lambda handler: handler.redirect(f"/set/{LIST_NAME}"), "redirects too many times"),
        (garbage, "the server violated HTTP"),
        (compressed, "compressed"),
        (
            lambda handler: handler.wfile.write(CHUNKED + b"-5\r\nabcde\r\n"),
            "was interrupted: the server violated",
        ),
    ],
)
def test_replies_of_no_use(reply: Callable[[Handler], None], sentence: str, published: Path) -> None:
    def misbehave(handler: Handler, _: str) -> bool:
        reply(handler)
        return True

    with serving(published, misbehave=misbehave) as server, pytest.raises(TbgenError, match=sentence):
        read_list(source_of(server.address))


ENDLESS = {
    b"": b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n": b" ",
    CHUNKED + b"0\r\n": b"a: b\r\n",
}


@pytest.mark.parametrize(("first", "more"), ENDLESS.items())
def test_a_server_that_never_ends_has_its_time(
    first: bytes, more: bytes, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit depends on the size of the file, and there is no second attempt."""
    monkeypatch.setattr(sources, "_MIN_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(sources, "_MIN_BYTES_PER_SECOND", 1 << 30)

    def misbehave(handler: Handler, _: str) -> bool:
        handler.wfile.write(first)
        while handler.wfile.write(more):
            time.sleep(0.01)
        return True

    with (
        serving(published, misbehave=misbehave) as server,
        pytest.raises(RejectedFileError, match=r"was not received in 0\.2 s: the server is too slow"),
    ):
        read_list(source_of(server.address))
    assert len(server.asked) == 1


def test_a_redirect_out_of_the_set(published: Path, tmp_path: Path) -> None:
    locations = [
        *("http://127.0.0.2/{}", "/other/{}", "../{}", "//example.org/set/{}", "https://127.0.0.1/set/{}"),
        "%2e%2e/{}",
    ]

    def misbehave(handler: Handler, name: str) -> bool:
        if name == KQVK:
            handler.redirect(location.format(name))
        return name == KQVK

    with serving(published, misbehave=misbehave) as server:
        for location in locations:
            with pytest.raises(TbgenError, match="redirects out"):
                get(server.address, tmp_path, "KQvK")
            assert set(files(tmp_path)) <= {"KvK.r.h5", f"{KQVK}.part"}, location


def test_a_redirect_within_the_set(published: Path, tmp_path: Path) -> None:
    def misbehave(handler: Handler, name: str) -> bool:
        if name != KQVK or "deeper" in handler.path:
            return False
        handler.redirect(f"/set/deeper/{name}", 301)
        return True

    with serving(published, misbehave=misbehave) as server:
        get(server.address, tmp_path, "KQvK")
    assert (tmp_path / KQVK).exists()


def test_a_server_that_is_gone(published: Path, tmp_path: Path) -> None:
    with serving(published) as server:
        address = server.address
    with pytest.raises(TbgenError, match="Connection refused"):
        read_list(source_of(address))


def test_no_set_there(tmp_path: Path) -> None:
    with serving(tmp_path) as server, pytest.raises(TbgenError, match="is it the address of a published set"):
        read_list(source_of(server.address))
    with pytest.raises(TbgenError, match="cannot be read"):
        read_list(DirectorySource(tmp_path))
    os.mkfifo(tmp_path / LIST_NAME)  # nobody writes to it
    with pytest.raises(TbgenError, match="is a pipe or a device, not a file"):
        read_list(DirectorySource(tmp_path))


def test_a_proxy_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    for proxy in ("socks5://localhost:1", "http://[::1", "file:///etc/passwd"):
        monkeypatch.setenv("http_proxy", proxy)
        with pytest.raises(UsageError, match="http_proxy does not name an http or https proxy"):
            source_of("http://example.org/")


def test_a_proxy_without_a_scheme(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(published) as server:
        monkeypatch.setenv("http_proxy", server.address.split("/")[2])
        assert read_list(source_of("http://example.org/set")).tables


def test_no_source() -> None:
    texts = "ftp://example.org/x", "nowhere/at/all", "http://", "http://[::1/", "http://localhost:99999/"
    for text in texts:
        with pytest.raises(UsageError):
            source_of(text)


def test_a_password_is_not_shown() -> None:
    assert source_of("https://me:secret@example.org/set/").locate("x") == "https://example.org/set/x"
