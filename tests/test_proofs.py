"""The theorems of the file format are proven in Coq: each is linked, none is left open, and a wrong one is refused."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROOFS = ROOT / "proofs"
PAGE = (ROOT / "docs" / "certificate-format.md").read_text("utf-8")
LINKS = (PROOFS / "README.md").read_text("utf-8")
LINK = re.compile(r"\[`(\w+)`\]\((\w+)\.v\)")


def table(header, page=PAGE):
    """The rows, lists of cells, of the table of a page that begins with a header."""
    lines = page[page.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


LINKED = {cells[0]: LINK.findall(cells[1]) for cells in table("| theorem, row |", LINKS)}


def test_every_theorem_is_linked():
    numbers, proven = (re.findall(r"^\*\*(\d+) \(", page, re.MULTILINE) for page in (PAGE, LINKS))
    assert numbers == proven
    assert len(numbers) >= 20
    assert numbers == [str(k + 1) for k in range(len(numbers))]
    for number in numbers:
        assert any(re.fullmatch(rf"{number}(, .*)?", row) and names for row, names in LINKED.items()), number


def test_every_loss_is_linked():
    losses = [re.match("`(.+?)`", cells[0])[1] for cells in table("| loss | l(s) |")]
    assert len(losses) >= 8
    assert {f"5, {loss}" for loss in losses} <= set(LINKED)


def test_every_cone_is_linked():
    kinds = ("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power")
    assert {f"12, {kind}" for kind in kinds} <= set(LINKED)


def test_every_regularizer_is_linked():
    for cells in table("| `regularizer` | Omega |"):
        kind, of = re.match(r'`\{"kind": "([a-z ]+)"(?:, "of": "([\w ]+)")?', cells[0]).groups()
        rows = [row for row in LINKED if row.startswith(f"7, {kind}") and (of is None or of in row)]
        assert rows, cells[0]
    for kind, *_ in table("| Omega | P | to show | e |"):
        assert any(row.startswith(f"7, {kind}") for row in LINKED), kind


def test_linked_names_are_theorems():
    assert all(LINKED.values())
    for row, names in LINKED.items():
        for name, file in names:
            assert re.search(rf"^ *Theorem {name}\b", (PROOFS / f"{file}.v").read_text("utf-8"), re.MULTILINE), row


def theorems():
    """Pairs of the name of a theorem and that of its file."""
    found = {path.stem: re.findall(r"^ *Theorem (\w+)", path.read_text("utf-8"), re.M) for path in PROOFS.glob("*.v")}
    return [(name, file) for file, names in found.items() for name in names]


def test_every_theorem_of_the_proofs_is_linked_and_every_file_checked():
    assert set(theorems()) == {pair for names in LINKED.values() for pair in names}
    checked = re.search(r'^files="(.*)"', (PROOFS / "check.sh").read_text("utf-8"), re.MULTILINE)[1].split()
    assert sorted(checked) == sorted(path.stem for path in PROOFS.glob("*.v"))


def test_nothing_is_left_open_or_assumed():
    for path in PROOFS.glob("*.v"):
        words = r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b"
        assert not re.search(words, path.read_text("utf-8")), path.name


def check(folder):
    run = subprocess.run(["sh", str(folder / "check.sh")], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def copy(tmp_path):
    return Path(shutil.copytree(PROOFS, tmp_path / "proofs", ignore=shutil.ignore_patterns("*.vo*", "*.glob", ".*")))


def test_without_coq_it_says_what_to_install(tmp_path):
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    run = subprocess.run(
        [shutil.which("sh"), str(PROOFS / "check.sh")],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path)},
    )
    assert run.returncode == 1
    assert "apt-get install coq" in run.stdout


needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")


@pytest.mark.integration
@needs_coq
def test_the_proofs_compile(tmp_path):
    code, said = check(copy(tmp_path))
    assert code == 0, said
    assert f"{len(theorems())} theorems proven" in said


#: Theorems made wrong, and proofs left out: file, what stands there, what takes its place, what is said.
BROKEN = {
    "a sign of a loss": ("Losses.v", "| hinge => Rmax 0 (mu - s)", "| hinge => Rmax 0 (s - mu)", "Error"),
    "a strict inequality": (
        "Shares.v",
        "Theorem share : (forall M, K M -> ip d k P M - e <= Omega M) -> forall M, K M -> theta * v - e + c0 <= F M.",
        "Theorem share : (forall M, K M -> ip d k P M - e <= Omega M) -> forall M, K M -> theta * v - e + c0 < F M.",
        "Error",
    ),
    "an upper bound too small": ("Losses.v", "* (mu - s - b) / (2 * kappa)", "* (mu - s - b) / (3 * kappa)", "Error"),
    "a bound from the wrong side": ("Slopes.v", "psd d (sub U M)", "psd d (sub M U)", "Error"),
    "a half left out": ("Cones.v", "else symmetric n z i j / 2.", "else symmetric n z i j.", "Error"),
    "a dual cone too large": ("Cones.v", "exp (z 1%nat / z O - 1)", "exp (z 1%nat / z O - 2)", "Error"),
    "a radius too small": ("Programs.v", "/ (1 - norm n n (error n B N)).", "/ 1.", "Error"),
    "an equation that follows from itself": ("Translation.v", "relation o (follow o k) k <> 0", "0 <= 0", "Error"),
    "charges for nothing": ("Translation.v", "+ c0 - cost <=", "+ c0 <=", "Error"),
    "radii for nothing": ("Translation.v", "- dot m rho (fun i => Rabs (z i)) - / 2", "- / 2", "Error"),
    "a zero pivot like any other": ("Translation.v", "0 < N k k \\/", "0 <= N k k \\/", "Error"),
    "a condition dropped": ("Shares.v", "0 <= theta <= 1", "0 <= theta", "Error"),
    "a proof left open": ("Sums.v", "Proof. induction n; simpl; [|rewrite IHn]; lra. Qed.", "Admitted.", "left open"),
    "a hypothesis of its own": (
        "Losses.v",
        "Lemma exp_line x : 1 + x <= exp x.\nProof.",
        "Variable e1 : forall x, 1 + x <= exp x.\nLemma exp_line x : 1 + x <= exp x.\nProof. exact (e1 x). Qed.\n"
        "Lemma again x : 1 + x <= exp x.\nProof.",
        "e1 is assumed",
    ),
}


@pytest.mark.integration
@needs_coq
@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_refused(tmp_path, what):
    name, old, new, says = BROKEN[what]
    folder = copy(tmp_path)
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), "utf-8")
    code, said = check(folder)
    assert code != 0
    assert says in said
