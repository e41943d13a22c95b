"""What is said in several places is the same: versions, bounds of dependencies, interpreters."""

import re
import runpy
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import pytest

import convexmetric as cm

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_one():
    assert PROJECT["version"] == cm.__version__
    cited = dict(re.findall(r"^(version|date-released): (.+)$", text("CITATION.cff"), re.MULTILINE))
    assert cited["version"] == cm.__version__
    # The newest heading of the changelog is that of this version and its day, or of what is not released yet.
    newest = re.search(r"^## (.+)$", text("CHANGELOG.md"), re.MULTILINE)[1]
    assert newest in (f"{cm.__version__} - {cited['date-released']}", "Unreleased")


def test_the_address_of_the_repository_is_one():
    source = PROJECT["urls"]["Source"]
    assert all(url.startswith(source) for url in PROJECT["urls"].values())
    assert f"repository-code: {source}\n" in text("CITATION.cff")


def test_the_license_is_one():
    assert PROJECT["license"] == re.search(r"^license: (.+)$", text("CITATION.cff"), re.MULTILINE)[1]
    assert text("LICENSE").startswith("BSD 3-Clause License")


def test_the_oldest_dependencies_are_those_tested():
    lines = [line for line in text("constraints-oldest.txt").splitlines() if line and not line.startswith("#")]
    assert [line.replace("==", ">=") for line in lines] == PROJECT["dependencies"]


def names_and_bounds(lines):
    return {re.match(r"[\w-]+", line)[0]: line.split(">=")[1] for line in lines}


def test_bounds_of_dependencies_are_the_same_everywhere():
    known = names_and_bounds(PROJECT["dependencies"])
    extras = [line for name in ("plot", "cli", "conic") for line in PROJECT["optional-dependencies"][name]]
    small = [line for line in text("constraints-small.txt").splitlines() if not line.startswith("#")]
    assert names_and_bounds(extras).items() <= known.items()
    # A small installation and what an image may leave out are all of it, but for what the command is made of.
    assert names_and_bounds(small).items() <= known.items()
    assert names_and_bounds([*small, *extras]) == known
    recipe = text("conda/recipe.yaml")
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0].replace("-base", "").replace(" >=", ">=")
    assert names_and_bounds(re.findall(r"- ((?!python)\S+)", run)) == known
    assert f'version: "{cm.__version__}"' in recipe


def test_interpreters_are_the_same_everywhere():
    declared = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert f"PYTHONS = {declared}".replace("'", '"') in text("noxfile.py")
    for version in declared:
        assert f"tests-{version}" in text(".github/workflows/tests.yml")


def test_the_readme_of_a_release_leads_to_files_of_the_repository(monkeypatch):
    # Who runs the tests need not have what builds the package.
    interface = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    source, hook = PROJECT["urls"]["Source"], runpy.run_path(str(ROOT / "hatch_build.py"))
    readme = hook["absolute"](text("README.md"), source)
    links = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", readme)
    assert len(links) >= 15
    for link in map("".join, links):
        path = re.fullmatch(rf"{re.escape(source)}/(?:blob|raw)/main/([^#]+)(?:#.*)?", link)
        assert path, link
        assert (ROOT / path[1]).is_file(), link


def test_the_manual_page_is_that_of_the_commands():
    pytest.importorskip("typer")
    import man_page

    assert PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"].keys() == {"docs/convexmetric.1"}
    assert man_page.page() == man_page.FILE.read_text(encoding="utf-8"), "write it anew: python docs/man_page.py"


def test_types_are_shipped():
    assert (Path(cm.__file__).parent / "py.typed").exists()


def test_actions_are_pinned_by_commit_and_keep_no_token():
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        said = path.read_text(encoding="utf-8")
        assert all(re.fullmatch(r"\S+@[0-9a-f]{40} # v[0-9.]+", used) for used in re.findall(r"uses: (.+)", said)), path
        assert said.count("uses: actions/checkout@") == said.count("persist-credentials: false"), path
        assert all("@sha256:" in image for image in re.findall(r"container: (.+)", said)), path


def test_what_is_published_was_rehearsed_and_only_that_job_may_sign():
    rehearsal, publishing = text(".github/workflows/publish.yml").split("  publish:\n")
    assert "nox --session rehearse" in rehearsal
    assert "upload-artifact" in rehearsal
    assert "needs: rehearse" in publishing
    assert re.findall(r"(\S+): write", rehearsal) == []
    assert re.findall(r"(\S+): write", publishing) == ["id-token"]
    assert "attestations: true" in publishing
    assert "secrets." not in rehearsal + publishing


def test_every_session_of_the_workflows_exists():
    sessions = re.findall(
        r"session:? ([a-z]+)", text(".github/workflows/tests.yml") + text(".github/workflows/publish.yml")
    )
    defined = re.findall(r"^def (\w+)\(session", text("noxfile.py"), re.MULTILINE)
    assert set(sessions) <= set(defined)


@pytest.mark.parametrize(
    "name",
    ["README.md", "SECURITY.md", ".github/workflows/tests.yml", "constraints-oldest.txt", "noxfile.py", "LICENSE"],
)
def test_the_sdist_has_what_tests_read(name):
    assert (ROOT / name).stat().st_size > 0
    patterns = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert any(fnmatch(name, pattern.removeprefix("/")) or name.startswith(f"{pattern}/") for pattern in patterns)
