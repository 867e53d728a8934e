"""Configuration of Sphinx: a site and the manual page, from README, the texts in this folder and docstrings.

``scripts/docs`` runs it. Links between the texts are those of the repository; here they become links of the
site.
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
suppress_warnings = ["ref.python"]  # attributes may have the names of built-in types

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
"""Names that a package imports from its modules are described where they are defined, and in api.md."""
autodoc_member_order = "bysource"
autodoc_typehints = "signature"

PLACES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.md",
    "benchmarks/README.md": "benchmarks.md",
}


def turn_links(_: Sphinx, __: Path, ___: str, content: list[str]) -> None:
    """Turn the links of a text at the root of the repository into links of the site."""

    def turned(match: re.Match[str]) -> str:
        return f"]({PLACES.get(match[1], match[1].removeprefix('docs/'))})"

    content[0] = re.sub(r"\]\(([^):]+)\)", turned, content[0])


def setup(app: Sphinx) -> None:
    """Register the function above."""
    app.connect("include-read", turn_links)
