"""The page that proves certificates in a browser: its verdicts are those of the command, and it asks no other host."""

import re
import shutil
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import in_browser
import numpy as np
import pytest
from browsing import PATIENCE, markup, opening, serving
from corpus.make import ATTACKS, FOLDERS, contents
from forgery import archive, packed

import convexmetric as cm
from convexmetric.certificates import checker

pytestmark = pytest.mark.integration

HERE = Path(__file__).resolve().parent
HEADINGS = {0: "Accepted", 1: "Not proven", 2: "Refused"}
#: Files that are refused in a browser for another reason: stack and memory end earlier there.
OTHERWISE = ("nested", "nested-open", "packed-4-gib")
ALIKE = [attack for attack in ATTACKS if attack.name not in OTHERWISE]
#: Some files of every folder.
SOME = [attack for folder in FOLDERS for attack in [attack for attack in ALIKE if attack.folder == folder][::60]]


PAGE = "in-browser"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    yield from serving(tmp_path_factory.mktemp("site"), PAGE)


@pytest.fixture(scope="module")
def opened(site):
    yield from opening(f"{site}{PAGE}.html")


def choose(window, *paths):
    """Choose files as a click on the field does, which forgets those chosen before."""
    with window.expect_file_chooser() as chooser:
        window.click("#prover input")
    chooser.value.set_files([str(path) for path in paths])


def shown(opened, *paths):
    """Exit code, heading and text that the page shows for files."""
    window, _ = opened
    choose(window, *paths)
    window.wait_for_selector("#prover[data-code]", timeout=1000 * PATIENCE)
    status, text = window.inner_text("#prover [role=status]"), window.text_content("#prover pre")
    return int(window.get_attribute("#prover", "data-code")), status, without_seconds(text)


def said(capsys, monkeypatch, *paths):
    """Exit code and text of the command in the folder of the files."""
    monkeypatch.chdir(paths[0].parent)
    capsys.readouterr()
    code = checker.main([path.name for path in paths])
    return code, without_seconds("".join(capsys.readouterr()).strip())


def without_seconds(text):
    return re.sub(r" \(\d+\.\d\d s\)$", "", text)


@pytest.fixture
def agrees(opened, capsys, monkeypatch):
    def check(*paths):
        code, text = said(capsys, monkeypatch, *paths)
        found, status, its = shown(opened, *paths)
        assert (found, its) == (code, text)
        assert status.startswith(HEADINGS[code])
        return code

    return check


@pytest.mark.parametrize("attack", SOME, ids=lambda attack: attack.name)
def test_files_of_the_corpus(agrees, attack):
    assert agrees(HERE / "corpus" / attack.folder / f"{attack.name}.npz") == FOLDERS[attack.folder]


def test_an_instance(agrees, tmp_path):
    problem = cm.bench.load_instance("ranking-auc-wine-c1").problem()
    cm.write_certificate(tmp_path / "wine.npz", problem, solution=cm.solve(problem, tol=1e-3))
    assert agrees(tmp_path / "wine.npz") == 0


def test_parts(agrees, tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 3))
    problem = cm.RelativeComparisonProblem(X, [[i, (i + 1) % 12, (i + 5) % 12] for i in range(12)], C=1.0)
    cm.write_certificate(tmp_path / "part.npz", problem, solution=cm.solve(problem), parts=3)
    first, *others = sorted(tmp_path.glob("part-*.npz"))
    assert len(others) == 2
    assert agrees(*others, first) == 0
    assert agrees(*others) == 1
    shutil.copy(HERE / "corpus/accepted/triplet.npz", tmp_path)
    assert agrees(first, tmp_path / "triplet.npz") == 2


@pytest.mark.parametrize(("lower", "upper", "code"), [("999/1000", "1001/1000", 0), ("-2", "-1", 1)])
def test_more_pairs_than_short_integers_count(agrees, tmp_path, lower, upper, code):
    """A query at 0 with 50,000 near items at 2 and as many far ones at 1: zero is the best metric, and costs C."""
    side, bits = 50_000, 21
    assert side**2 > 2**31
    arrays = {
        "points": np.repeat([0.0, 2.0, 1.0], [1, side, side])[:, None],
        "factor": np.zeros((1, 1)),
        **{name: first + np.arange(side) for name, first in (("near", 1), ("far", side + 1))},
        **{f"{name}_stops": np.array([side]) for name in ("near", "far")},
        **{f"{name}_sums": np.full(side, side * 2**bits) for name in ("near", "far")},
    }
    tables = {"problem": {"regularizer": {"weight": "1"}}, "claimed": {"lower": lower, "upper": upper}}
    made = contents("auc", dual={"bits": bits}, arrays=arrays, **tables)
    (tmp_path / "many.npz").write_bytes(archive(packed(made)))
    assert agrees(tmp_path / "many.npz") == code


