"""Sphinx settings of the site; ``make docs`` builds it with warnings as errors."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import convexmetric
import convexmetric.datasets

# Before anything imports matplotlib: pictures are drawn without a screen.
os.environ.setdefault("MPLBACKEND", "Agg")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# Beside this file.
course, in_browser, take_away = map(importlib.import_module, ("course", "in_browser", "take_away"))

#: Where the repository is.
SOURCE = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]

project = "convexmetric"
author = "the convexmetric developers"
copyright = f"2026, {author}"
version = release = convexmetric.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "mathml",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_static"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Pages in Markdown read well on a forge, too: formulas in dollars, directives in fences.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_update_mathjax = False

# A name in a docstring that leads nowhere is an error as well. Bases of classes may be private, or scikit-learn's.
nitpicky = True
nitpick_ignore = [
    ("py:class", "abc.ABC"),
    ("py:class", "convexmetric.arrays.Result"),
    ("py:class", "convexmetric.certificates.certificate.Bounds"),
    ("py:class", "convexmetric.retrieval.judgements.PairTable"),
    ("py:class", "convexmetric.losses.negative_log._Reward"),
    ("py:class", "convexmetric.papers.pair_margin._PairProblem"),
    ("py:class", "convexmetric.papers.spanned.SpannedProblem"),
    ("py:class", "convexmetric.regularizers.norm_term.NormTerm"),
    ("py:class", "convexmetric.regularizers.base.WeightedRegularizer"),
    ("py:class", "convexmetric.cones.psd.MatrixCone"),
    ("py:class", "convexmetric.risks.query.QueryRisk"),
    ("py:class", "convexmetric.risks.query.SmoothQueryRisk"),
    ("py:class", "convexmetric.selection.records.Tabled"),
    ("py:class", "convexmetric.selection.records._PairedTable"),
    ("py:class", "convexmetric.approximate.batches.BatchSolver"),
]
nitpick_ignore_regex = [("py:class", r"(numpy|sklearn)\..*")]

autosummary_generate = True
autosummary_imported_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"exclude-members": "with_traceback, add_note, args, maketrans"}
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False


#: Modules that users call by name, as they call the root.
CALLED = ("approximate", "audits", "bench", "datasets", "estimators", "evaluation", "features")
CALLED += ("papers", "retrieval", "selection", "solution", "solvers")


def records() -> list[str]:
    """Public classes that only hold values: they describe attributes, not the parameters of a constructor."""
    found = []
    for module in (convexmetric, *(getattr(convexmetric, name) for name in CALLED)):
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and "Parameters\n" not in (kind.__doc__ or ""):
                found.append(rf"^{module.__name__}\.{name}$")
    return found


def mathematics(module: str, name: str) -> str:
    """The module whose docstring has the formula of a class, if there is one."""
    home = importlib.import_module(getattr(importlib.import_module(module), name).__module__)
    return home.__name__ if ".. math::" in (home.__doc__ or "") else ""


def own_attributes(kind: type) -> list[str]:
    """Lines under "Attributes" in the docstring of a class itself."""
    section = inspect.cleandoc(kind.__dict__.get("__doc__") or "").partition("Attributes\n----------\n")[2]
    return section.partition("\n\n")[0].splitlines()


def inherit_attributes(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Describe on the page of an estimator also the attributes that its base classes set, such as ``components_``."""
    bases = [base for base in thing.__mro__[1:] if "convexmetric" in base.__module__] if what == "class" else []
    inherited = [line for base in bases for line in own_attributes(base)]
    if inherited and "Attributes" not in lines:
        lines += ["", "Attributes", "----------"]
        lines += inherited
    elif inherited:
        below = lines.index("Attributes") + 2
        lines[below:below] = inherited


