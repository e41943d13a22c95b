"""Pull requests against a small repository with the tool of the records in it: what a stranger may send."""

import dataclasses
import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from forgery import claim, opened, written

import convexmetric as cm
from convexmetric.bench.submissions import MAX_FILE, submit

ROOT = Path(__file__).resolve().parents[2]
#: The instance that pull requests are about, the one that has a record before, and one whose data are nowhere here.
NAME, KNOWN, LACKING = "triplets-wine-10x10-1e-2", "large-margin-wine-diagonal", "relative-webkb-topic-2000"
TABLE, KEPT, PAGE, AUTHOR = "problems/records.json", "problems/records", "problems/RECORDS.md", "some-one"
MOVED = json.loads((ROOT / TABLE).read_text())["moved"]
FILES = {line["instance"]: line["file"] for line in MOVED}
TODAY = datetime.now(UTC).date()


class Base:
    """A repository with one record, checked out; pull requests are commits that never touch its tree."""

    def __init__(self, root, canary):
        self.root, self.canary, self.index = root, canary, root.parent / "index"
        self.git("init", "--quiet", "--initial-branch=main")
        for name in ("problems/records.py", "problems/pulled.py", "problems/statements.json", PAGE, ".gitignore"):
            self.put(name, (ROOT / name).read_bytes())
        self.put("convexmetric/kernel.py", b"TRUSTED = True\n")
        self.put(f"problems/{FILES[KNOWN]}", (ROOT / "problems" / FILES[KNOWN]).read_bytes())
        spec = importlib.util.spec_from_file_location("records_of_base", root / "problems" / "records.py")
        self.tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.tool)
        # Each check reads all of them, some times.
        self.tool.load_instance = functools.cache(self.tool.load_instance)
        self.old = [line for line in MOVED if line["instance"] == KNOWN]
        self.put(TABLE, self.tool.written(self.old).encode())
        self.put(PAGE, self.page(self.old))
        for driver in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "diff.evil.command"):
            self.git("config", driver, f"touch {canary}")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "base")

    def git(self, *words, given=None):
        own = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        own |= {"GIT_INDEX_FILE": str(self.index)} if words[0] in ("read-tree", "update-index", "write-tree") else {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ["git", "-C", str(self.root), *words]
        run = subprocess.run(command, input=given, env=kept | own, check=True, capture_output=True)
        return run.stdout.decode().strip()

    def put(self, name, data):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def page(self, moved):
        table = {"instances": self.tool.replayed(moved), "moved": moved}
        return self.tool.with_records((ROOT / PAGE).read_text(encoding="utf-8"), table).encode()

    def blob(self, data):
        return self.git("hash-object", "-w", "--stdin", given=data)

    def pull(self, changes):
        """A commit with other files: contents, with another mode, or None for what is removed."""
        self.git("read-tree", "HEAD")
        for name, data in changes.items():
            mode, data = data if isinstance(data, tuple) else ("100644", data)
            if data is None:
                self.git("update-index", "--force-remove", "--", name)
                continue
            sha = self.git("rev-parse", "HEAD") if mode == "160000" else self.blob(data)
            self.git("update-index", "--add", "--replace", "--cacheinfo", f"{mode},{sha},{name}")
        return self.git("commit-tree", "-p", "HEAD", "-m", "pull", self.git("write-tree"))

    def checked(self, changes, author=AUTHOR):
        """The exit code of a check of a pull request; the tree is what it was."""
        before = self.git("rev-parse", "HEAD")
        code = self.tool.main(["--check", "--of", self.pull(changes), "--author", author])
        assert (self.git("rev-parse", "HEAD"), self.git("status", "--porcelain")) == (before, "")
        assert not self.canary.exists()
        return code

    def with_lines(self, *lines, entries=None):
        """``records.json`` with more lines and the entries that they claim, whether they follow or not."""
        table = json.loads((self.root / TABLE).read_text())
        for line in lines:
            table["moved"].append(line)
            keys = ("by", "date", "file", "sha256")
            ends = table["instances"].setdefault(line["instance"], {})
            ends[line["side"]] = {"bound": line["to"]} | {key: line[key] for key in keys}
        table["instances"] |= entries or {}
        return json.dumps(table, indent=1).encode()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pulls")
    (folder / "base").mkdir()
    return Base(folder / "base", folder / "canary")


@pytest.fixture(autouse=True)
def without_data(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVEXMETRIC_DATA", str(tmp_path))


def good(**changes):
    """The lines of the honest record, with changes."""
    own = {"by": AUTHOR, "date": TODAY.isoformat()} | changes
    return [line | own for line in MOVED if line["instance"] == NAME]


HONEST = f"problems/{FILES[NAME]}"
RECORD = (ROOT / HONEST).read_bytes()
FOREIGN = {"instance": LACKING, "side": "lower", "file": "records/x.npz", "sha256": "0" * 64}


def false(base, name=LACKING, **claims):
    """A false record of an instance, as a file that proves nothing."""
    document, arrays = opened(ROOT / HONEST)
    contents = claim((document | {"title": f"{name}, by {AUTHOR}", "problem": {}}, arrays), *claims.values())
    return written(base.root.parent / "false.npz", contents).read_bytes()


def whole(base, name=NAME):
    """The honest record with the data of its instance."""
    path = base.root.parent / "whole.npz"
    if not path.exists():
        submit(ROOT / HONEST, NAME, by=AUTHOR, output=path, whole=True)
    document, arrays = opened(path)
    return written(base.root.parent / "titled.npz", (document | {"title": f"{name}, by {AUTHOR}"}, arrays)).read_bytes()


def other(base):
    """A whole certificate of no instance."""
    X, path = np.random.default_rng(0).standard_normal((9, 2)), base.root.parent / "other.npz"
    problem = cm.RelativeComparisonProblem(X, [[0, 1, 2], [3, 4, 5]], C=1.0)
    cm.write_certificate(path, problem, solution=cm.solve(problem), title=f"{LACKING}, by {AUTHOR}")
    return path.read_bytes()


def of_lacking(base):
    """A line about the instance without data, better than its bound in the library."""
    start = json.loads((base.root / TABLE).read_text())["instances"][LACKING]
    return good()[0] | FOREIGN | {"from": start["lower"]["bound"], "to": "603763"}


def steps(base, count=5):
    """One good proof in many small steps."""
    first, start = good()[0], cm.bench.load_instance(NAME).exact_lower
    ends = [start + (base.tool.Fraction(first["to"]) - start) * k / count for k in range(count + 1)]
    return [first | {"from": str(low), "to": str(high)} for low, high in pairwise(ends)]


CODE = b"import pathlib, os\npathlib.Path(os.environ['CANARY']).write_text('ran')\n"
PLAINLY = "may hold ordinary files NAME.npz only"
OLD = MOVED[[line["instance"] for line in MOVED].index(KNOWN)]

#: What a pull request changes, and what is said of it.
HOSTILE = {
    "records removed": (lambda b: {TABLE: None, f"problems/{FILES[KNOWN]}": None}, "has no file problems/records.json"),
    "the table removed": (lambda b: {TABLE: None}, "has no file problems/records.json"),
    "a file of a line removed": (lambda b: {f"problems/{FILES[KNOWN]}": None}, "is not there"),
    "the folder of problems a link": (
        lambda b: {"other/records.json": b"{}", "other/records/x.npz": RECORD, "problems": ("120000", b"other")},
        "has no file problems/records.json",
    ),
    "the folder of records a link": (lambda b: {KEPT: ("120000", b"../docs")}, PLAINLY),
    "the table a link": (lambda b: {TABLE: ("120000", b"records.py")}, PLAINLY),
    "a file a link": (lambda b: {HONEST: ("120000", b"/etc/passwd")}, PLAINLY),
    "the folder a submodule": (lambda b: {KEPT: ("160000", b"")}, PLAINLY),
    "a submodule in the folder": (lambda b: {f"{KEPT}/a.npz": ("160000", b"")}, PLAINLY),
    "a folder in the folder": (lambda b: {f"{KEPT}/a/b.npz": RECORD}, PLAINLY),
    "the table a folder": (lambda b: {f"{TABLE}/a.npz": RECORD}, PLAINLY),
    "an executable": (lambda b: {HONEST: ("100755", RECORD)}, PLAINLY),
    "attributes in the folder": (lambda b: {f"{KEPT}/.gitattributes": b"*.npz filter=evil\n"}, PLAINLY),
    "attributes beside": (
        lambda b: {".gitattributes": b"* filter=evil diff=evil export-subst\n", HONEST: RECORD},
        "may change nothing else.*gitattributes",
    ),
    "a module of Python": (lambda b: {f"{KEPT}/json.py": CODE}, PLAINLY),
    "another tool": (lambda b: {"problems/records.py": CODE, HONEST: RECORD}, "nothing else.*'problems/records.py'"),
    "another kernel": (lambda b: {"convexmetric/kernel.py": CODE, HONEST: RECORD}, "nothing else.*kernel.py"),
    "other statements": (lambda b: {"problems/statements.json": b"{}", HONEST: RECORD}, "may change nothing else"),
    "a page that does not follow": (lambda b: {PAGE: b"# Mine\n", HONEST: RECORD}, "nothing else.*RECORDS.md"),
    "a page that is a link": (lambda b: {PAGE: ("120000", b"/etc/passwd"), HONEST: RECORD}, "may change nothing else"),
    "no submission": (lambda b: {f"{KEPT}/a.npz": b"no archive"}, "a.npz is refused"),
    "a huge file": (lambda b: {f"{KEPT}/a.npz": bytes(MAX_FILE + 1)}, "a.npz has 4,194,305 bytes, more than"),
    "a huge table": (lambda b: {TABLE: b" " * (2**24 + 1)}, "records.json has 16,777,217 bytes, more than"),
    "many files": (lambda b: {f"{KEPT}/a{k}.npz": b"" for k in range(40)}, "NOT CHECKED.*a run proves 12 files"),
    "a false record, bare": (
        lambda b: {f"{KEPT}/x.npz": false(b, low=603763, high=603764), TABLE: b.with_lines(of_lacking(b))},
        "NOT CHECKED: x.npz.*webkb-cmu",
    ),
    "crossed claims of a line": (lambda b: {TABLE: b.with_lines(of_lacking(b))}, "ALARM.*claimed by a line of moved"),
    "crossed claims of a file": (
        lambda b: {f"{KEPT}/x.npz": false(b, low=603763, high=603764)},
        "ALARM.*claimed by x.npz, not proven",
    ),
    "crossed claims of an entry": (
        lambda b: {TABLE: b.with_lines(entries={LACKING: {"lower": {"bound": "603763"}}})},
        "ALARM.*claimed by its entry",
    ),
    "a false record, whole, of another instance": (
        lambda b: {f"{KEPT}/x.npz": whole(b, LACKING), TABLE: b.with_lines(of_lacking(b))},
        "another instance than moved says",
    ),
    "a false record, whole, of no instance": (lambda b: {f"{KEPT}/x.npz": other(b)}, "no instance has its statement"),
    "a file changed under its line": (lambda b: {f"problems/{FILES[KNOWN]}": RECORD}, "has another SHA-256"),
    "a new line of an old file": (
        lambda b: {TABLE: b.with_lines(OLD | {"from": OLD["to"], "to": "430", "by": AUTHOR, "date": str(TODAY)})},
        "does not prove the lower bound 430",
    ),
    "by somebody else": (lambda b: {HONEST: RECORD, TABLE: b.with_lines(*good(by="A. Person"))}, "by must be some-one"),
    "small steps": (lambda b: {HONEST: RECORD, TABLE: b.with_lines(*steps(b))}, "may move a bound once"),
    "many small steps": (lambda b: {TABLE: b.with_lines(*steps(b, 25))}, "at most 24 lines, not 25"),
    "one small step": (lambda b: {HONEST: RECORD, TABLE: b.with_lines(*steps(b)[:1])}, "proves more of .* say all"),
    "long ago": (lambda b: {HONEST: RECORD, TABLE: b.with_lines(*good(date="2001-01-01"))}, "is before the last"),
    "from the future": (
        lambda b: {HONEST: RECORD, TABLE: b.with_lines(*good(date=(TODAY + timedelta(days=2)).isoformat()))},
        "or in the future",
    ),
    "no such day": (lambda b: {TABLE: b.with_lines(*good(date="2026-13-01"))}, "a line of moved must have"),
    "a key twice": (
        lambda b: {HONEST: RECORD, TABLE: b.with_lines(*good()).replace(b'"by": "some', b'"by": "A", "by": "some')},
        "has a key twice",
    ),
    "an old line changed": (lambda b: {TABLE: b.with_lines().replace(b"HiGHS", b"Mine")}, "have been changed"),
    "old lines removed": (lambda b: {TABLE: b.tool.written([]).encode()}, "have been changed or removed"),
    "an entry that does not follow": (
        lambda b: {TABLE: b.with_lines(entries={NAME: {}})},
        "its entry does not follow from its file and from moved",
    ),
} | {
    f"the name {name!r}": (lambda b, name=name: {f"{KEPT}/{name}": RECORD}, PLAINLY)
    for name in (
        "a b.npz", "$(touch x).npz", "a.npz;x", "a\n.npz", "-x.npz", "--output=x.npz", "\u00fc.npz", "A.npz",
        "a.npz.py", "a\tb.npz", '"a".npz', ".npz", "a" * 151 + ".npz", "a.npz\r",
    )
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_pull_request_fails_and_it_says_why(case, base, capsys):
    changes, message = HOSTILE[case]
    changes = changes(base)
    capsys.readouterr()
    assert base.checked(changes) == 1
    out = capsys.readouterr().out
    assert "all submissions are proven" not in out
    assert any(re.search(message, line) for line in out.splitlines()), out
    if "NOT CHECKED" in out:
        assert "whoever looks runs: CONVEXMETRIC_DATA=FOLDER" in out.splitlines()[-1]


@pytest.mark.parametrize("case", ["one file", "whole", "with lines", "unproven names", "with the page", "nothing"])
def test_an_honest_pull_request_passes(case, base, capsys):
    lines = good(by="A. Person (unproven)") if case == "unproven names" else good()
    changes = {HONEST: whole(base) if case == "whole" else RECORD}
    if case in ("with lines", "unproven names", "with the page"):
        changes[TABLE] = base.tool.written(base.old + lines).encode()
    if case == "with the page":
        changes[PAGE] = base.page(base.old + lines)
    assert base.checked({} if case == "nothing" else changes) == 0
    out = capsys.readouterr().out
    # What was there is not proven again.
    assert "all submissions are proven" in out
    assert (NAME in out, KNOWN in out) == (case != "nothing", False)


def test_without_its_data_a_whole_file_is_proven_and_a_bare_one_not_checked(base, monkeypatch, capsys):
    load = base.tool.load_instance
    absent = dataclasses.replace(load(NAME), data={**load(NAME).data, "set": "webkb-cmu"})
    monkeypatch.setattr(base.tool, "load_instance", lambda name: absent if name == NAME else load(name))
    lines = {TABLE: base.tool.written(base.old + good()).encode()}
    assert base.checked({HONEST: RECORD} | lines) == 1
    assert "a maintainer who has the data set webkb-cmu must look" in capsys.readouterr().out
    data = whole(base)
    lines = good(sha256=base.tool.sha256(data).hexdigest())
    assert base.checked({HONEST: data, TABLE: base.tool.written(base.old + lines).encode()}) == 0


@pytest.mark.parametrize(("limit", "most"), [("MAX_NEW", 0), ("MAX_RUN", 1.0), ("MAX_SECONDS", -1.0)])
def test_beyond_the_budget_nothing_is_checked_and_it_fails(limit, most, base, monkeypatch, capsys):
    monkeypatch.setattr(base.tool, limit, most)
    assert base.checked({HONEST: RECORD}) == 1
    assert "NOT CHECKED" in capsys.readouterr().out


def test_a_tree_that_is_not_its_commits_checks_nothing(base, capsys):
    for name in ("problems/json.py", "problems/records.json"):
        path = base.root / name
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(b"{}")
        assert base.tool.main(["--check", "--of", "HEAD"]) == 1
        assert "nothing is checked" in capsys.readouterr().out
        path.unlink() if before is None else path.write_bytes(before)
    for commit in ("no such", "HEAD:problems", "--help", ""):
        assert base.tool.main(["--check", f"--of={commit}"]) == 1
        assert "is not in this repository" in capsys.readouterr().out


PLANTED = [f"{name}.py" for name in ("problems/records", "problems/pulled", "problems/json", "numpy", "sitecustomize")]


@pytest.mark.parametrize(
    "case", ["records removed", "the folder of problems a link", "another tool", "an honest pull request"]
)
def test_code_of_a_pull_request_does_not_run(case, base):
    changes = {HONEST: RECORD} if case.startswith("an honest") else HOSTILE[case][0](base)
    if not case.startswith("an honest"):
        changes = {name: CODE for name in PLANTED if "problems" not in changes or "problems" not in name} | changes
    command = [sys.executable, "problems/records.py", "--check", "--of", base.pull(changes), "--author", AUTHOR]
    run = subprocess.run(command, cwd=base.root, env=os.environ | {"CANARY": str(base.canary)}, capture_output=True)
    assert not base.canary.exists()
    assert base.git("status", "--porcelain") == ""
    assert run.returncode == (0 if case.startswith("an honest") else 1), run.stderr


def test_the_workflow_runs_this_command_and_can_write_nothing():
    text = (ROOT / ".github" / "workflows" / "records.yml").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for never in ("pull_request_target", "secrets", "write", "git checkout", "git merge", "git apply"):
        assert never not in code
    assert "ref: ${{ github.event.pull_request.base.sha }}" in code
    assert 'python problems/records.py --check --of FETCH_HEAD --author "$AUTHOR"' in code
    assert "run: |" not in code
    assert all("${{" not in line for line in code.splitlines() if "run:" in line)