def test_a_description_too_deep_for_the_browser_is_refused(opened, agrees):
    code, _, text = shown(opened, HERE / "corpus/refused/nested-open.npz")
    assert code == 2
    assert text.startswith("refused: ")
    # The next proof has a Python of its own.
    assert agrees(HERE / "corpus/accepted/triplet.npz") == 0


def test_two_files_of_one_name(opened, tmp_path):
    file = HERE / "corpus/accepted/triplet.npz"
    code, _, text = shown(opened, file, shutil.copy(file, tmp_path / file.name))
    assert (code, text) == (2, "refused: two of the files have the same name")


def test_a_proof_is_cancelled(opened, agrees):
    window, _ = opened
    choose(window, HERE / "corpus/accepted/auc.npz")
    window.click("#prover button")
    assert window.inner_text("#prover [role=status]") == "Cancelled: nothing is proven."
    window.wait_for_timeout(4000)
    assert window.get_attribute("#prover", "data-code") is None
    assert window.is_hidden("#prover pre")
    assert agrees(HERE / "corpus/accepted/auc.npz") == 0


def test_seconds_are_shown_until_the_verdict(opened):
    window, _ = opened
    choose(window, HERE / "corpus/accepted/auc.npz")
    assert re.fullmatch(r"\d+ s", window.wait_for_selector("#prover .clock:not(:empty)").inner_text())
    window.wait_for_selector("#prover[data-code]", timeout=1000 * PATIENCE)
    window.wait_for_timeout(1500)
    assert window.text_content("#prover .clock") == ""


def test_a_page_opened_as_a_file_says_that_it_proves_nothing(opened, tmp_path):
    (tmp_path / f"{PAGE}.html").write_text(markup(PAGE), encoding="utf-8")
    shutil.copytree(in_browser.HERE / "_static", tmp_path / "_static")
    window = opened[0].context.browser.new_page()
    window.goto((tmp_path / f"{PAGE}.html").as_uri())
    assert window.inner_text("#prover [role=status]").startswith("Browsers run no Python from a file: serve the site")
    window.close()


def test_files_are_dropped(opened):
    window, _ = opened
    data = list((HERE / "corpus/not_proven/claims-nonsense.npz").read_bytes())
    window.evaluate(
        """bytes => {
          const dropped = new DataTransfer();
          dropped.items.add(new File([new Uint8Array(bytes)], "dropped.npz"));
          document.getElementById("prover").dispatchEvent(new DragEvent("drop", {dataTransfer: dropped}));
        }""",
        data,
    )
    window.wait_for_selector("#prover[data-code='1']", timeout=1000 * PATIENCE)


def test_versions_are_shown_and_no_other_host_is_asked(opened, agrees, site):
    window, asked = opened
    assert agrees(HERE / "corpus/accepted/triplet.npz") == 0
    assert re.match(r"Python 3\.\d+\.\d+, NumPy 2\.\d+\.\d+, Pyodide ", window.inner_text("#prover .versions"))
    assert in_browser.PYODIDE in window.inner_text("#prover .versions")
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(site).netloc}
    assert any("numpy" in url for url in asked)


def test_without_its_files_the_page_proves_nothing(opened, site):
    window, _ = opened
    window.route("**/certificates.zip", lambda route: route.fulfill(status=404))
    code, status, _ = shown(opened, HERE / "corpus/accepted/triplet.npz")
    window.unroute("**/certificates.zip")
    assert code == -1
    assert "nothing is proven" in status


def test_the_checker_and_the_kernel_are_those_of_the_package(tmp_path):
    if not in_browser.RUNTIME.is_dir():
        pytest.skip("no Python for browsers")
    in_browser.serve(tmp_path)
    with zipfile.ZipFile(tmp_path / "certificates.zip") as made:
        found = {name: made.read(name) for name in made.namelist()}
    folder = Path(checker.__file__).parent
    kernel = {f"kernel/{path.name}" for path in (folder / "kernel").glob("*.py")}
    assert found == {name: (folder / name).read_bytes() for name in kernel | {"checker.py"}}
