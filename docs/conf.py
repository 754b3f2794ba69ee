"""Sphinx: MyST Markdown, the furo theme, and the API pages made from the modules that exist."""

import os
import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

# Kernels are documented as the plain functions they are; nothing is compiled to build this site.
os.environ["NUMBA_DISABLE_JIT"] = "1"

ROOT = Path(__file__).parent.parent

project = "trilithon"
author = "The trilithon authors"
project_copyright = "The trilithon authors, MIT licence"
release = version = installed_version("trilithon")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"trilithon {release}"
html_static_path: list[str] = []
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "show-inheritance": True}


def modules(folder: str) -> list[str]:
    """The dotted names of a folder's modules, packages before what is in them."""
    names = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.append(".".join(("trilithon", *(part for part in parts if part != "__init__"))))
    return sorted(set(names))


def add_modules(app: Any, docname: str, source: list[str]) -> None:
    """Append to api/FOLDER a section for each module of FOLDER, so that no list of modules can grow stale."""
    if docname.startswith("api/"):
        for name in modules(docname.removeprefix("api/")):
            # A package's own page would repeat what its modules define.
            members = "" if "." in name.removeprefix("trilithon.") else "\n:no-members:"
            source[0] += (
                f"\n## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}{members.replace(':no', '   :no')}\n```\n"
            )


def escaped(text: str) -> str:
    """Code in backticks stays code; no other sign means markup."""
    pieces = re.split(r"(``[^`]+``|`[^`]+`)", text)
    return "".join(
        f"``{piece.strip('`')}``" if index % 2 else re.sub(r"([*|_\\])", r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )


def plain_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: a paragraph is joined, a list or table is shown as it stands."""
    result: list[str] = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        rows = paragraph.split("\n")
        if any(re.match(r"\s|[-*|] |\||\d+\. ", row) for row in rows):
            result += ["::", "", *("    " + row for row in rows), ""]
        else:
            result += [escaped(" ".join(rows)), ""]
    lines[:] = result


def setup(app: Any) -> None:
    """Connect the two hooks above."""
    app.connect("source-read", add_modules)
    app.connect("autodoc-process-docstring", plain_docstring)
