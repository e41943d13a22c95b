"""Certificates in parts: what they prove together, and what several files that are no parts do not."""

import itertools

import numpy as np
import pytest
import second_checker
from campaign.judge import compare
from catalogue import CATALOGUE, instance
from forgery import opened, written
from samples import some

import convexmetric as cm
from convexmetric.certificates import CertificateError, checker, kernel, verify_instance
from convexmetric.cli import main
from convexmetric.errors import InputError

NAMES = [
    "ranking from labels", "relative, rbf, soft", "relative, A, hard", "triplets, graph, diagonal",
    "pairs, all, frobenius, features, margin 1.0", "pairs, listed, trace, unit-rbf, margin (0.5, 1.5)",
    "cross-modal, representatives", "psd triplets, trace, G", "psd logistic, trace, G", "map", "ndcg",
    "hinge, l1 and log det, full", "hinge, trace distance, full", "log, budget, blocks", "hinge, log det, diagonal",
]  # fmt: skip


def made(name):
    """A small problem; rankings with weights of their queries."""
    if name in CATALOGUE:
        return instance(name)
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 4)
    X = rng.standard_normal((12, 3)) + 0.5 * y[:, None]
    return cm.RankingProblem.from_labels(X, y, measure=name, C=20.0, query_weights=rng.random(12) + 0.1)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Of every problem a certificate in one file, one in three parts, and the problem."""
    folder, found = tmp_path_factory.mktemp("parts"), {}
    for number, name in enumerate(NAMES):
        problem = made(name)
        solution, path = cm.solve(problem, tol=1e-7), folder / f"{number}.npz"
        cm.write_certificate(path, problem, solution=solution)
        cm.write_certificate(path, problem, solution=solution, parts=3)
        found[name] = path, [folder / f"{number}-{part}.npz" for part in (1, 2, 3)], problem
    return found


def both(*paths):
    """The verdict of the checker, after the second one has said the same."""
    said = compare(paths, [path.read_bytes() for path in paths])
    try:
        verdict = cm.verify(*paths)
    except CertificateError:
        assert said == "refused"
        raise
    assert said == ("accepted" if verdict.accepted else "not proven")
    return verdict


def rewritten(folder, paths, change, only=None):
    """The files with something changed in the document and the arrays of each, or of one of them."""
    changed = []
    for number, path in enumerate(paths):
        document, arrays = opened(path)
        if only in (None, number):
            change(document, arrays)
        changed.append(written(folder / path.name, (document, arrays)))
    return changed


@pytest.mark.parametrize("name", some(NAMES, 5))
def test_parts_prove_what_the_whole_proves_in_any_order(name, certificates):
    whole, parts, problem = certificates[name]
    one = cm.verify(whole)
    verdicts = [cm.verify(*order) for order in itertools.permutations(parts)]
    assert len({(verdict.lower, verdict.upper) for verdict in verdicts}) == 1
    for verdict in verdicts:
        assert verdict.accepted
        assert verdict.sha256 == one.sha256
        assert verdict.sizes == one.sizes
        scale = 1e-8 * max(abs(one.upper), abs(one.lower))
        assert abs(verdict.lower - one.lower) <= scale
        assert abs(verdict.upper - one.upper) <= scale
    assert both(*parts).accepted
    assert verify_instance(parts, problem)[0].accepted
    rows = [opened(path)[0]["dual"]["rows"] for path in parts]
    assert rows[0][0] == 0
    assert all(before[1] == after[0] for before, after in itertools.pairwise(rows))


@pytest.mark.parametrize("name", some(NAMES, 5))
def test_parts_that_are_missing_or_there_twice_are_named(name, certificates):
    _, parts, _ = certificates[name]
    rows = [opened(path)[0]["dual"]["rows"] for path in parts]
    names = [f"rows {first} to {end - 1} are in" for first, end in rows]
    for number, path in enumerate(parts):
        others = [other for other in parts if other != path]
        for files, where in ((others, "no part"), ([*parts, path], "more than one part")):
            verdict = both(*files)
            assert (verdict.lower, verdict.upper) == (None, None)
            assert verdict.reason == f"the {names[number]} {where}"
    assert both(parts[0], parts[0]).reason.endswith(f"in more than one part; the rows {rows[1][0]} to "
                                                    f"{rows[2][1] - 1} are in no part")  # fmt: skip


@pytest.mark.parametrize("name", some(NAMES, 5))
def test_parts_of_two_certificates_are_refused(name, certificates, tmp_path):
    _, parts, _ = certificates[name]

    def other_statement(document, arrays):
        document["problem"]["constant"] = "1"

    def other_data(document, arrays):
        arrays["points"] = np.nextafter(arrays["points"], np.inf)

    def other_metric(document, arrays):
        d = document["problem"]["features"]
        arrays |= {"factor": np.eye(d)} if "factor" in arrays else {"weights_of_metric": np.ones(d)}

    def other_share(document, arrays):
        document["dual"]["share"] += "0"

    def claims_swapped(document, arrays):
        claimed = document["claimed"]
        document["claimed"] = {"lower": claimed["upper"], "upper": claimed["lower"]}

    def other_slope(document, arrays):
        """Of the regularizer: parameters where it has them, or arrays; the share where it has neither."""
        own = document["dual"]["regularizer"]
        names = [array for array in arrays if array.endswith(("slope", "root", "above", "z")) and "prior" not in array]
        if "multiplier" in own:
            own["multiplier"] += "0"
        elif names:
            arrays[names[0]] = arrays[names[0]] * 1.5
        else:
            other_share(document, arrays)

    for change in (other_statement, other_data, other_metric, other_share, other_slope, claims_swapped):
        with pytest.raises(CertificateError, match="no parts of one certificate"):
            both(*rewritten(tmp_path, parts, change, only=1))
    # With other bounds in all of them they are parts of one certificate, whose claims are not proven.
    verdict = both(*rewritten(tmp_path, parts, claims_swapped))
    assert not verdict.accepted
    assert verdict.lower is not None
    assert "claimed is larger" in verdict.reason


@pytest.mark.parametrize("name", ["map", "ranking from labels", "psd triplets, trace, G"])
def test_dual_points_of_other_rows_prove_nothing(name, certificates, tmp_path):
    """Arrays of two parts exchanged, or rows moved by one: nothing false is said, and mostly nothing at all."""
    _, parts, _ = certificates[name]
    true = cm.verify(*parts)
    first, second = opened(parts[0]), opened(parts[1])

    def moved(document, arrays):
        document["dual"]["rows"] = [row + 1 for row in document["dual"]["rows"]]

    def exchanged(document, arrays):
        other = second if document["dual"]["rows"] == first[0]["dual"]["rows"] else first
        if document["dual"]["rows"][0] <= second[0]["dual"]["rows"][0]:
            arrays.update({of: array for of, array in other[1].items() if of in kernel.files.OF_ROWS})

    for change, only in ((moved, 0), (exchanged, None)):
        try:
            verdict = both(*rewritten(tmp_path, parts, change, only))
        except CertificateError:
            continue
        assert verdict.lower is None or verdict.lower <= true.upper


@pytest.mark.parametrize("rows", [[0], [0, 4, 8], [4, 4], [5, 4], [-1, 4], [0, 13], [12, 13], "04", 4, [True, 4], None])
def test_rows_that_are_none_are_refused(rows, certificates, tmp_path):
    def change(document, arrays):
        document["dual"]["rows"] = rows

    _, parts, _ = certificates["map"]
    with pytest.raises(CertificateError):
        both(*rewritten(tmp_path, parts, change, only=0))


def test_all_rows_may_be_named(certificates, tmp_path):
    def change(document, arrays):
        document["dual"]["rows"] = [0, 12]

    whole, _, _ = certificates["map"]
    assert both(*rewritten(tmp_path, [whole], change)).accepted


def test_one_file_at_a_time_is_read(certificates, monkeypatch):
    _, parts, _ = certificates["map"]
    order, read, value = [], checker.read, kernel.ListRisk.value
    monkeypatch.setattr(checker, "read", lambda *given: (order.append("read"), read(*given))[1])
    monkeypatch.setattr(kernel.ListRisk, "value", lambda *given: (order.append("value"), value(*given))[1])
    assert cm.verify(*parts).accepted
    assert order == ["read", "value"] * 3


def test_work_is_that_of_the_rows(certificates):
    whole, parts, _ = certificates["psd triplets, trace, G"]
    each = [checker.operations(*opened(path)) for path in parts]
    assert max(each) < checker.operations(*opened(whole))


def test_parts_are_at_most_as_many_as_rows(tmp_path):
    problem = made("map")
    solution = cm.solve(problem)
    for parts in (0, 13, 1.5):
        with pytest.raises(InputError, match="parts must be"):
            cm.write_certificate(tmp_path / "c.npz", problem, solution=solution, parts=parts)
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=solution, parts=12)
    paths = sorted(tmp_path.glob("c-*.npz"))
    assert len(paths) == 12
    assert (cm.verify(*paths).lower, cm.verify(*paths).upper) == (verdict.lower, verdict.upper)


def test_the_commands_take_parts(certificates, monkeypatch, capsys):
    _, parts, _ = certificates["map"]
    assert checker.main([str(path) for path in parts]) == 0
    assert second_checker.main(*map(str, parts)) == 0
    assert kernel.proofs.main(*map(str, parts)) == 0
    assert kernel.proofs.main(str(parts[0])) == 1
    capsys.readouterr()
    for files, code in ((parts, 0), (parts[:2], 1)):
        monkeypatch.setattr("sys.argv", ["convexmetric", "verify", *map(str, files)])
        try:
            ended = main() or 0
        except SystemExit as end:
            ended = end.code or 0
        assert ended == code
        assert ("are in no part" in capsys.readouterr().out) == (code == 1)
