"""How Sphinx makes one site, and the manual page, of README, the texts in this folder and the docstrings.

``scripts/docs`` runs it. The texts are written to be read on their own, so links between them are turned here
into those of the site.
"""

import re
from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx.application import Sphinx

project = "tbgen"
author = "The tbgen developers"
project_copyright = "The tbgen developers; GPL-3.0-or-later"
version = release = installed_version("tbgen")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.apidoc",
    "sphinx_click",
]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
smartquotes = False
suppress_warnings = ["ref.python"]  # an attribute named as a built-in type is no rival of the type

html_theme = "furo"
html_title = f"tbgen {release}"
html_copy_source = False
man_pages = [("commands", "tbgen", "endgame tablebases of reset-mobility chess", author, 1)]

apidoc_modules = [
    {
        "path": "../tbgen",
        "destination": "modules",
        "exclude_patterns": ["**/kernels/**", "**/cli/**", "**/__main__.py"],
        "separate_modules": True,
        "module_first": True,
    }
]
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
"""What a package takes from its modules is described where it is defined, and all of `tbgen` in api.md."""
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

PLACES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.md",
    "benchmarks/README.md": "benchmarks.md",
}


def turn_links(_: Sphinx, __: Path, ___: str, content: list[str]) -> None:
    """Turn the links of a text from the repository's root into those of the site."""

    def turned(match: re.Match[str]) -> str:
        return f"]({PLACES.get(match[1], match[1].removeprefix('docs/'))})"

    content[0] = re.sub(r"\]\(([^):]+)\)", turned, content[0])


def setup(app: Sphinx) -> None:
    """Connect what is defined here."""
    app.connect("include-read", turn_links)
