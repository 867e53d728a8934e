"""The documentation is built without a warning, and agrees with the code."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import tbgen
from tbgen.cli.main import COMMANDS
from tests.support.paths import ROOT

PAGES = {path: path.read_text() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))}
RETIRED = re.compile(r"\bown (?:score|rank)|\brooms?\b", re.IGNORECASE)
"""Earlier words for a position score, its rank, a package, space and memory."""


def made(builder: str, place: Path) -> Path:
    """Make the documentation by a builder of Sphinx, from texts read once for all builders.

    The theme of the site lists all pages in the margin of each, which takes two minutes more.
    """
    options = ["-q", "-W", "--keep-going", "-b", builder, "-D", "html_theme=basic"]
    places = ["-d", str(place / "doctrees"), str(ROOT / "docs"), str(place / builder)]
    command = [sys.executable, "-m", "sphinx", *options, *places]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return place / builder


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_site_and_the_manual_page(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="scripts/docs installs Sphinx")
    site = made("html", tmp_path)
    modules = {path.stem for path in (site / "modules").glob("*.html")}
    assert {"tbgen.board.score", "tbgen.probe.tablebase", "tbgen.generator.runner"} <= modules
    assert not [name for name in modules if ".kernels." in name]
    page = (site / "api.html").read_text()
    assert [name for name in tbgen.__all__ if f'<span class="pre">{name}</span>' not in page] == [
        "__version__"
    ]
    broken = [
        f"{path.name}: {target}"
        for path in site.glob("*.html")
        for target in re.findall(r'href="([^":#?]+)[#?"]', path.read_text())
        if not (path.parent / target).exists()
    ]
    assert broken == []
    manual = (made("man", tmp_path) / "tbgen.1").read_text().replace("\\-", "-")
    commands = [import_module(f"tbgen.cli.{name}").run for name in COMMANDS]
    options = {
        option for command in commands for each in command.params for option in each.opts if option[0] == "-"
    }
    assert len(options) > 25
    assert [word for word in (*COMMANDS, *options) if word not in manual] == []


def test_links_lead_to_pages_and_headings() -> None:
    links = [
        (path, *target.split("#"))
        for path, text in PAGES.items()
        for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text)
    ]
    assert len(links) > 200
    for path, place, *heading in links:
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), (path.name, place)
        for name in heading:
            titles = re.findall(r"^##* (.*)$", PAGES[target], re.MULTILINE)
            known = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert name in known, (path.name, place, name)


FOLDERS = [ROOT / name for name in ("tbgen", "tests", "scripts", "benchmarks", "native", "docs")]
NAMED = [path for folder in FOLDERS for path in folder.rglob("*.*") if "__pycache__" not in path.parts]
SUFFIX = r"\.(?:py|c|js|html|svg|toml|txt|md)"


@cache
def sources() -> dict[Path, str]:
    return {path: path.read_text() for path in NAMED if path.suffix in (".py", ".c", ".js", ".html", ".toml")}


def test_paths_that_are_named_are_there() -> None:
    """Files that pages name, modules also by the ends of their paths, and pages that code names."""
    pages = {path: text for path, text in PAGES.items() if path.name != "CHANGELOG.md"}
    paths = [f"/{path.relative_to(ROOT).as_posix()}" for path in NAMED]
    modules = {name for text in pages.values() for name in re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", text)}
    assert len(modules) > 100
    assert [name for name in modules if not any(path.endswith(f"/{name}") for path in paths)] == []
    files = {name for text in sources().values() for name in re.findall(r"(?<![\w/])docs/[\w./-]*\w", text)}
    pattern = r"`((?:tbgen|tests|scripts|docs|benchmarks)/[\w./-]+)"
    files |= {name for text in pages.values() for name in re.findall(pattern, text)}
    assert len(files) > 100
    made_up = {"docs/page.md", "tbgen/cli/NAME.py"}
    assert [name for name in files - made_up if not (ROOT / name).exists()] == []


def test_files_and_names_that_are_named_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    files = {path.name for path in (*NAMED, *ROOT.iterdir())} | {"NAME.py"}
    modules = re.findall(rf"`(?:[\w-]+/)*([\w-]+{SUFFIX})`", text)
    names = set(re.findall(r"`(?:\w+\.)?([A-Za-z_]\w*)`", text))
    assert len(modules) > 50
    assert len(names) > 50
    assert [name for name in modules if name not in files] == []
    assert names - set(re.findall(r"\w+", " ".join(sources().values()))) == set()


def identifiers(tree: ast.AST) -> set[str]:
    """The names that code defines or uses, without the words of its texts and comments."""
    fields = ("id", "attr", "arg", "name")
    return {getattr(node, field) for node in ast.walk(tree) for field in fields if hasattr(node, field)}


@cache
def names_in(place: str) -> set[str]:
    """The names in a file, or in the definitions of a class, function or constant."""
    if re.search(rf"{SUFFIX}$", place):
        texts = [text for path, text in sources().items() if path.as_posix().endswith(f"/{place}")]
        is_code = place.endswith(".py")
        return set().union(*(identifiers(ast.parse(t)) if is_code else re.findall(r"\w+", t) for t in texts))
    owner, found = place.rpartition(".")[2], set[str]()
    start = re.compile(rf"^ *(?:(?:class|def) {owner}\b|{owner}(?:: .*)? = )", re.MULTILINE)
    for text in (text for path, text in sources().items() if path.suffix == ".py" and start.search(text)):
        nodes, lines = ast.walk(ast.parse(text)), text.splitlines()
        statements = (node for node in nodes if isinstance(node, ast.stmt))
        found.update(*(identifiers(node) for node in statements if start.match(lines[node.lineno - 1])))
    return found


def test_recipes_name_things_where_they_are() -> None:
    """A name in CONTRIBUTING.md that stands before a place (in it, of it, or with the place in brackets) is
    there. The place is a file, a class, a function or a constant; *there* is the file named last."""
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    name, file, checked = r"`[A-Za-z_][\w.]*`", "", dict[tuple[str, str], bool]()
    names = rf"((?:{name}(?:, |,? and |,? or ))*{name})"
    pattern = rf"`([\w-]+/[\w./-]+)`|{names}(?: there| in the same file|(?: in | of | \()(?=`([\w./-]+)`))"
    for path, found, owner in re.findall(pattern, text):
        file = path or file
        for token in re.findall(r"`([\w.]+)`", found):
            if not re.search(rf"{SUFFIX}$", token):
                checked[token, owner or file] = names_in(owner or file).issuperset(token.split("."))
    assert len(checked) > 30
    assert [pair for pair, known in checked.items() if not known] == []


def test_the_citation_and_the_changelog_are_of_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert (ROOT / "CHANGELOG.md").read_text().startswith(f"# Changelog\n\n## {version} (")


def test_the_words_of_the_glossary_are_in_use_and_retired_ones_are_not() -> None:
    """Names of code count as uses; the changelog and code on pages may have retired words."""
    terms = re.findall(r"\*\*(.+?)\*\*", PAGES[ROOT / "docs" / "glossary.md"])
    assert len(terms) == len(set(terms)) > 100
    pages = " ".join(text for path, text in PAGES.items() if path.name not in ("glossary.md", "CHANGELOG.md"))
    code = " ".join(path.read_text() for path in (ROOT / "tbgen").rglob("*.py"))
    used = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s_-]+", " ", pages + code).lower()
    assert [term for term in terms if term.lower().replace("-", " ") not in used] == []
    assert RETIRED.findall(re.sub(r"(?s)```.*?```|`.*?`", "", pages)) == []


def test_sources_have_no_retired_words_and_docstrings_name_things() -> None:
    folder = ROOT / "tbgen"
    for path in folder.rglob("*.py"):
        text = path.read_text()
        assert (RETIRED.findall(text), re.findall(r'"""What ', text)) == ([], []), path
