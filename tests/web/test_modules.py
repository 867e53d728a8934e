"""The functions of the page's modules: tests/data/page_modules.txt has calls with their results."""

import json
import re
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route

from tests.support.paths import ROOT, rows

PAGE: Final = ROOT / "tbgen" / "web" / "page"
BLANK: Final = "<!DOCTYPE html><html data-solve><title>Blank</title><link rel=icon href=data:,>"
SIGN: Final = " --> "
"""What stands between a call and its result, which is written as JSON."""
CALLS: Final = """async () => {
    const found = []
    const existing = document.getElementById.bind(document)
    const made = id => document.body.appendChild(Object.assign(document.createElement("div"), {id}))
    document.getElementById = id => existing(id) ?? made(id)
    const text = id => document.getElementById(id).textContent
    const call = async made => {
        try { found.push(JSON.stringify(await made()) ?? "null") }
        catch (error) { found.push(JSON.stringify(String(error))) }
    }
    %s
    return found
}"""
"""The script around the calls. Every element that a module looks for exists; ``text`` reads it."""


def served(route: Route) -> None:
    """Answer the request for a module with its file, and any other with a blank page."""
    file = PAGE / urlsplit(route.request.url).path.removeprefix("/page/")
    route.fulfill(path=file) if file.is_file() else route.fulfill(body=BLANK, content_type="text/html")


@pytest.mark.slow
def test_calls_have_their_results(browser: Browser) -> None:
    """Lines of the file are calls with results, names of modules in brackets, or scripts."""
    script, calls = "", list[tuple[str, str]]()
    for line, *results in rows("page_modules.txt", SIGN):
        if module := re.fullmatch(r"\[(\w+)\]", line):
            script += "}" * bool(calls) + f"with (await import('/page/{module[1]}.js')) {{\n"
        else:
            script += f"await call(async () => ({line}))\n" if results else f"{line}\n"
            calls += [(line, result) for result in results]
    page = browser.new_page()
    page.route("http://tbgen.test/**", served)
    page.goto("http://tbgen.test/")
    found = page.evaluate(CALLS % (script + "}"))
    page.close()
    assert [
        f"{line}{SIGN}{got}"
        for (line, result), got in zip(calls, found, strict=True)
        if json.loads(got) != json.loads(result)
    ] == []
