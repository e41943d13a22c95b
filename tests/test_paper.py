"""The paper cites what is in its bibliography, names files that exist, and repeats figures of the tables."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAPER, REFERENCES = ((ROOT / "paper" / name).read_text("utf-8") for name in ("paper.md", "paper.bib"))
_, HEAD, BODY = PAPER.split("---\n", 2)
#: What an entry needs, by its kind; a preprint has its number, and software its page.
NEEDED = {"article": ["journal", "year"], "inproceedings": ["booktitle", "year"], "misc": ["eprint|howpublished"]}


def test_citations_and_bibliography_are_the_same():
    cited = re.findall(r"(?<![\w`])@(\w+)", BODY)
    assert set(cited) == set(re.findall(r"^@\w+\{(\w+),$", REFERENCES, re.MULTILINE))


@pytest.mark.parametrize("entry", re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", REFERENCES, re.DOTALL | re.MULTILINE))
def test_references_are_whole(entry):
    kind, _, fields = entry
    for name in ["title", "author", *NEEDED[kind]]:
        assert re.search(rf"^  (?:{name}) += \{{", fields, re.MULTILINE), name


def test_files_and_the_picture_are_there():
    named = re.findall(r"`([\w./-]+/[\w./-]*|README\.md)`", BODY)
    assert len(named) >= 8
    assert [name for name in named if not (ROOT / name).exists()] == []
    (picture,) = re.findall(r"^!\[.*?\]\((\S+)\)$", BODY, re.DOTALL | re.MULTILINE)
    assert (ROOT / "paper" / picture).is_file()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "paper" in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_the_paper_has_the_length_sections_and_authors_that_it_should():
    assert 750 <= len(BODY.split()) <= 1250
    for section in ("Summary", "Statement of need", "State of the field", "Acknowledgements", "References"):
        assert f"\n# {section}\n" in BODY
    (author,) = re.findall(r"^  - name: (.+)$", HEAD, re.MULTILINE)
    assert f"  - name: {author}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_figures_are_those_of_the_tables():
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
    said = " ".join(BODY.split())
    (mean,) = re.findall(
        r"^\| mean \| (0\.\d+) \| (0\.\d+) \| (0\.\d+) \| (0\.\d+) \| .* \| \| \|$", results[:6000], re.MULTILINE
    )[:1]
    euclidean, default, lda, nca = mean
    assert f"is {default} for the default estimator, {nca} for scikit-learn's" in said
    assert f"{lda} for linear discriminant analysis and {euclidean} for the Euclidean" in said
    for name, place in (("balance-scale (625 x 4)", "balance-scale"), ("webkb-cmu (4199 x 100)", "texts")):
        cells = results.split(f"| {name} | ")[1].split(" | ")
        assert re.search(rf"{place}[^.]*? \({cells[3][:5]} to {cells[1]}\)", said), name
    programs = (ROOT / "docs" / "any-program.md").read_text("utf-8")
    clarabel, scs = re.search(r"\| the claimed gap is false \| (\d+) \| (\d+) \|", programs).groups()
    assert f"is smaller than its error on {clarabel}, that of SCS [@odonoghue2016] on {scs}" in said
    study = (ROOT / "benchmarks" / "study" / "RESULTS.md").read_text("utf-8")
    files, of_its_own = re.search(
        r"^(\d+) certificate files, \1 of them accepted, \d+ by the kernel alone and (\d+)", study, re.M
    ).groups()
    assert (
        f"| {files} certificates of the study of \\autoref{{fig:study}} | all accepted, {of_its_own} by rules" in said
    )