def skip_foreign(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Methods that scikit-learn adds to estimators have pages of their own, with labels that lead nowhere from here."""
    return True if (getattr(thing, "__module__", None) or "").startswith("sklearn.") else None


def own_icons(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out the style sheet of another host that animations ask for: the theme has their icons."""
    context["body"] = re.sub(r'<link rel="stylesheet"\s+href="https?://[^>]*>', "", context.get("body", ""))


@functools.cache
def documented() -> set[str]:
    """Full names of what has a page in the reference."""
    found = set()
    for page in set((HERE / "api").glob("*.rst")) - {HERE / "api" / "index.rst"}:
        module = "convexmetric"
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith((".. currentmodule:: ", ".. module:: ")):
                module = line.split()[-1]
            elif re.fullmatch(r"   \w+", line):
                found.add(f"{module}.{line.strip()}")
    return found


def link_names(text: str) -> str:
    """Lead names such as ``cm.solve`` between backticks to their page, where they have one."""

    def linked(found: re.Match[str]) -> str:
        name = f"convexmetric.{found[1]}"
        return f"{{py:obj}}`cm.{found[1]} <{name}>`" if name in documented() else found[0]

    parts = re.split(r"(^ *(```+|~~~+).*?^ *\2)", text, flags=re.MULTILINE | re.DOTALL)
    # Listings stay as they are; their fences are parts of their own.
    parts[::3] = [re.sub(r"(?<![\[`])`cm\.([\w.]+)`(?!`)", linked, part) for part in parts[::3]]
    return "".join(part for at, part in enumerate(parts) if at % 3 < 2)


def link_out(app: Any, name: str, source: list[str]) -> None:
    """Lead what holds on a forge to pages of the site: names, pictures, files beside the documentation."""
    # What only the site understands is a comment elsewhere.
    source[0] = re.sub(r"^<!--\n(```\{.*?^```)\n-->$", r"\1", source[0], flags=re.MULTILINE | re.DOTALL)
    source[0] = take_away.slides.PICTURE.sub(r":::{picture} \3 \1\n\2\n:::", source[0])
    if name.startswith("gallery/"):
        source[0] = course.linked(source[0])
    elif (HERE / f"{name}.md").is_file():
        source[0] = link_names(source[0])
    source[0] = re.sub(r"\[`([^`]+)`\]\([./]*api/[\w-]+\.rst#(convexmetric[\w.]+)\)", r"{py:obj}`\1 <\2>`", source[0])
    beside = r"\]\((?:\.\./)+examples/"
    source[0] = re.sub(rf"{beside}(plot_\w+)\.py\)", r"](/gallery/\1.rst)", source[0])
    source[0] = re.sub(rf"{beside}GALLERY_HEADER\.rst\)", "](/gallery/index.rst)", source[0])
    source[0] = re.sub(rf"{beside}exercises/exercise_0?(\d+)_\w+\.py\)", r"](#exercise-\1)", source[0])
    outside = r"\]\((?:\.\./)+((?:benchmarks|examples|proofs|CONTRIBUTING|CHANGELOG)[^)\s]*)\)"
    source[0] = re.sub(outside, rf"]({SOURCE}/blob/main/\1)", source[0])


def serve_python(app: Any, error: Exception | None) -> None:
    """Put Python for browsers and the files of the course beside the pages that lead to them, if they are there."""
    if error is None and "python" in app.tags:
        in_browser.serve(Path(app.outdir) / "_static")
    if error is None and take_away.FOLDER.is_dir():
        there = Path(app.outdir) / "_static" / take_away.FOLDER.name
        shutil.copytree(take_away.FOLDER, there, ignore=shutil.ignore_patterns("pictures"), dirs_exist_ok=True)


def setup(app: Any) -> None:
    """Connect what is above."""
    app.add_directive("exercises", course.directive(course.lines))
    app.add_directive("picture", course.picture_directive())
    app.add_directive("tiles", course.tiles_directive(SOURCE))
    app.add_directive("files", course.files_directive(take_away.FOLDER))
    if in_browser.RUNTIME.is_dir():
        app.tags.add("python")
    app.connect("source-read", link_out)
    app.connect("build-finished", serve_python)
    # Before numpydoc, which reads the sections.
    app.connect("autodoc-process-docstring", inherit_attributes, priority=400)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("html-page-context", own_icons)


autosummary_context = {"mathematics": mathematics}
# A function among the settings means that they are read anew each time, no more.
suppress_warnings = ["config.cache"]

# What a user calls must say what goes in and what comes out; layers below keep to the contract of their base class.
numpydoc_validation_checks = {"GL08", "SS01", "PR01", "PR02", "PR10", "RT01"}
numpydoc_validation_exclude = {
    *records(),
    rf"^convexmetric\.(?!({'|'.join(CALLED)})\.)\w+\.",
    r"^convexmetric\.\w+\.\w+\.",
}

html_theme = "pydata_sphinx_theme"
html_title = f"convexmetric {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["formulas.js"]
html_show_sourcelink = False
# The header has the sections, the sidebar the pages of a section: pages outside of all sections have none.
html_sidebars = {page: [] for page in ("index", "search", "genindex", "py-modindex", "_modules/**")}
# Without a mode the theme complains on the console of whoever comes for the first time.
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "header_links_before_dropdown": 7,
}

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "matplotlib_animations": True,
    "within_subsection_order": "FileNameSortKey",
    # Scripts that print whole tables of the papers take minutes to hours, and have pages of their own.
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!(.*/)?plot_)",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    # What show_pictures returns: the pictures are below.
    "ignore_repr_types": r"list",
    # Its tables take their scripts from other hosts.
    "write_computation_times": False,
    "abort_on_example_error": True,
}
