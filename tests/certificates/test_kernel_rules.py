"""Every rule of the kernel: the files of tests/corpus, and others that the second checker judges as well."""

import contextlib
import contextvars
import copy
import hashlib
import io
import itertools
import json
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import second_checker as exact
from corpus.make import ATTACKS, contents
from forgery import archive, packed
from test_kernel_bounds import REGULARIZERS, RISKS, at_the_boundary, certificate, compared, matrices, part, proved

from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import Arrays, Ball, CertificateError, NotProven, Problem, files, lists

#: Files that are made for the reader of strangers, or too large for a quick test.
BEYOND = (
    "bz2-bomb", "wide", "tall", "crowded", "rest-of-many", "many-rankings", "all-pairs", "all-pairs-as-lists",
    "sum-of-all-pairs", "features", "title-ansi", "title-bidi", "title-lines", "title-surrogate",
)  # fmt: skip


@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if attack.name not in BEYOND], ids=lambda one: one.name
)
def test_the_kernel_says_of_the_corpus_what_its_folders_say(attack, tmp_path):
    made = attack.make()
    if isinstance(made, bytes):
        if attack.folder == "refused":
            pytest.skip("a container")
        path = tmp_path / "c.npz"
        path.write_bytes(made)
        made = kernel.contents(path)
    if attack.folder == "refused":
        with pytest.raises(CertificateError):
            proved(made)
        return
    found = proved(made)
    assert bool(found.reason) == (attack.folder == "not_proven"), found.reason
    true = exact.judge(archive(packed(made)))
    if attack.folder == "accepted":
        assert true.accepted
    for mine, its, sign in ((found.lower, true.lower, 1), (found.upper, true.upper, -1)):
        assert mine is None or (its is not None and (its - mine) * sign >= 0)


#: What stands in the place of a value of a description: of other types, and at or beyond the ends of its range.
VALUES = [None, True, False, -1, 0, 2, 41, 10**6 + 1, 2**40, "0", "-1", "x", "1/0", [], {}, {"kind": "zero"}]


def tables(document, at=()):
    """All tables and lists of a description, by their way from the top."""
    if isinstance(document, (dict, list)):
        yield at
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from tables(document[key], (*at, key))


def at_the_end(document, way):
    for key in way:
        document = document[key]
    return document


def variants(document, parts=("problem", "dual", "claimed")):
    """Descriptions with a key less, a key more, or another value."""
    for way in tables(document):
        if way and way[0] not in parts:
            continue
        table = at_the_end(document, way)
        if isinstance(table, dict) and way:
            changed = copy.deepcopy(document)
            at_the_end(changed, way)["note"] = 1
            yield f"{way} note", changed
        for key in (table if isinstance(table, dict) else range(len(table))) if way else ():
            changed = copy.deepcopy(document)
            del at_the_end(changed, way)[key]
            yield f"{way} without {key}", changed
            for value in VALUES:
                changed = copy.deepcopy(document)
                at_the_end(changed, way)[key] = value
                yield f"{way} {key} = {value}", changed


def agreed(contents, what):
    """What the kernel does not refuse, the second checker does not refuse. (That no more is refused, bounds show.)"""
    try:
        proved(contents)
    except CertificateError:
        return
    try:
        exact.Part(archive(packed(contents))).says()
    except exact.Refused as error:
        raise AssertionError(f"{what} is not refused: {error}") from error


def changed_arrays(arrays):
    """Arrays of another length, shape or type, with numbers out of range, missing, or more of them."""
    yield "one more", arrays | {"more": np.zeros(1)}
    for name, array in arrays.items():
        yield f"{name} missing", {key: other for key, other in arrays.items() if key != name}
        whole = array.dtype.kind == "i"
        others = [
            array[:-1],
            array[None],
            array.astype("<f8" if whole else "<i8"),
            array.astype("<i4" if whole else "<f4"),
        ]
        for worst in (-1, 2**40 - 1, 2**53, 2**62) if whole else (np.nan, np.inf, -1.0):
            others.append(array.copy())
            others[-1].flat[array.size - 1 :] = worst
        if array.ndim == 2:
            others += [array[:, :-1], array[:, ::-1]]
        if array.ndim == 1 and array.size > 1:
            others += [array[::-1], np.append(array, array[-1:])]
        for at, other in enumerate(others):
            yield f"{name} {at}", arrays | {name: np.ascontiguousarray(other)}


SMALL = [
    "one choice",
    "choices of weights",
    "few trials",
    "hinges",
    "all pairs",
    "lists",
    "lists of weights",
    "logistic list",
    "map",
    "precision, printed",
    "two",
    "worst lists",
    "worst of map",
    "worst comparisons",
    "sum of worst",
    "boxes",
    "linear box",
]


@pytest.mark.parametrize(
    "risk", [pytest.param(risk, marks=[pytest.mark.integration] * (k % 2)) for k, risk in enumerate(SMALL)]
)
def test_descriptions_of_risks_are_refused_as_the_format_says(risk):
    document, arrays = certificate(np.random.default_rng(3), risk, "psd", "zero")
    for what, changed in variants(document, ("problem", "dual") if risk == "two" else ("problem", "dual", "claimed")):
        # Sizes beyond what can be held; and numbers of queries that the format has no limit for.
        if not any(f"{key} = {n}" in what for key in ("features", "queries") for n in (10**6 + 1, 2**40)):
            agreed((changed, arrays), what)
    for what, changed in changed_arrays(arrays):
        agreed((document, changed), what)


@pytest.mark.parametrize(
    "regularizer", [pytest.param(own, marks=[pytest.mark.integration] * (k % 2)) for k, own in enumerate(REGULARIZERS)]
)
def test_descriptions_of_regularizers_are_refused_as_the_format_says(regularizer):
    at = list(REGULARIZERS).index(regularizer)
    forms = regularizer in ("gram", "form", "squared points")
    entries = any(word in regularizer for word in ("entries", "bound", "row norms", "inverse trace"))
    cone = (
        "diagonal"
        if forms
        else ["psd", "block-diagonal"][at % 2]
        if entries
        else ["psd", "diagonal", "block-diagonal"][at % 3]
    )
    document, arrays = certificate(np.random.default_rng(4), "few", cone, regularizer)
    for what, changed in variants(document, ("problem", "dual")):
        if "regularizer" in what:
            agreed((changed, arrays), what)
    for what, changed in changed_arrays(arrays):
        agreed((document, changed), what)


def test_parts_of_several_certificates_are_refused():
    """Parts with other claims, another metric or another share; their hints may have other bits."""
    document, arrays = certificate(np.random.default_rng(5), "lists", "psd", "trace")
    risk = Problem(document, Arrays(arrays)).risk
    first, second = part(document, arrays, risk, 0, 1), part(document, arrays, risk, 1, 3)
    assert proved(first, second).lower is not None
    turned = {key: second[0]["problem"][key] for key in reversed(second[0]["problem"])}
    assert proved(first, (second[0] | {"problem": turned}, second[1])).lower is not None
    assert proved(first).reason == "the rows 1 to 2 are in no part"
    assert proved(second).reason == "the rows 0 to 0 are in no part"
    assert proved(first, second, second).reason == "the rows 1 to 2 are in more than one part"
    for rows in (
        [0], [0, 1, 1], "01", {}, None, [-1, 1], [0, 0], [1, 0], [3, 3], [3, 4], [0, 4], [0.0, 1],
        [False, 1], [0, True],
        [1, 1], {"0": 1, "1": 2},
    ):  # fmt: skip
        changed = copy.deepcopy(first[0])
        changed["dual"]["rows"] = rows
        with pytest.raises(CertificateError):
            proved((changed, first[1]))
    beyond = copy.deepcopy(document)
    beyond["dual"]["rows"] = [0, len(risk) + 1]
    with pytest.raises(CertificateError, match="end of rows"):
        proved((beyond, arrays))
    finer = copy.deepcopy(second[0])
    finer["dual"]["bits"] += 1
    doubled = {name: array * 2 if name.endswith("sums") else array for name, array in second[1].items()}
    assert proved(first, (finer, doubled)).lower == proved(first, second).lower
    for change in (
        lambda document: document["claimed"].update(lower="-1"), lambda document: document["dual"].update(share="1/7"),
        lambda document: document["problem"].update(constant="1"),
    ):  # fmt: skip
        other = copy.deepcopy(second[0])
        change(other)
        with pytest.raises(CertificateError, match="no parts of one certificate"):
            proved(first, (other, second[1]))
    for name in ("factor", "points", "linear"):
        with pytest.raises(CertificateError, match="no parts of one certificate"):
            proved(first, (second[0], second[1] | {name: second[1][name] * 2.0}))
    with pytest.raises(CertificateError, match="nothing speaks of"):
        proved((first[0], first[1] | {"slope": np.eye(3)}), (second[0], second[1] | {"slope": np.eye(3)}))


def test_claims_are_judged_by_what_is_proven():
    contents = certificate(np.random.default_rng(6), "hinges", "psd", "trace")
    found = proved(contents)
    hair = Fraction(1, 10**30)
    for lower, upper, wrong in ((0, 0, ""), (hair, 0, "lower"), (0, -hair, "upper"), (hair, -hair, "lower upper")):
        document = contents[0] | {"claimed": {"lower": str(found.lower + lower), "upper": str(found.upper + upper)}}
        again = proved((document, contents[1]))
        assert all(word in again.reason for word in wrong.split())
        assert bool(again.reason) == bool(wrong)
        assert (again.lower, again.upper) == (found.lower, found.upper)
    # One bound that is not proven leaves the other.
    document = copy.deepcopy(contents[0])
    document["dual"]["share"] = "2"
    again = proved((document, contents[1]))
    assert again.lower is None
    assert again.upper == found.upper
    assert "lower bound: the share" in again.reason


def test_bounds_are_rounded_outward_and_have_the_constant():
    document, arrays = certificate(np.random.default_rng(6), "hinges", "psd", "trace")
    of = Arrays(arrays)
    problem, found = Problem(document, of), proved((document, arrays))
    factor, share, given = problem.read(document["dual"], of)
    upper = problem.upper(problem.risk.value(factor), factor, given)
    lower = problem.lower(problem.risk.dual(document["dual"], of), share, given, upper)
    constant = Fraction(-22, 7)
    for raw, rounded, sign in ((lower + constant, found.lower, 1), (upper + constant, found.upper, -1)):
        assert 0 < (raw - rounded) * sign <= abs(raw) / 10**16


def test_statements_have_a_hash_of_their_own():
    document, arrays = certificate(np.random.default_rng(7), "hinges", "psd", "norm")
    problem = Problem(document, Arrays(arrays))
    assert set(problem.arrays) == {"points", "triplets", "terms", "linear", "prior"}
    lines = [json.dumps(document["problem"], sort_keys=True, separators=(",", ":"))]
    lines += [f"{name} {kernel.digest(arrays[name])}" for name in sorted(problem.arrays)]
    assert problem.sha256 == hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-7/3", Fraction(-7, 3)), ("1" + "0" * 300, 10**300), ("7/0021", Fraction(1, 3)), ("1" * 301, None),
     ("1/0", None), ("1" * 401, None), ("-1" + "0" * 301, None), ("0" * 400, 0),
     ("1/" + "9" * 400, None), ("+1", None), (" 1", None), (1, None)],
)  # fmt: skip
def test_rationals(text, value):
    if value is None and text != "1/" + "9" * 400:
        with pytest.raises(CertificateError):
            files.rational(text, "it")
    else:
        assert files.rational(text, "it") == Fraction(text)


def test_the_ends_of_ranges():
    for text in ("0", "-1", f"1/{10**200}", str(10**200)):
        with pytest.raises(CertificateError, match="positive"):
            files.positive(text, "it")
    for text in (f"2/{10**200}", str(10**200 - 1)):
        assert files.positive(text, "it") == Fraction(text)
    assert files.natural(3, "it", 3, 4) == 3
    for value in (2, 4, True, 3.0, "3", None):
        with pytest.raises(CertificateError, match="integer"):
            files.natural(value, "it", 3, 4)
    assert files.natural(0, "it") == 0
    with pytest.raises(CertificateError):
        files.natural(2**40, "it")
    assert files.natural(2**40 - 1, "it") == 2**40 - 1


@pytest.mark.parametrize("width", [2, 3], ids=["pairs", "triplets"])
@pytest.mark.parametrize(("T", "seed"), [*((3, seed) for seed in range(8)), (30000, 8)])
@pytest.mark.parametrize("cancel", [False, True])
def test_weights_of_pairs_of_points_contain_the_exact_ones(width, T, seed, cancel, monkeypatch):
    """Of comparisons that are there once or often, of weights that are no floats; entries of no pair are zero.

    Where they cancel, positive ones come first, so that sums are rounded that are large on the way.
    """

    def spread(W, Q, X):
        """Weights of points that are their own numbers, in their places among all."""
        mid, rad = np.zeros((2, 4, 4))
        at = np.ix_(Q[:, 0].astype(int), X[:, 0].astype(int))
        mid[at], rad[at] = W.mid, W.rad
        return Ball(mid, rad)

    monkeypatch.setattr(kernel.points, "laplacian", lambda cone, Q, X, W: spread(W, Q, X))
    rng, one = np.random.default_rng(seed), Fraction(2**53 + 3, 2**53)
    weights = [one, -one if cancel else Fraction(-1, 3)]
    terms = [
        {"loss": "hinge", "weight": str(abs(weight)), "margin": "1", "sign": 1 if weight > 0 else -1}
        for weight in weights
    ]
    rows = np.tile([[0, 1, 2][:width], [2, 1, 0][:width], [1, 0, 2][:width]], (T // 3, 1))
    slopes, kinds = rng.random(T), (np.arange(T) >= T // 2 if cancel else np.arange(T) % 2).astype(np.int64)
    # Weights of the same rounding error everywhere, beside others.
    slopes[: 0 if cancel or T == 3 else T // 2] = 1.0
    of = Arrays(
        {"points": np.arange(4.0)[:, None], "terms": kinds, "slopes": slopes}
        | {"pairs" if width == 2 else "triplets": rows}
    )
    cone = kernel.Cone({"cone": "psd", "features": 1}, of)
    W = kernel.ListedRisk({"kind": "listed comparisons", "terms": terms}, of, cone).dual({"kind": "slopes"}, of).S
    true, counts, sizes = np.full((4, 4), Fraction(0)), np.zeros((4, 4)), np.full((4, 4), Fraction(0))
    for (i, *ends), a, kind in zip(rows.tolist(), slopes.tolist(), kinds.tolist(), strict=True):
        u = Fraction(a) * weights[kind]
        for end, sign in zip(ends, (-1, 1) if width == 3 else (1,), strict=True):
            true[i, end] += sign * u
            counts[i, end] += 1
            sizes[i, end] += abs(u)
    rads = np.broadcast_to(W.rad, W.mid.shape)
    for at in np.ndindex(4, 4):
        assert abs(Fraction(float(W.mid[at])) - true[at]) <= Fraction(float(rads[at]))
        assert (rads[at] == 0.0) == (counts[at] == 0)
    # No wider than the largest entry asks for.
    most = int(counts.max())
    assert rads.max() <= 1.01 * 2.0**-53 * (3 * most + (most + 1) * float(sizes.max()))


def test_weights_of_queries_and_items_contain_the_exact_ones(monkeypatch):
    monkeypatch.setattr(kernel.lists, "laplacian", lambda cone, Q, X, W: W)
    for name in ("lists of weights", "map", "auc", "logistic lists", "choices", "choices of weights"):
        document, arrays = certificate(np.random.default_rng(9), name, "psd", "zero")
        risk = document["problem"]["risk"]
        risk["C" if "C" in risk else "weight"] = f"{2**53 + 3}/{2**52}"
        of = Arrays(arrays)
        problem = Problem(document, of)
        W = problem.risk.dual(document["dual"], of).S
        second = exact.Part(archive(packed((document, arrays))))
        _, S = second.risk.dual(document["dual"], second.file)
        true, at = np.full(W.mid.shape, Fraction(0)), 0
        for q, (near, far) in enumerate(zip(second.risk.near, second.risk.far, strict=True)):
            for item in [*near, *far] if "choices" in name else [*far, *near]:
                true[q, item] += S[at][0]
                at += 1
        rads = np.broadcast_to(W.rad, W.mid.shape)
        for place in np.ndindex(W.mid.shape):
            assert abs(Fraction(float(W.mid[place])) - true[place]) <= Fraction(float(rads[place]))
        assert (rads.max(axis=1) >= 2.0**-53 * np.abs(W.mid).max(axis=1)).all()
        assert (rads.max(axis=1) <= 8 * 2.0**-53 * np.abs(W.mid).max(axis=1) + 1e-200).all()


def test_products_of_integers_and_units_err_by_the_radius_of_the_unit_and_a_rounding(monkeypatch):
    monkeypatch.setattr(kernel.lists, "laplacian", lambda cone, Q, X, W: W)
    document, arrays = certificate(np.random.default_rng(9), "lists", "psd", "zero")
    risk, rng, most = Problem(document, Arrays(arrays)).risk, np.random.default_rng(0), 10**9 + 7
    for mid, rad in np.column_stack([rng.random(8), 1e-15 * rng.random(8) * ([0, 1] * 4)]).tolist():
        says = ((np.full(p, most), np.zeros(n, int), Ball(0.0)) for p, n in zip(risk.p, risk.n, strict=True))
        found = risk._minorant(says, Ball(np.full(3, mid), rad)).S.rad.max()
        true = (Fraction(rad) + Fraction(mid) / 2**53) * most
        assert true <= Fraction(float(found)) <= true * (1 + Fraction(1, 2**19))


@pytest.mark.parametrize(
    "risk",
    ["hinges", "map", "lists", "all pairs", "choices", "three chosen of five", "combinations", "sparse triplets"],
)
def test_blocks_of_rows_change_nothing(risk, monkeypatch):
    contents = certificate(np.random.default_rng(10), risk, "diagonal" if "sparse" in risk else "psd", "trace")
    whole = proved(contents)
    assert whole.upper is not None
    # Few comparisons at a time, or few pairs or queries of many.
    for comparisons, points, weights, pairs in ((4, 32, 32, 3), (64, 1, 1, 1), (4, 2**21, 2**23, 2)):
        monkeypatch.setattr(kernel.comparisons, "BLOCK", comparisons)
        monkeypatch.setattr(kernel.points, "BLOCK", points)
        monkeypatch.setattr(kernel.points, "PAIRS", pairs)
        for module in (kernel.points, kernel.lists):
            monkeypatch.setattr(module, "WEIGHTS", weights)
        parts = proved(contents)
        for mine, its in ((parts.lower, whole.lower), (parts.upper, whole.upper)):
            assert mine is its is None or abs(float(mine - its)) <= 1e-12 * max(1.0, abs(float(its)))


def test_blocks_hold_as_much_as_they_may(monkeypatch):
    assert [kernel.points.rows_at_once(each, 240) for each in (0, 20, 400)] == [15, 12, 1]
    for count, step, stops in ((0, 3, [0]), (1, 1, [1]), (3, 3, [3]), (4, 3, [3, 4])):
        assert kernel.points.blocks(count, step) == [slice(*ends) for ends in zip([0, *stops[:-1]], stops, strict=True)]
    # All pairs of two rows, or five pairs if these have fewer.
    monkeypatch.setattr(kernel.points, "WEIGHTS", 2 * 20)
    monkeypatch.setattr(kernel.points, "PAIRS", 5)
    i = np.random.default_rng(0).permutation(np.repeat([3, 1, 4, 0, 7, 9, 11], [1, 7, 1, 1, 1, 4, 6]))
    found = kernel.points._blocks(i, i + 1, Ball(np.ones(len(i))), 20)
    assert [(rows.tolist(), W.mid.sum()) for rows, _, W in found] == [([0, 1], 8), ([3, 4, 7, 9], 5), ([9, 11], 8)]
    # Two trials of five pairs.
    monkeypatch.setattr(kernel.comparisons, "BLOCK", 2 * 5 * 16)
    taken, listed = [], kernel.points.Images.listed
    monkeypatch.setattr(kernel.points.Images, "listed", lambda self, i, j: taken.append(len(i)) or listed(self, i, j))
    proved(certificate(np.random.default_rng(10), "three chosen of five", "psd", "trace"))
    assert taken == [10, 10]


def test_radii_of_sums_and_squares_are_not_below_the_exact_ones():
    rads = np.random.default_rng(0).random(600)
    found = kernel.points.binned(Ball(np.zeros(600), rads), np.arange(600) % 6, 6).rad
    for at, rad in enumerate(found.tolist()):
        assert Fraction(rad) >= sum(map(Fraction, rads[at::6].tolist()))
    for reach, rad in zip(rads.tolist(), kernel.points.widened(rads).tolist(), strict=True):
        assert Fraction(rad) >= Fraction(reach) ** 2


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_squared_differences_of_sparse_rows_contain_the_exact_ones(size, monkeypatch):
    rng = np.random.default_rng(30)
    dense = size * rng.standard_normal((6, 12)) * (rng.random((6, 12)) < 0.6)
    # A row of one entry, in the last column, and a row of all.
    dense[0, :-1], dense[0, -1], dense[5] = 0.0, size, size * np.arange(1.0, 13.0)
    at = np.nonzero(dense)
    starts = np.append(0, np.cumsum(np.count_nonzero(dense, axis=1)))
    rows = kernel.SparseRows(Arrays({"it_data": dense[at], "it_indices": at[1], "it_indptr": starts}), "it", 12)
    i, j = np.triu_indices(6)
    found = np.zeros((len(i), 12))
    # Three pairs at a time, of two rows of up to 12 entries.
    monkeypatch.setattr(kernel.points, "BLOCK", 3 * 2 * 12)
    assert [some.stop - some.start for some, *_ in rows.squares(i, j)] == [3] * 7
    for some, places, columns, V in rows.squares(i, j):
        for place, column, mid, rad in zip(places.tolist(), columns.tolist(), V.mid, V.rad, strict=True):
            a, b = dense[i[some][place], column], dense[j[some][place], column]
            assert abs(Fraction(float(mid)) - (Fraction(float(a)) - Fraction(float(b))) ** 2) <= Fraction(float(rad))
            assert rad <= 4.0 * 2.0**-53 * mid + 1e-200
            found[some][place, column] = mid
    np.testing.assert_allclose(found, (dense[i] - dense[j]) ** 2, rtol=1e-14)


#: What stands in the place of an array of sparse rows of 6 or 7 rows and 3 or 7 columns, and what refuses it.
MALFORMED = {
    "no rows": lambda indptr, indices, data: (indptr[:0], indices, data),
    "from one on": lambda indptr, indices, data: (np.append(1, indptr[1:]), indices, data),
    "one entry too few": lambda indptr, indices, data: (np.append(indptr[:-1], indptr[-1] - 1), indices, data),
    "decreasing": lambda indptr, indices, data: (indptr[[0, 3, 2, 1, *range(4, len(indptr))]], indices, data),
    "columns in disorder": lambda indptr, indices, data: (indptr, np.append(indices[[1, 0]], indices[2:]), data),
    "disorder at the end": lambda indptr, indices, data: (np.append(0 * indptr[1:], 3), np.array([0, 2, 1]), data[:3]),
    "a column twice": lambda indptr, indices, data: (indptr, np.append(indices[[1, 1]], indices[2:]), data),
    "beyond the columns": lambda indptr, indices, data: (indptr, np.append(indices[:-1], 7), data),
    "a value too few": lambda indptr, indices, data: (indptr, indices, data[:-1]),
    "not finite": lambda indptr, indices, data: (indptr, indices, np.append(data[:-1], np.nan)),
}


@pytest.mark.parametrize("flaw", MALFORMED)
@pytest.mark.parametrize(("risk", "name"), [("combinations", "matrix"), ("sparse triplets", "points")])
def test_sparse_rows_that_are_malformed_are_refused(risk, name, flaw):
    document, arrays = certificate(np.random.default_rng(31), risk, "diagonal", "trace")
    parts = [f"{name}_{part}" for part in ("indptr", "indices", "data")]
    # A first row of two entries.
    assert arrays[parts[0]][1] >= 2
    accepts((document, arrays), True)
    arrays |= dict(zip(parts, MALFORMED[flaw](*(arrays[part] for part in parts)), strict=True))
    accepts((document, arrays), False)
    with suppress(exact.TooLarge), pytest.raises(exact.Refused):
        exact.judge(archive(packed((document, arrays))))


def test_what_combinations_and_sparse_points_are_not_for_is_refused():
    rng = np.random.default_rng(32)
    for risk, cone, more in (
        ("sparse triplets", "psd", {}),
        ("sparse triplets", "diagonal", {"points": rng.standard_normal((7, 3))}),
        ("few", "psd", {"queries": rng.standard_normal((3, 3))}),
        ("few", "psd", {f"matrix_{name}": np.zeros(1, np.int64) for name in ("indptr", "indices")}),
    ):
        contents = certificate(rng, risk, cone, "trace")
        accepts((contents[0], contents[1] | more), False)
    document, arrays = matrices(rng, "triplets", "matrices", "frobenius")
    accepts((document, arrays), True)
    accepts((document, {name: array for name, array in arrays.items() if name != "queries"}), False)
    for column, row in ((0, 3), (1, 7), (2, 7)):
        triplets = arrays["triplets"].copy()
        triplets[2, column] = row
        accepts((document, arrays | {"triplets": triplets}), False)
    # There may be more queries than points.
    triplets[2] = 8, 6, 6
    accepts((document, arrays | {"triplets": triplets, "queries": rng.standard_normal((9, 3))}), True)


def test_other_coefficients_are_another_problem():
    """What is feasible by a hair is not if a coefficient makes the dual matrix larger."""
    contents = certificate(np.random.default_rng(33), "combinations", "psd", "trace")
    K = compared(contents)
    document, arrays = next(changed for hair, changed in at_the_boundary(contents, K) if hair > 0)
    found = proved((document, arrays))
    document["claimed"] = {"lower": str(found.lower), "upper": str(found.upper)}
    assert not proved((document, arrays)).reason
    for at in range(len(arrays["matrix_data"])):
        data, row = arrays["matrix_data"].copy(), np.searchsorted(arrays["matrix_indptr"], at, side="right") - 1
        data[at] += 1e-3 * document["problem"]["risk"]["terms"][arrays["terms"][row]]["sign"]
        changed = document, arrays | {"matrix_data": data}
        assert proved(changed).lower is None
        assert not exact.judge(archive(packed(changed))).accepted


def exact_worst(gain, x, z):
    """The programme of theorem 2 in fractions."""
    p, n = gain.shape[0], gain.shape[1] - 1
    best = [Fraction(0)] * (n + 1)
    for i in range(p):
        above = [sum((Fraction(z[j]) - Fraction(x[i]) for j in range(b)), Fraction(0)) for b in range(n + 1)]
        own = [Fraction(float(gain[i, b])) + Fraction(2, p * n) * above[b] for b in range(n + 1)]
        least = None
        for b in range(n + 1):
            here = own[b] + best[b]
            least = here if least is None else min(least, here)
            best[b] = least
    return 1 - best[n]


@pytest.mark.parametrize("seed", range(24))
def test_worst_rankings_contain_the_exact_ones(seed):
    """Where positives or negatives are far off, or all of them, and gains have radii."""
    rng, (p, n) = np.random.default_rng(seed), [(1, 5), (4, 1), (5, 7), (3, 4)][seed % 4]
    x, z = np.sort(rng.random(p)), np.sort(rng.random(n))
    # All positives far from negatives, all but one, or none; negatives that are far above are in no worst ranking.
    x[min(seed % 3, p) :] += 1e9 * (seed % 3 < 2)
    z[-1] += 1e6 * (seed % 2)
    gain = rng.random((p, n + 1)) / p
    for rad in (np.zeros(()), 1e-3 * rng.random((p, n + 1))):
        value, error = kernel.lists.worst_ranking(Ball(gain, rad), x, z)
        for side in (-1, 0, 1):
            moved = exact_worst(gain + side * rad, x, z)
            assert abs(Fraction(value) - moved) <= Fraction(error) + Fraction(1, 2**50) * abs(side)
        # What the docstring derives, no less and hardly more.
        D = max(x[-1] - x[0], np.abs(z - x[0]).max())
        derived = p * Fraction(float(rad.max())) + 8 * (n + p + 16) * Fraction(1, 2**53) * (1 + Fraction(float(D)))
        assert derived <= Fraction(error) <= derived * (1 + Fraction(3, 2**21)) + Fraction(1, 2**899)


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_hinges_contain_the_exact_ones(seed):
    rng, (p, n) = np.random.default_rng(seed), [(2, 3), (4, 1), (5, 700)][seed % 3]
    offset = [0.0, 2.0**30, -(2.0**30)][seed % 4 % 3]
    x, z = rng.random(p) + offset, np.sort(rng.random(n) + offset)
    # A near item or a far one that is far from all others, on either side.
    x[0] += [0.0, 1e8, -1e8, 0.0][seed % 4]
    z[-1] += [1e9, 0.0][seed % 2]
    for rad in (0.0, 1e-3):
        value, error = lists.sum_of_hinges(x, z, Ball(0.3, rad))
        for side in (-1, 1):
            t = [Fraction(one) + Fraction(0.3) + side * Fraction(rad) for one in x.tolist()]
            true = sum((max(Fraction(0), a - Fraction(b)) for a in t for b in z.tolist()), Fraction(0))
            assert abs(Fraction(value) - true) <= Fraction(error)
        tops, u = x + 0.3, Fraction(1, 2**53)
        D = max(np.abs(tops - z[0]).max(), z[-1] - z[0])
        gamma = (n + p + 8) * u / (1 - (n + p + 8) * u)
        derived = p * n * (Fraction(rad) + u * Fraction(float(np.abs(tops).max())) + 2 * gamma * Fraction(float(D)))
        assert derived <= Fraction(error) <= derived * (1 + Fraction(3, 2**21))


def test_the_sums_of_hinges_lose_digits_of_ends_and_of_sums():
    """Ends that are rounded, of numbers that differ by little; and many sums that are rounded one after the other."""
    x, z = np.array([2.0**30 + 0.1]), 2.0**30 + np.array([0.0, 0.2, 0.25])
    value, error = lists.sum_of_hinges(x, z, Ball(0.3))
    true = sum((max(Fraction(0), Fraction(x[0]) + Fraction(0.3) - Fraction(b)) for b in z.tolist()), Fraction(0))
    assert abs(Fraction(value) - true) > Fraction(1, 2**26)
    assert abs(Fraction(value) - true) <= Fraction(error)
    z = np.sort(np.random.default_rng(0).random(20000))
    value, error = lists.sum_of_hinges(np.array([0.0, 0.5]), z, Ball(1.0))
    true = sum((max(Fraction(0), Fraction(t) - Fraction(b)) for t in (1.0, 1.5) for b in z.tolist()), Fraction(0))
    assert Fraction(1, 2**45) < abs(Fraction(value) - true) <= Fraction(error)


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_slopes_and_majorised_vectors(seed):
    """By their definitions, of numbers in any order, with equal sums and without."""
    rng, one = np.random.default_rng(seed), 3
    p, n = rng.integers(1, 5, 2)
    a = rng.integers(0, one + 1, (p, n))
    # All of it in one place, wherever that stands.
    piled = a.sum() * (np.arange(p) == rng.integers(p))
    for r, c in ((piled, a.sum(0)), (np.array([0, 4]), np.array([4])), (np.array([0, 3, 1]), np.array([3, 1])),
                 (a.sum(1), a.sum(0)), (rng.integers(0, n * one + 1, p), a.sum(0)), (a.sum(1), a.sum(0) + 1),
                 (rng.multinomial(a.sum(), np.ones(p) / p), rng.multinomial(a.sum(), np.ones(n) / n))):  # fmt: skip
        fits = r.sum() == c.sum()
        fits &= all(np.sort(r)[::-1][:k].sum() <= np.minimum(c, k * one).sum() for k in range(1, len(r) + 1))
        assert kernel.lists.sums_of_slopes(r, c, one) == fits
    whole = np.sort(rng.integers(0, 9, n))[::-1]
    for slopes in (
        whole,
        rng.permutation(whole),
        rng.multinomial(whole.sum(), np.ones(n) / n),
        whole - (np.arange(n) == 0),
    ):
        fits = slopes.sum() == whole.sum() and all(
            np.sort(slopes)[::-1][:k].sum() <= whole[:k].sum() for k in range(1, n + 1)
        )
        assert kernel.lists.majorised(slopes, whole) == fits


def test_the_largest_k_of_short_lists():
    document, arrays = certificate(np.random.default_rng(13), "precision, printed", "psd", "trace")
    for k, fits in ((10**6, True), (10**6 + 1, False)):
        document["problem"]["risk"]["k"] = k
        accepts((document, arrays), fits)


@pytest.mark.parametrize("risk", ["lists", "lists of weights", "auc", "map", "logistic list"])
def test_risks_of_points_far_from_the_origin_contain_the_exact_ones(risk):
    """Distances lose all but a few digits, and say so."""
    for seed in range(4):
        document, arrays = certificate(np.random.default_rng(seed), risk, "psd", "zero")
        for name in ("points", "queries"):
            if name in arrays:
                # All of them, or some: their distances have the largest errors of a query.
                arrays[name][:: 1 + seed % 2] += 1e7
        of = Arrays(arrays)
        problem = Problem(document, of)
        value, true = problem.risk.value(arrays["factor"]), exact.Part(archive(packed((document, arrays)))).costs()
        assert value.lower() <= true.low
        assert true.high <= value.upper()
        assert abs(Fraction(float(value.mid)) - true.low) > 1e-6


@pytest.mark.parametrize(
    ("risk", "name", "most"),
    [
        ("logistic list", "slopes", 2**20),
        ("map", "weights", 2**20),
        ("map", "steps", 3),
        ("map", "near_sums", 2**53 - 1),
        ("one choice", "probabilities", 2**20),
        ("odd ones out", "probabilities", 2**20),
    ],
)
def test_the_largest_integers_of_dual_points(risk, name, most):
    """The largest is read, whether it proves something or not; one more is refused."""
    for value, fits in ((most, True), (most + 1, False)):
        document, arrays = certificate(np.random.default_rng(17), risk, "psd", "trace")
        arrays[name].flat[0] = value
        accepts((document, arrays), fits)


def test_triangles_and_symmetric_matrices():
    for cone, fits, not_so in (
        ("diagonal", [[1.0, 2.0]], [[1.0, 0.0], [1.0, -1.0], [0.0, 0.0]]),
        ("psd", [[[1.0, -5.0], [0.0, 2.0]]], [[[1.0, 5.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, 2.0]],
         [[1.0, 0.0], [1.0, 1.0]]]),
    ):  # fmt: skip
        of = kernel.Cone({"cone": cone, "features": 2}, Arrays({}))
        for found in fits:
            np.testing.assert_array_equal(of.triangle(Arrays({"it": np.array(found)}), "it"), found)
        for found in not_so:
            with pytest.raises(CertificateError, match="zero below its diagonal"):
                of.triangle(Arrays({"it": np.array(found)}), "it")


BOXES = {
    "hinge": (0.0, 1.0),
    "absolute": (-1.0, 1.0),
    "logistic": (0.0, 1.0),
    "hard": (0.0, 1e9),
    "squared": (-1e9, 1e9),
}


@pytest.mark.parametrize("loss", BOXES)
def test_boxes_of_slopes(loss):
    """The ends of the table of the format, and what is beyond them by an ulp."""
    low, high = BOXES[loss]
    document, arrays = certificate(np.random.default_rng(18), "few", "psd", "trace")
    document["problem"]["risk"]["terms"][0] |= {"loss": loss, "weight": "1"}
    of = Arrays(arrays)
    risk = Problem(document, of).risk
    beyond = [np.nextafter(end, 2 * end if end else -1.0) for end in (low, high) if abs(end) < 1e9]
    for slope, fits in ((low, True), (high, True), *((end, False) for end in beyond)):
        arrays["slopes"] = np.array([0.5, slope])
        if fits:
            risk.dual({"kind": "slopes"}, Arrays(arrays))
        else:
            with pytest.raises(NotProven, match="outside of its box"):
                risk.dual({"kind": "slopes"}, Arrays(arrays))


def exact_box(lo, hi, kappa):
    return exact.Box(*(None if end is None else Fraction(end) for end in (lo, hi)), Fraction(kappa))


def box_of(lo, hi, kappa):
    ends = {name: str(end) for name, end in (("low", lo), ("high", hi)) if end is not None}
    return kernel.LOSSES["box"]({**ends, "curvature": str(kappa)})


#: Ends and curvatures: with both ends, with one, with none; around zero, above and below it, of one number.
SHAPES = [
    (lo, hi, kappa)
    for lo, hi in (
        ("-1/3", "2/7"), ("0", "5/3"), ("-7/3", "0"), ("1/3", "7/2"), ("-3", "-1/7"), ("2/3", "2/3"), ("0", None),
        ("1/7", None), ("-2", None), (None, "0"), (None, "1/5"), (None, "-4"), (None, None),
    )
    for kappa in ("0", "1/2", "3", "1/1000003")
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_are_worth_what_their_largest_number_is(shape):
    """From above and little more, at the ends of balls, too; v(a) from below and little less."""
    box, true, mu = box_of(*shape), exact_box(*shape), Fraction(1, 3)
    lo, hi, kappa = shape
    near = [0.0, 0.334, 1e-9, -2.0, 5.0, 1e6, -1e6, *np.random.default_rng(0).uniform(-3, 3, 9)]
    for s, rad in itertools.product(near, (0.0, 1e-7, 0.5)):
        ends = [Fraction(s) + sign * Fraction(rad) for sign in (-1, 1)]
        beyond = kappa == "0" and ((hi is None and min(ends) < mu) or (lo is None and max(ends) > mu))
        if beyond:
            with pytest.raises(NotProven, match="hard margin"):
                box.value(Ball([s], rad), Ball.of([mu]))
            continue
        found = box.value(Ball([s], rad), Ball.of([mu]))[0].upper()
        worth = max(true.value(mu - end) for end in ends)
        assert worth <= found
        if not rad:
            assert float(found - worth) <= 1e-12 * max(1.0, abs(float(worth)), float(abs(mu - Fraction(s))) ** 2 / 1e3)
    slopes = np.array([true.into(Fraction(a)) for a in (-9, -1, 0, 1, Fraction(1, 9), 9)], dtype=float)
    slopes = np.clip(slopes, box.low, box.high)
    for a, worth in zip(slopes, [box.line(slopes, Ball.of([mu] * 6))[k] for k in range(6)], strict=True):
        line = mu * Fraction(a) - true.kappa * Fraction(a) ** 2 / 2
        assert worth.lower() <= line <= worth.upper()
        assert float(worth.rad) <= 1e-13 * (1.0 + a * a)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_floats_of_a_box_are_those_between_its_ends(shape):
    box, true = box_of(*shape), exact_box(*shape)
    assert box.negative == (true.into(Fraction(0)) != 0)
    for end, own, out in ((true.lo, box.low, -np.inf), (true.hi, box.high, np.inf)):
        if end is None:
            assert own == out
            continue
        inside = Fraction(own) >= end if out < 0 else Fraction(own) <= end
        beyond = Fraction(float(np.nextafter(own, out)))
        assert inside
        assert beyond < end if out < 0 else beyond > end


@pytest.mark.parametrize(("lo", "hi", "sign"), [(None, "1/5", 1.0), ("-2", None, -1.0)])
def test_every_margin_is_on_the_side_of_an_end(lo, hi, sign):
    box = box_of(lo, hi, "0")
    box.value(Ball([-sign, -2.0 * sign]), Ball([0.0, 0.0]))
    for one in (0, 1):
        with pytest.raises(NotProven, match="hard margin"):
            box.value(Ball(np.where(np.arange(2) == one, sign, -sign)), Ball([0.0, 0.0]))


def test_what_is_no_box_is_refused():
    for wrong in ({"curvature": "-1"}, {"curvature": "0", "low": "1", "high": "0"}, {"curvature": 1}):
        with pytest.raises(CertificateError):
            kernel.LOSSES["box"](wrong)
    # Of a curvature that is no float nothing is proven, and nothing false.
    with pytest.raises(NotProven, match="beyond floats"):
        box_of(None, None, "1/1" + "0" * 320).value(Ball([0.0]), Ball([1.0]))


def test_losses_with_a_name_are_boxes():
    s, mu = Ball([0.25, 2.0, 1.0], 1e-9), Ball.of([Fraction(4, 3), Fraction(1), Fraction(1)])
    a = np.array([0.25, 0.5, 1.0])
    for name, shape in (("hinge", ("0", "1", "0")), ("absolute", ("-1", "1", "0")), ("squared", (None, None, "1/2"))):
        one, other = kernel.LOSSES[name]({}), box_of(*shape)
        assert (one.low, one.high, one.negative) == (other.low, other.high, other.negative)
        np.testing.assert_array_equal(one.line(a, mu).mid, other.line(a, mu).mid)
        np.testing.assert_allclose(one.value(s, mu).above(), other.value(s, mu).above(), atol=1e-14)
        # Products with 0 and 1 are none, and take no room for rounding.
        assert name == "squared" or (one.line(a, mu).rad == (mu * a).rad).all()
        assert name == "squared" or (one.value(s, mu).rad == (mu - s).rad).all()
        assert (one.value(s, mu).rad <= 1.1e-9 * (1.0 + 2.0 * np.abs((mu - s).mid))).all()
    hard, kept = kernel.LOSSES["hard"]({}), box_of("0", None, "0")
    assert hard.constraint
    assert not kept.constraint
    with pytest.raises(NotProven):
        hard.value(Ball([1.0 + 1e-12], 2e-12), Ball([1.0]))
    assert hard.value(Ball([1.0 + 1e-12], 1e-13), Ball([1.0]))[0].upper() == 0


def test_a_hard_margin_has_the_weight_one_and_signs_are_one():
    document, arrays = certificate(np.random.default_rng(18), "few", "psd", "trace")
    term = document["problem"]["risk"]["terms"][0]
    for change, fits in (
        ({"loss": "hard", "weight": "1", "margin": "-50"}, True),
        ({"loss": "hard", "weight": "2"}, False),
        ({"loss": "hinge", "weight": "2"}, True),
        ({"sign": -1}, True),
        ({"sign": 2}, False),
        ({"sign": True}, False),
    ):
        before = dict(term)
        term |= change
        accepts((document, arrays), fits)
        term.clear()
        term |= before


@pytest.mark.parametrize("loss", kernel.LOSSES)
def test_terms_have_the_keys_of_their_loss(loss):
    own = {"curvature": "1", "low": "-1", "high": "2"} if loss == "box" else {}
    term = {"loss": loss, "weight": "1", "margin": "1", "sign": 1, **own}
    risk = kernel.ListedRisk
    assert isinstance(risk.loss(risk, term), kernel.LOSSES[loss])
    for key in ("note", *({"curvature", "low", "high"} - set(own))):
        with pytest.raises(CertificateError, match="unknown"):
            risk.loss(risk, term | {key: "1"})
    for key in set(term) - {"low", "high"}:
        with pytest.raises(CertificateError):
            risk.loss(risk, {name: value for name, value in term.items() if name != key})


@pytest.mark.parametrize("measure", kernel.MEASURES)
def test_measures_have_a_k_or_none(measure):
    at_k = measure in ("precision", "knn", "ndcg", "ndcg-log2")
    document, arrays = certificate(np.random.default_rng(3), "map", "psd", "trace")
    table = document["problem"]["risk"]
    table["measure"] = measure
    for more, fits in (({}, not at_k), ({"k": 2}, at_k), ({"short": "printed"}, False)):
        document["problem"]["risk"] = table | more
        if fits:
            assert kernel.MEASURES[measure].needs_k == at_k
            Problem(document, Arrays(arrays))
        else:
            with pytest.raises(CertificateError, match=r"a k where|short can only"):
                Problem(document, Arrays(arrays))


def test_exponentials_contain_the_exact_ones():
    loss, mu = kernel.LOSSES["exponential"]({}), Fraction(2, 3)
    assert (loss.low, loss.high, loss.negative) == (0.0, np.inf, False)
    for s in (-250.0, -3.0, 0.0, 2.0 / 3.0, 1.0, 300.0):
        found, true = loss.value(Ball([s]), Ball.of([mu]))[0], exact.loss_of("exponential", Fraction(s), mu)
        assert found.lower() <= true.low
        assert true.high <= found.upper()
        assert float(found.rad) <= 1e-9 * float(found.mid)
    # It falls, so that far below numbers above it are those nearer.
    far = [loss.value(Ball(s), Ball(0.0)).upper() for s in (600.0, 690.0, 700.0, 1e9)]
    assert Fraction(1, 10**250) > far[0] > far[1] == far[2] == far[3] > 0
    with pytest.raises(NotProven, match="exponent"):
        loss.value(Ball([-701.0]), Ball([0.0]))
    a = np.array([0.0, 1e-300, 0.3, 1.0, 7.0, 1e6])
    found = loss.line(a, Ball.of([mu] * 6))
    for number, slope in enumerate(a.tolist()):
        true = exact._worth("exponential", Fraction(slope), mu)
        assert found[number].lower() <= true.low
        assert true.high <= found[number].upper()
        assert float(found.rad[number]) <= 1e-12 * max(1.0, abs(slope) * 20.0)
    with pytest.raises(NotProven, match="logarithm"):
        loss.line(np.array([1e-310]), Ball([0.0]))


@pytest.mark.parametrize("table", ["LOSSES", "MEASURES", "REGULARIZERS"])
def test_rules_name_the_theorem_that_they_rest_on(table):
    page = (Path(__file__).parents[2] / "docs" / "certificate-format.md").read_text("utf-8")
    for name, rule in getattr(kernel, table).items():
        assert f"\n**{rule.theorem} (" in page, name
        assert rule.__doc__, name


def test_base_classes_of_rules_say_nothing():
    loss, measure = kernel.Loss({}), kernel.Measure()
    for call in (
        lambda: loss.value(Ball([0.0]), Ball([0.0])),
        lambda: loss.line(np.zeros(1), Ball([0.0])),
        lambda: measure.gains(np.ones(1), np.zeros(1), 1, 1, 1),
    ):
        with pytest.raises(NotImplementedError):
            call()
    assert (loss.low, loss.high, loss.negative, loss.constraint) == (0.0, np.inf, False, False)


def test_the_area_is_a_sum_of_hinges():
    """Theorem 1: the maximum over rankings of its gains is that of hinges with the margin 1/2, times 2 / (p f)."""
    rng = np.random.default_rng(0)
    for p, f in ((1, 1), (2, 3), (4, 2)):
        x, z = np.sort(rng.uniform(0, 2, p)), np.sort(rng.uniform(0, 2, f))
        i, b = np.arange(1.0, p + 1.0)[:, None], np.arange(f + 1.0)
        gain = lists.gains(kernel.MEASURES["auc"](), 1, True, p, f, i, b)
        value, error = lists.worst_ranking(gain, x, z)
        hinges, wrong = lists.sum_of_hinges(x, z, Ball(0.5))
        assert abs(value - 2.0 / (p * f) * hinges) <= error + 2.0 / (p * f) * wrong
        assert gain.sum(0).mid[0] == pytest.approx(1.0)


def test_rows_are_compared_with_the_weight():
    document, arrays = certificate(np.random.default_rng(14), "few", "psd", "row norms")
    for weight, fits in (("5", False), ("5000000001/1000000000", True), ("49999/10000", False)):
        document["problem"]["regularizer"]["weight"] = weight
        omega = Problem(document, Arrays(arrays)).omega
        for row in range(3):
            Q = np.zeros((3, 3))
            Q[row] = [3.0, 0.0, -4.0]
            if fits:
                (P,), e = omega.slopes(Q, None)
                np.testing.assert_allclose(P.mid, (Q + Q.T) / 2)
                assert e.upper() == 0
            else:
                with pytest.raises(NotProven, match="a row of the slope"):
                    omega.slopes(Q, None)

    # Of a weight that may be 4 a row of 5 is too long, and one of 3.9 is not.
    omega.weight = kernel.Ball(5.5, 1.5)
    omega.slopes(np.diag([3.9, 0.0, 0.0]), None)
    with pytest.raises(NotProven, match="a row of the slope"):
        omega.slopes(np.diag([5.0, 0.0, 0.0]), None)


@pytest.mark.parametrize("kind", ["spectral bound", "row norms", "inverse trace", "entrywise"])
def test_regularizers_of_full_metrics_are_not_of_diagonal_ones(kind):
    cone = kernel.Cone({"cone": "diagonal", "features": 2}, Arrays({}))
    with pytest.raises(CertificateError, match="not of diagonal metrics"):
        kernel.REGULARIZERS[kind]({"kind": kind, "weight": "1"}, Arrays({"upper": np.ones(2)}), cone, None)


def test_bounds_and_blocks_of_metrics_are_judged_with_their_radii():
    """What a metric may differ by counts; and a hair beyond the boundary is not proven."""
    M = np.diag([1.0, 2.0, 3.0])
    document, arrays = certificate(np.random.default_rng(14), "few", "psd", "spectral bound")
    omega = Problem(document, Arrays(arrays)).omega
    omega.upper = M + 1e-9 * np.eye(3)
    assert omega.value(None, Ball(M), None).upper() == 0
    for worse in (Ball(M, 1e-9), Ball(M + 2e-9 * np.eye(3)), Ball(M + np.diag([0.0, 0.0, 2e-9]))):
        with pytest.raises(NotProven, match="the bound on the metric"):
            omega.value(None, worse, None)
    document, arrays = certificate(np.random.default_rng(14), "few", "psd", "inverse trace")
    omega = Problem(document, Arrays(arrays)).omega
    omega.C = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    N = omega.C @ np.linalg.inv(M) @ omega.C.T
    assert float(omega.value(None, Ball(M), (None, N + 1e-9 * np.eye(2))).mid) == pytest.approx(3 / 11 * np.trace(N))
    for wrong, above in ((Ball(M, 1e-7), N + 1e-9 * np.eye(2)), (Ball(M), N - 1e-9 * np.eye(2)), (Ball(M), 0.0 * N)):
        with pytest.raises(NotProven, match="the block matrix"):
            omega.value(None, wrong, (None, above))


def test_a_risk_has_terms():
    document, arrays = certificate(np.random.default_rng(19), "few", "psd", "zero")
    arrays |= {"triplets": np.zeros((0, 3), np.int64), "terms": np.zeros(0, np.int64), "slopes": np.zeros(0)}
    accepts((document, arrays), True)
    document["problem"]["risk"]["terms"] = []
    accepts((document, arrays), False)


def test_every_distance_is_within_the_error_of_its_row():
    X, Q = np.array([[0.1, 0.7], [1e7 + 0.3, 0.2], [0.4, -3.0]]), np.array([[0.3, 0.3], [0.6, 1e5]])
    for cone, factor in (("psd", np.array([[1.0, 1 / 3], [0.0, 0.1]])), ("diagonal", np.array([1 / 3, 0.0]))):
        of = kernel.Cone({"cone": cone, "features": 2}, Arrays({}))
        L = np.diag(factor) if cone == "diagonal" else factor.T
        rows = list(kernel.points.Images(of, factor, X, Q).rows())
        M = np.array([[Fraction(x) for x in row] for row in L.tolist()])
        M = M if cone == "diagonal" else M @ M.T
        for q, (row, error) in zip(Q, rows, strict=True):
            for x, found in zip(X, row, strict=True):
                v = np.array([Fraction(a) - Fraction(b) for a, b in zip(q.tolist(), x.tolist(), strict=True)])
                assert abs(Fraction(float(found)) - v @ M @ v) <= Fraction(error)


class Fixed:
    """Positives at ten, negatives at zero, known to an eighth."""

    def __init__(self, *given):
        pass

    def rows(self):
        yield np.array([0.0, 10.0, 0.0]), 0.125


@pytest.mark.parametrize("of", ["hinges", "rankings"])
def test_errors_of_distances_count_for_every_pair(of, monkeypatch):
    """Each of six pairs may have positives that are farther by an eighth, and negatives that are nearer."""
    monkeypatch.setattr(lists, "Images", Fixed)
    lists_of_two_and_three = {"near": [1, 1], "near_stops": [2], "far": [2, 2, 2], "far_stops": [3]}
    if of == "hinges":
        document, arrays = contents("lists", arrays=lists_of_two_and_three)
        needed = Fraction(6, 4)
    else:
        sums = {"near_sums": [0, 0], "far_sums": [0, 0, 0], "steps": [[0, 0]], "weights": [[0]]}
        document, arrays = contents("rankings-of-the-least-weight", arrays=sums | lists_of_two_and_three)
        needed = Fraction(2, 4)
    value = Problem(document, Arrays(arrays)).risk.value(arrays["factor"])
    assert needed <= Fraction(float(value.rad)) <= needed * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize(("far", "fits"), [(64, True), (65, False)])
def test_integers_of_a_query_are_floats(far, fits):
    """2^40 times 128 near and 64 negatives is 2^53."""
    arrays = {
        "near": [1] * 129, "near_stops": [128, 129], "near_sums": [0] * 129, "anchors": [0, 0],
        "far": [2] * (far + 1), "far_stops": [far, far + 1], "far_sums": [0] * (far + 1),
    }  # fmt: skip
    accepts(contents("lists", arrays=arrays, dual={"bits": 40}), fits)


def test_slopes_of_trace_norms_are_judged_by_eigenvalues():
    for cone, inside, beyond in (
        ("psd", np.diag([3.4, -3.4, 1.0]), 3.4 * np.ones((3, 3))),
        ("diagonal", np.array([3.5, -3.5, 0.0]), np.full(3, 3.6)),
    ):  # fmt: skip
        document, arrays = certificate(np.random.default_rng(14), "few", cone, "trace norm")
        omega = Problem(document, Arrays(arrays)).omega
        omega.conjugate(Ball(inside))
        for wrong in (beyond, -beyond, np.where(np.arange(3) == 1, beyond, 0.0) if cone == "diagonal" else beyond):
            with pytest.raises(NotProven):
                omega.conjugate(Ball(wrong))


@pytest.mark.parametrize(
    ("regularizer", "cone"), [("norm", "psd"), ("trace norm", "diagonal"), ("entries", "psd"), ("other entries", "psd")]
)
def test_slopes_are_compared_with_the_lower_end_of_a_weight(regularizer, cone):
    """A weight over a root is no float; a norm that is the weight has nothing left for its rounding."""
    document, arrays = certificate(np.random.default_rng(14), "few", cone, regularizer)
    unit = np.zeros((3, 3)) if cone == "psd" else np.zeros(3)
    unit.flat[1] = 1.0
    for over, size, fits in ((1, 3.5 * (1 - 1e-12), True), (1, np.nextafter(3.5, 4.0), False), (3, None, False)):
        document["problem"]["regularizer"]["over_root_of"] = over
        omega = Problem(document, Arrays(arrays)).omega
        P = Ball(unit * (float(omega.weight.mid) if size is None else size))
        if fits:
            omega.conjugate(P)
        else:
            with pytest.raises(NotProven, match="exceeds the weight"):
                omega.conjugate(P)
    # Of a weight that may be three a slope of 3.2 is too much, whatever its middle; one that is the weight is not.
    del document["problem"]["regularizer"]["over_root_of"]
    omega = Problem(document, Arrays(arrays)).omega
    if regularizer == "norm":
        with pytest.raises(NotProven):
            omega.conjugate(Ball(3.5 * unit))
    else:
        omega.conjugate(Ball(3.5 * unit))
    omega.weight = Ball(3.5, 0.5)
    omega.conjugate(Ball(2.9 * unit))
    with pytest.raises(NotProven):
        omega.conjugate(Ball(3.2 * unit))


def test_what_quadratic_forms_are_for():
    for risk, cone, name in (
        ("few", "psd", "gram"), ("few", "diagonal", "squared points"), ("two", "diagonal", "squared points"),
        ("few", "diagonal", "entries"),
    ):  # fmt: skip
        document, arrays = certificate(np.random.default_rng(15), risk, "psd" if name == "entries" else cone, name)
        if name == "entries":
            document["problem"]["cone"] = cone
            arrays |= {key: np.ones(3) for key in ("slope", "prior", "linear", "weights_of_metric")}
            del arrays["factor"]
        arrays["points"] = np.zeros((7, 3))
        with pytest.raises(CertificateError, match="regularizer: "):
            proved((document, arrays))


def test_a_sum_with_a_risk_that_may_be_negative_has_no_share():
    document, arrays = certificate(np.random.default_rng(16), "sum that may be negative", "psd", "trace")
    for share, said in (("1", ""), ("5/7", "may be negative")):
        document["dual"]["share"] = share
        assert said in proved((document, arrays)).reason


@pytest.mark.parametrize(("share", "cap"), [("0", 1), ("1/3", 1), ("1/2", Fraction(2, 3)), ("1", Fraction(1, 3))])
@pytest.mark.parametrize("risk", ["worst lists", "worst of map", "worst of logistic lists"])
def test_weights_of_worst_parts_are_below_the_cap_and_add_up_to_one(risk, share, cap):
    document, arrays = certificate(np.random.default_rng(20), risk, "psd", "trace")
    document["problem"]["risk"]["share"] = share
    most = int(cap * 2**20)
    given = {
        "at the cap": ([most, 0, 0], True), "at the cap, two": ([most, min(most, 2**20 - most), 0], True),
        "nothing": ([0, 0, 0], True), "above the cap": ([0, most + 1, 0], False),
        "all at the cap": ([most] * 3, 3 * most <= 2**20),
        "above one": ([most, 0, 2**20 - most + 1], False), "one": ([2**20 - 2 * (2**20 // 3)] + [2**20 // 3] * 2, None),
    }  # fmt: skip
    for what, (weights, fits) in given.items():
        contents = document, arrays | {"parts_weights": np.array(weights)}
        if max(weights) > 2**20:
            accepts(contents, False)
            continue
        of = Arrays(contents[1])
        problem, second = Problem(document, of), exact.Part(archive(packed(contents)))
        fits = max(weights) <= most and sum(weights) <= 2**20 if fits is None else fits
        assert (second.says() is not None) == fits, what
        if fits:
            says, true = problem.risk.dual(document["dual"], of), second.says()
            assert says.value.lower() <= true.v.low
            assert true.v.high <= says.value.upper()
        else:
            with pytest.raises(NotProven, match="cap" if max(weights) > most else "in sum"):
                problem.risk.dual(document["dual"], of)
    for weights in ([-1, 0, 0], [2**20 + 1, 0, 0]):
        accepts((document, arrays | {"parts_weights": np.array(weights)}), False)


def test_shares_of_worst_parts():
    document, arrays = certificate(np.random.default_rng(21), "worst lists", "psd", "trace")
    arrays["parts_weights"][:] = 0
    for share, fits in (("0", True), ("1", True), ("-1/1000000", False), ("1000001/1000000", False)):
        document["problem"]["risk"]["share"] = share
        accepts((document, arrays), fits)
    document["problem"]["risk"]["share"] = "1/2"
    for bits, fits in ((40, True), (41, False)):
        document["dual"]["bits"] = bits
        accepts((document, arrays), fits)
    document, arrays = certificate(np.random.default_rng(22), "worst comparisons", "psd", "trace")
    for loss, fits in (("squared", True), ("negative log", False)):
        document["problem"]["risk"]["of"]["terms"][1]["loss"] = loss
        accepts((document, arrays), fits)


@pytest.mark.parametrize("risk", ["lists", "map", "logistic lists", "hinges of pairs"])
def test_all_parts_are_the_risk_and_the_worst_is_the_largest(risk):
    document, arrays = certificate(np.random.default_rng(23), risk, "psd", "trace")
    plain = Problem(document, Arrays(arrays)).risk
    own = document["problem"]["risk"]
    for share in ("1", "0", "1/1000000"):
        document["problem"]["risk"] = {"kind": "worst", "share": share, "of": own}
        value = Problem(document, Arrays(arrays)).risk.value(arrays["factor"])
        each = plain.each(arrays["factor"])
        true = each.sum().mid if share == "1" else len(plain) * each.mid.max()
        assert float(value.mid) == pytest.approx(float(true), rel=1e-14)
        assert float(value.rad) >= len(plain) * float(np.max(each.rad))


def test_the_kernel_prints_what_it_proves():
    corpus = Path(__file__).resolve().parents[1] / "corpus"
    for name, code, said in (("accepted/triplet", 0, "accepted"), ("not_proven/share-negative", 1, "lower bound")):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            assert kernel.proofs.main(str(corpus / f"{name}.npz")) == code
        first, second, third = output.getvalue().splitlines()
        assert " <= optimum <= " in first
        assert second.startswith("statement: ")
        assert third.startswith(said)
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
        assert kernel.proofs.main(str(corpus / "nowhere.npz")) == 2
    assert not output.getvalue()
    assert errors.getvalue().startswith("refused: cannot read ")


def test_how_many_summands_and_terms_there_may_be():
    for count, fits in ((1, True), (16, True), (17, False)):
        document, arrays = certificate(np.random.default_rng(11), "few", "psd", "trace")
        risk, dual = document["problem"]["risk"], {"kind": "slopes"}
        of_risk = [name for name in ("triplets", "terms", "slopes") if name in arrays]
        document["problem"]["risk"] = {"kind": "sum", "summands": [risk] * count}
        document["dual"] |= {"kind": "sum", "summands": [dual] * count}
        whole = {name: array for name, array in arrays.items() if name not in of_risk}
        whole |= {f"summand{k}_{name}": arrays[name] for name in of_risk for k in range(count)}
        accepts((document, whole), fits)
    for count, fits in ((2, True), (8, True), (9, False)):
        document, arrays = certificate(np.random.default_rng(11), "few", "psd", "zero")
        document["problem"]["regularizer"] = {"kind": "sum", "summands": [{"kind": "zero"}] * count}
        document["dual"]["regularizer"] = {"summands": [{}] * count}
        accepts((document, arrays), fits)
    for count, fits in ((64, True), (65, False)):
        document, arrays = certificate(np.random.default_rng(11), "few", "psd", "zero")
        document["problem"]["risk"]["terms"] *= count
        accepts((document, arrays), fits)


@pytest.mark.parametrize("kind", ["sum", "quadratic form", "conic"])
def test_what_stands_alone_is_no_summand(kind):
    document, arrays = certificate(np.random.default_rng(11), "few", "psd", "zero")
    document["problem"]["regularizer"] = {"kind": "sum", "summands": [{"kind": "zero"}, {"kind": kind}]}
    with pytest.raises(CertificateError, match="summand: the kind"):
        proved((document, arrays))


def accepts(contents, fits):
    if fits:
        assert proved(contents).upper is not None
    else:
        with pytest.raises(CertificateError):
            proved(contents)


def test_the_description_of_a_file():
    document, arrays = certificate(np.random.default_rng(12), "few", "psd", "zero")
    document["sha256"] = {name: kernel.digest(array) for name, array in arrays.items()}
    for version in (2, 3):
        kernel.files.checked(document | {"version": version}, arrays)
    for change in (
        *({key: None} for key in document), {"note": 1}, {"sha256": {}}, {"sha256": list(arrays)},
        {"sha256": document["sha256"] | {"more": ""}},
        {"sha256": document["sha256"] | {"points": "0" * 64}}, {"format": "other"},
    ):  # fmt: skip
        changed = {key: value for key, value in (document | change).items() if value is not None}
        with pytest.raises(CertificateError):
            kernel.files.checked(changed, arrays)
    for version, anew in ((1, True), (0, False), (4, False)):
        with pytest.raises(CertificateError) as found:
            kernel.files.checked(document | {"version": version}, arrays)
        assert ("write it anew" in str(found.value)) == anew


def test_files_of_the_second_version_are_those_without_conic_programs():
    rng, second = np.random.default_rng(13), {"version": 2}
    document, arrays = certificate(rng, "few", "psd", "zero")
    whole, old = proved((document, arrays)), proved((document | second, arrays))
    assert whole.upper is not None
    assert (old.lower, old.upper, old.problem.sha256) == (whole.lower, whole.upper, whole.problem.sha256)
    # Parts of either version are parts of one certificate.
    risk = whole.problem.risk
    first, rest = part(document, arrays, risk, 0, 1), part(document, arrays, risk, 1, len(risk))
    assert proved((first[0] | second, first[1]), rest).upper == whole.upper
    document, arrays = certificate(rng, "few", "psd", "conic")
    assert proved((document, arrays)).upper is not None
    with pytest.raises(CertificateError, match="write the file anew from its problem"):
        proved((document | second, arrays))
    with pytest.raises(exact.Refused):
        exact.judge(archive(packed((document | second, arrays))))


def test_the_reader_of_the_kernel_unpickles_nothing(tmp_path):
    made = {attack.name: attack.make for attack in ATTACKS}
    for name, why in (("object", "no header of the npy format|has the type"), ("member-twice", "twice")):
        path = tmp_path / f"{name}.npz"
        path.write_bytes(made[name]())
        with pytest.raises(CertificateError, match=why):
            kernel.contents(path)


def test_names_of_arrays_of_rows():
    for name in kernel.files.OF_ROWS:
        assert kernel.files.of_rows(name)
        assert kernel.files.of_rows(f"summand12_{name}")
        assert not kernel.files.of_rows(f"term0_{name}")
    assert not kernel.files.of_rows("summand1_points")
    assert not kernel.files.of_rows("slope")


def test_tables_hold_in_their_context_and_arrays_are_read_only():
    own = kernel.LOSSES
    within = contextvars.copy_context().run(
        lambda: kernel.files.TABLES.set({"LOSSES": {}}) and kernel.files.rules("LOSSES", own)
    )
    assert within == {}
    assert kernel.files.rules("LOSSES", own) is own
    given = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        Arrays({"a": given})("a", 2)[0] = 2.0
    assert given.flags.writeable


class SilentError(Exception):
    def __str__(self):
        raise ValueError


class Full(io.StringIO):
    def flush(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("stream", "why"), [(Full(), "No space left on device"), (None, "Bad file descriptor")])
def test_verdicts_that_cannot_be_written_end_otherwise(monkeypatch, stream, why):
    for accepted, code in ((True, 3), (False, 1)):
        said = io.StringIO()
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", said)
        assert kernel.proofs.ended("proven", accepted) == code
        assert sys.stdout is None
        assert said.getvalue() == f"cannot write the verdict: {why}\n"


def test_refusals_are_printed_as_one_short_line():
    said = str(CertificateError("a\n\x1b[2J\u00e9" + "b" * 600))
    assert said.startswith("a\\n\\x1b[2J\\xe9b")
    assert len(said) == 500
    for error, said in (
        (OSError(2, "No such file"), "^cannot read it: No such file$"), (OSError(), "^cannot read it: OSError$"),
        (ValueError("a"), "^it cannot be evaluated: ValueError: a$"), (CertificateError("as it is"), "^as it is$"),
        (SilentError(), "^it cannot be evaluated: SilentError$"),
    ):  # fmt: skip
        with pytest.raises(CertificateError, match=said), kernel.refusals("it"):
            raise error
    for check, error in ((kernel.errors.require_valid, CertificateError), (kernel.errors.require_proven, NotProven)):
        check(True, "it")
        check(np.True_, "it")
        for false in (False, np.False_, None):
            with pytest.raises(error, match="it"):
                check(false, "it")


CHOICES = ["one choice", "choices of weights", "odd ones out", "three chosen of five"]


@pytest.mark.parametrize("risk", CHOICES)
def test_what_are_no_probabilities_proves_nothing(risk):
    document, arrays = certificate(np.random.default_rng(20), risk, "psd", "trace", linear=False)
    document["problem"]["regularizer"]["weight"], true = "1000", arrays["probabilities"]
    assert proved((document, arrays)).lower is not None
    for change in (
        lambda a: a + (np.arange(len(a)) == a.argmin()), lambda a: a - (np.arange(len(a)) == a.argmax()),
        lambda a: 0 * a, lambda a: np.full_like(a, 2**20), lambda a: np.roll(a, 1) if risk != "one choice" else a // 2,
    ):  # fmt: skip
        found = proved((document, arrays | {"probabilities": change(true)}))
        assert "do not add up to one" in found.reason
        assert found.lower is None
        assert found.upper is not None
    for wrong in (-true, true.astype(float), true[:-1], np.append(true, 0)):
        accepts((document, arrays | {"probabilities": wrong}), False)
    for kind in ("slopes", "sums", "rankings"):
        changed = copy.deepcopy(document)
        changed["dual"]["kind"] = kind
        accepts((changed, arrays), False)
    # With other bits they are other numbers.
    changed = copy.deepcopy(document)
    changed["dual"]["bits"] = 21
    assert "do not add up to one" in proved((changed, arrays)).reason
    doubled = proved((changed, arrays | {"probabilities": 2 * true}))
    assert abs(float(doubled.lower - proved((document, arrays)).lower)) <= 1e-12


@pytest.mark.parametrize("risk", ["choices", "odd ones out"])
def test_choices_among_points_far_from_the_origin_contain_the_exact_ones(risk):
    for seed, far in ((0, 1e3), (1, 1e5), (2, 1e6)):
        document, arrays = certificate(np.random.default_rng(seed), risk, "psd", "zero")
        arrays["points"][:: 1 + seed % 2] += far
        value = Problem(document, Arrays(arrays)).risk.value(arrays["factor"])
        true = exact.Part(archive(packed((document, arrays)))).costs()
        assert value.lower() <= true.low
        assert true.high <= value.upper()
    # Where nothing is left of a distance, nothing is proven.
    arrays["points"] *= 1e9
    with pytest.raises(NotProven, match="out of range"):
        Problem(document, Arrays(arrays)).risk.value(arrays["factor"])


def test_what_a_trial_lacks_another_does_not_make_good():
    document, arrays = certificate(np.random.default_rng(21), "odd ones out", "psd", "trace")
    moved = arrays["probabilities"].copy()
    at = moved[:3].argmax()
    moved[at], moved[3 + moved[3:6].argmin()] = moved[at] - 5, moved[3 + moved[3:6].argmin()] + 5
    assert "a trial do not add up" in proved((document, arrays | {"probabilities": moved})).reason


def test_the_most_bits_of_probabilities():
    """2^40 times the chosen and one more is at most 2^53; of listed choices the chosen."""
    for most in (2**13 - 1, 2**13):
        # Of a query with one and one with many.
        rows = np.zeros(most + 1, np.int64)
        arrays = {"near": rows, "near_stops": np.array([1, most + 1]), "far": rows[:2], "far_stops": np.array([1, 2])}
        arrays |= {"anchors": rows[:2], "probabilities": 2**40 * np.isin(np.arange(most + 3), (0, 2))}
        table = {"kind": "choices", "weight": "1", "temperature": "1"}
        said(table, arrays, most == 2**13 - 1)
    for most in (2**13, 2**13 + 1):
        arrays = {
            "pairs": np.zeros((most + 1, 2), np.int64), "probabilities": 2**40 * (np.arange(most + 1) == 0)
        }  # fmt: skip
        table = {"kind": "listed choices", "weight": "1", "temperature": "1", "candidates": most + 1, "chosen": most}
        said(table, arrays, most == 2**13)


def said(table, arrays, fits, bits=40):
    """Whether the dual point of a risk at one point is read, and then says nothing."""
    of = Arrays(arrays | {"points": np.ones((1, 1))})
    risk = kernel.RISKS[table["kind"]](table, of, kernel.Cone({"cone": "psd", "features": 1}, of))
    if not fits:
        with pytest.raises(CertificateError, match="exceed 2"):
            risk.dual({"kind": "probabilities", "bits": bits}, of)
        return
    says = risk.dual({"kind": "probabilities", "bits": bits}, of)
    assert abs(float(says.value.mid)) <= float(says.value.rad) + 1e-300
    assert float(np.abs(says.S.mid).max()) == 0.0


def test_numbers_of_candidates_and_of_chosen():
    document, arrays = certificate(np.random.default_rng(22), "odd ones out", "psd", "trace")
    risk = document["problem"]["risk"]
    for candidates, chosen, fits in ((3, 1, True), (3, 2, True), (4, 1, False), (3, 3, False), (3, 0, False),
                                     (1, 1, False), (2, 1, False)):  # fmt: skip
        risk |= {"candidates": candidates, "chosen": chosen}
        accepts((document, arrays), fits)
    # Twelve of fifteen pairs are three trials of four, and three more are none.
    risk |= {"candidates": 4, "chosen": 1}
    accepts((document, arrays | {"probabilities": arrays["probabilities"][:12]}), False)
    risk |= {"candidates": 3, "chosen": 1}
    accepts((document, arrays | {"pairs": np.zeros((0, 2), np.int64), "probabilities": np.zeros(0, np.int64)}), False)
    accepts((document, arrays | {"pairs": arrays["pairs"][:-1], "probabilities": arrays["probabilities"][:-1]}), False)


def test_the_dual_of_listed_choices_contains_the_exact_one():
    """Weights over temperatures that are no floats, of a pair that is there often."""
    rows = np.tile([[0, 1], [1, 2], [0, 1]], (2000, 1))
    probabilities = np.tile([3, 1, 2**20 - 4], 2000)
    table = {"kind": "listed choices", "weight": "1/3", "temperature": "7/11", "candidates": 3, "chosen": 2}
    points = np.array([[0.1], [0.7], [0.25]])
    of = Arrays({"pairs": rows, "probabilities": probabilities, "points": points})
    risk = kernel.ListedChoices(table, of, kernel.Cone({"cone": "psd", "features": 1}, of))
    says = risk.dual({"kind": "probabilities", "bits": 20}, of)
    a = [Fraction(3, 2**20) - Fraction(1, 2), Fraction(1, 2**20) - Fraction(1, 2), Fraction(2**20 - 4, 2**20)]
    x = [Fraction(float(t)) for t in points[:, 0]]
    squares = [(x[0] - x[1]) ** 2, (x[1] - x[2]) ** 2, (x[0] - x[1]) ** 2]
    S = 2000 * Fraction(11, 21) * sum(w * e for w, e in zip(a, squares, strict=True))
    value = exact.of_probabilities([3, 1, 2**20 - 4], 2**20)
    assert abs(Fraction(float(says.S.mid[0, 0])) - S) <= Fraction(float(says.S.rad[0, 0])) <= abs(S) / 10**9
    for end in (value.low, value.high):
        assert abs(Fraction(float(says.value.mid)) - end * 2000 / 3) <= Fraction(float(says.value.rad))
    assert float(says.value.rad) <= 1e-9


def in_a_space(space, risk="choices", kind="frobenius", **how):
    return matrices(np.random.default_rng(23), risk, space, kind, **how)


@pytest.mark.parametrize("space", ["matrices", "symmetric"])
@pytest.mark.parametrize("kind", ["frobenius", "squared frobenius", "trace norm"])
def test_descriptions_of_matrices_are_refused_as_the_format_says(space, kind):
    document, arrays = in_a_space(space, kind=kind)
    for what, changed in variants(document, ("problem", "dual")):
        if not any(f"features{of} = {n}" in what for of in ("", "_of_items") for n in (10**6 + 1, 2**40)):
            agreed((changed, arrays), what)
    for what, changed in changed_arrays(arrays):
        agreed((document, changed), what)


def test_features_of_items_are_those_of_matrices():
    document, arrays = in_a_space("matrices")
    accepts((document, arrays), True)
    for change in ({}, {"features_of_items": 3}, {"features_of_items": 5}, {"features_of_items": 0},
                   {"features_of_items": "4"}, {"features_of_items": 4, "cone": "symmetric"},
                   {"features_of_items": 4, "features": 4}, {"features_of_items": 3, "features": 4},
                   {"features_of_items": 4, "cone": "psd"}):  # fmt: skip
        table = {name: of for name, of in document["problem"].items() if name != "features_of_items"}
        accepts((document | {"problem": table | change}, arrays), False)
    for space in ("symmetric", "psd", "diagonal"):
        table = document["problem"] | {"cone": space, "features_of_items": 3}
        with pytest.raises(CertificateError, match="features_of_items are of matrices"):
            proved((document | {"problem": table}, arrays))
    # Points are queries only if they have their features.
    anchored = {name: array for name, array in arrays.items() if name != "queries"}
    anchored |= {"anchors": np.zeros(len(arrays["queries"]), np.int64)}
    with pytest.raises(CertificateError, match="other features"):
        proved((document, anchored))
    square = in_a_space("matrices", shape=(3, 3))
    anchored = {name: array for name, array in square[1].items() if name != "queries"}
    accepts((square[0], anchored | {"anchors": np.zeros(len(square[1]["queries"]), np.int64)}), True)


def test_queries_and_items_have_a_feature():
    document, arrays = in_a_space("matrices", kind="squared frobenius", prior=False, linear=False)
    accepts((document, arrays), True)
    for change, none in (
        ({"features_of_items": 0}, {"points": arrays["points"][:, :0], "matrix": arrays["matrix"][:, :0]}),
        ({"features": 0}, {"queries": arrays["queries"][:, :0], "matrix": arrays["matrix"][:0]}),
    ):
        accepts((document | {"problem": document["problem"] | change}, arrays | none), False)


def test_matrices_are_symmetric_where_the_space_says_so():
    for space in ("matrices", "symmetric"):
        document, arrays = in_a_space(space, shape=(3, 3))
        for name in ("matrix", "prior", "linear"):
            turned = arrays[name] + np.triu(np.ones((3, 3)), 1)
            accepts((document, arrays | {name: turned}), space == "matrices")
        # A factor is none, and a slope is not asked for.
        accepts((document, arrays | {"factor": np.eye(3)}), False)
        accepts((document, arrays | {"slope": np.eye(3)}), False)
        accepts(
            (document, {name: of for name, of in arrays.items() if name != "matrix"} | {"factor": np.eye(3)}), False
        )


def test_factors_of_a_trace_norm_fit():
    document, arrays = in_a_space("matrices", kind="trace norm")
    for left, right, fits in (((3, 2), (4, 2), True), ((3, 1), (4, 1), True), ((3, 2), (4, 1), False),
                              ((3, 1), (4, 2), False), ((4, 2), (3, 2), False), ((2, 2), (4, 2), False)):  # fmt: skip
        accepts((document, arrays | {"left": np.ones(left), "right": np.ones(right)}), fits)
    for name in ("left", "right"):
        accepts((document, {key: of for key, of in arrays.items() if key != name}), False)


@pytest.mark.parametrize("regularizer", ["zero", "trace", "log det", "budget", "other entries", "gram", "sum"])
def test_regularizers_of_metrics_are_none_of_matrices(regularizer):
    document, arrays = in_a_space("symmetric", prior=False)
    omega, of_omega, parameters, slope = REGULARIZERS[regularizer](np.random.default_rng(0), "psd", np.eye(3))
    document["problem"]["regularizer"], document["dual"]["regularizer"] = omega, parameters
    with pytest.raises(CertificateError, match="these are all matrices"):
        proved((document, arrays | of_omega | slope))


def test_a_sum_of_norms_is_no_regularizer_of_matrices():
    document, arrays = in_a_space("matrices", prior=False)
    norm = {"kind": "frobenius", "weight": "100"}
    document["problem"]["regularizer"] = {"kind": "sum", "summands": [norm, norm]}
    document["dual"]["regularizer"] = {"summands": [{}, {}]}
    with pytest.raises(CertificateError, match="these are all matrices"):
        proved((document, arrays))


@pytest.mark.parametrize("risk", ["all pairs", "odd ones out"])
def test_all_pairs_and_listed_choices_are_of_distances(risk):
    """Refused as a summand, too."""
    document, arrays = in_a_space("symmetric", prior=False)
    listed, own, dual, hints = RISKS[risk](np.random.default_rng(0))
    old = ("near", "near_stops", "far", "far_stops", "queries", "query_weights", "probabilities")
    alone = {name: array for name, array in arrays.items() if name not in old} | own | hints
    both = {f"summand0_{name}" if name in old else name: array for name, array in arrays.items()}
    both |= {f"summand1_{name}": array for name, array in (own | hints).items()}
    table, of_choices = document["problem"]["risk"], {"kind": "probabilities", "bits": 20}
    for kind, of_dual, given in (
        (listed, dual, alone),
        ({"kind": "sum", "summands": [table, listed]}, {"kind": "sum", "summands": [of_choices, dual]}, both),
    ):
        changed = copy.deepcopy(document)
        changed["problem"]["risk"] = kind
        changed["dual"] = of_dual | {"share": "1", "regularizer": {}}
        with pytest.raises(CertificateError, match="are of distances"):
            proved((changed, given))


def test_shares_of_dual_points_of_matrices():
    document, arrays = in_a_space("matrices", kind="squared frobenius")
    for share, fits in (("0", True), ("1", True), ("-1/7", False), ("8/7", False)):
        document["dual"]["share"] = share
        assert (proved((document, arrays)).lower is not None) == fits


def test_every_similarity_is_within_the_error_of_its_row():
    rng = np.random.default_rng(24)
    X, Q, W = rng.standard_normal((5, 2)), rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    X[1] *= 1e7
    Q[2] *= 1e9
    of = kernel.Cone({"cone": "matrices", "features": 3, "features_of_items": 2}, Arrays({}))
    for q, (row, error) in zip(Q, kernel.points.Images(of, W, X, Q).rows(), strict=True):
        for x, found in zip(X, row, strict=True):
            a, b = ([Fraction(t) for t in v.tolist()] for v in (q, x))
            true = -sum(s * Fraction(float(W[i, j])) * t for i, s in enumerate(a) for j, t in enumerate(b))
            assert abs(Fraction(float(found)) - true) <= Fraction(error)
        assert error <= 1e-14 * np.abs(q).max() * np.abs(X).max() * 10


@pytest.mark.parametrize("space", ["matrices", "symmetric"])
def test_sums_of_outer_products_contain_the_exact_ones(space):
    rng = np.random.default_rng(25)
    X, Q, W = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)) * 1e5, rng.standard_normal((4, 5))
    table = {"cone": space, "features": 3} | ({"features_of_items": 3} if space == "matrices" else {})
    for rad in (0.0, 1e-3):
        S = kernel.points.laplacian(kernel.Cone(table, Arrays({})), Q, X, Ball(W, np.full((4, 1), rad)))
        for side in (-1, 0, 1):
            signs = side * np.sign(rng.standard_normal((4, 5)))
            true = [[Fraction(0)] * 3 for _ in range(3)]
            for q, x in itertools.product(range(4), range(5)):
                weight = Fraction(W[q, x]) + Fraction(rad) * int(signs[q, x])
                for i, j in itertools.product(range(3), range(3)):
                    true[i][j] -= weight * Fraction(Q[q, i]) * Fraction(X[x, j])
            for i, j in itertools.product(range(3), range(3)):
                entry = true[i][j] if space == "matrices" else (true[i][j] + true[j][i]) / 2
                assert abs(Fraction(float(S.mid[i, j])) - entry) <= Fraction(
                    float(np.broadcast_to(S.rad, (3, 3))[i, j])
                )
        assert S.rad.max() <= 1e-8 + 1e7 * rad


# Risks of others ------------------------------------------------------------------------------------------------------


class Worst(kernel.Risk):
    """The largest of zero and numbers c_k - <A_k, M>; with other answers for tests of what is asked of them."""

    wanted, answer, nonnegative = "kind scale", {}, True

    def __init__(self, table, arrays, cone):
        super().__init__(table, arrays, cone)
        self.scale = Ball.of(files.positive(table["scale"], "scale"))
        self.c, self.A = arrays("offsets", None), arrays("planes", None, *cone.shape)

    def value(self, M, arrays):
        each = [Ball(c) - (M * A).sum() for c, A in zip(self.c, self.A, strict=True)]
        found = Ball(max(0.0, *(float(one.above()) for one in each))) * self.scale
        return self.answer.get("value", found)

    def minorant(self, arrays):
        w = arrays("shares", len(self.c))
        kernel.require_proven((w >= 0.0).all() and sum(map(kernel.exactly, w)) <= 1, "no mean")
        S = Ball(np.tensordot(w, self.A, 1)) * self.scale
        return self.answer.get("v", Ball(float(w @ self.c)) * self.scale), self.answer.get("S", S)


class Negative(Worst):
    nonnegative = "yes"


@contextlib.contextmanager
def with_rules(**rules):
    """The tables of rules with risks of others."""
    before = files.TABLES.set({"RISKS": kernel.RISKS | rules})
    try:
        yield
    finally:
        files.TABLES.reset(before)


def of_others(cone="psd", kind="mine", share="1/2"):
    """A file of a risk of others, of eighths, with a trace: 2 max(0, c_k - <A_k, M>) + 4 tr M."""
    shape = {"psd": (2, 2), "diagonal": (2,), "matrices": (2, 3), "symmetric": (2, 2)}[cone]
    rng = np.random.default_rng(0)
    A = rng.integers(-8, 9, (3, *shape)) / 8.0
    A = (A + np.swapaxes(A, 1, 2)) / 2.0 if cone in ("psd", "symmetric") else A
    free = cone in ("matrices", "symmetric")
    omega = {"kind": "squared frobenius", "weight": "4"} if free else {"kind": "trace", "weight": "4"}
    problem = {"cone": cone, "features": 2, "risk": {"kind": kind, "scale": "2"}, "regularizer": omega, "linear": False}
    problem |= {"features_of_items": 3} if cone == "matrices" else {}
    document = {
        "format": kernel.FORMAT, "version": kernel.VERSION, "title": "", "problem": problem, "sha256": {},
        "dual": {"kind": "own", "share": share, "regularizer": {}}, "claimed": {"lower": "-1000", "upper": "1000"},
    }  # fmt: skip
    M = {"psd": np.array([[1.0, 0.5], [0.0, 0.25]]), "diagonal": np.array([1.0, 0.5])}.get(cone, A[0])
    name = "matrix" if free else "weights_of_metric" if cone == "diagonal" else "factor"
    return document, {
        "offsets": np.array([1.0, 2.0, 0.5]), "planes": A, "shares": np.array([0.25, 0.5, 0.125]), name: M,
    }  # fmt: skip


@pytest.mark.parametrize("cone", ["psd", "diagonal", "matrices", "symmetric"])
def test_a_risk_of_others_is_proven_by_its_rule(cone):
    document, arrays = of_others(cone)
    with with_rules(mine=Worst):
        found = proved((document, arrays))
    M = arrays["factor"].T @ arrays["factor"] if cone == "psd" else list(arrays.values())[-1]
    A, c, w = arrays["planes"], arrays["offsets"], arrays["shares"]
    risk = 2.0 * max(0.0, *(c - [(M * one).sum() for one in A]))
    free = cone in ("matrices", "symmetric")
    omega = 4.0 * (0.5 * (M * M).sum() if free else np.trace(M) if cone == "psd" else M.sum())
    assert not found.reason
    assert risk + omega <= float(found.upper) <= (risk + omega) * (1.0 + 1e-12)
    P = 0.5 * 2.0 * np.tensordot(w, A, 1)
    lower = 0.5 * 2.0 * (w @ c) - (0.5 * (P * P).sum() / 4.0 if free else 0.0)
    assert lower - 1e-12 <= float(found.lower) <= lower
    with pytest.raises(CertificateError, match="there is no such rule"):
        proved((document, arrays))


@pytest.mark.parametrize("kind", ["slopes", "worst", None])
def test_dual_points_of_risks_of_others_are_of_their_kind(kind):
    document, arrays = of_others()
    document["dual"]["kind"] = kind
    with with_rules(mine=Worst), pytest.raises(CertificateError, match="kind must be 'own'"):
        proved((document, arrays))


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("value", 1.0, None), ("value", Ball(np.zeros(1)), None), ("v", Ball(np.zeros((2, 2))), None),
        ("S", Ball(0.0), None), ("S", np.zeros((2, 2)), None), ("S", Ball(np.zeros((2, 2)), np.zeros(2)), None),
        ("value", Ball(np.inf), "upper"),
        ("value", Ball(1.0, np.nan), "upper"), ("value", Ball(1.0, -1e-9), "upper"), ("v", Ball(np.nan), "lower"),
        ("S", Ball(np.zeros((2, 2)), np.diag([0.0, -1e-9])), "lower"), ("S", Ball(np.diag([0.0, -np.inf])), "lower"),
    ],
)  # fmt: skip
def test_answers_of_rules_of_others_are_checked(name, answer, said):
    rule = type("Mine", (Worst,), {"answer": {name: answer}})
    with with_rules(mine=rule):
        if said is None:
            with pytest.raises(CertificateError, match=f"returned no ball of shape .* as {name}"):
                proved(of_others())
            return
        found = proved(of_others())
    assert getattr(found, said) is None
    assert getattr(found, {"upper": "lower", "lower": "upper"}[said]) is not None
    assert f"the {name} of a rule of others is not a number" in found.reason


def test_only_the_symmetric_part_of_their_minorants_counts():
    skew = np.array([[0.0, 3.0], [-3.0, 0.0]])
    rule = type("Mine", (Worst,), {"answer": {"S": Ball(np.eye(2) + skew)}})
    with with_rules(mine=rule):
        assert proved(of_others()).lower is not None
    # A diagonal metric has no such part, and a matrix needs all of it.
    for cone in ("diagonal", "matrices"):
        document, arrays = of_others(cone)
        S = Ball(np.ones(arrays["planes"].shape[1:]))
        with with_rules(mine=type("Mine", (Worst,), {"answer": {"S": S}})):
            risk = Problem(document, Arrays(arrays)).risk
            assert risk.dual({"kind": "own"}, Arrays(arrays)).S is S


def test_shares_of_risks_of_others_that_may_be_negative_are_whole():
    for rule, share, proven in ((Worst, "1/2", True), (Negative, "1/2", False), (Negative, "1", True)):
        with with_rules(mine=rule):
            assert (proved(of_others(share=share)).lower is not None) == proven


def test_a_risk_of_others_is_one_row_and_may_be_a_summand():
    document, arrays = of_others()
    document["problem"]["risk"] = {"kind": "sum", "summands": [document["problem"]["risk"]] * 2}
    document["dual"] = {"kind": "sum", "summands": [{"kind": "own"}] * 2, "share": "1/2", "regularizer": {}}
    own = {f"summand{k}_{name}": array for k in (0, 1) for name, array in arrays.items() if name != "factor"}
    with with_rules(mine=Worst):
        found, alone = proved((document, own | {"factor": arrays["factor"]})), proved(of_others())
        risk = Problem(document, Arrays(own)).risk
        assert len(risk) == 2
        assert [len(risk.part(slice(k, 1))) for k in (0, 1)] == [1, 0]
        with pytest.raises(CertificateError, match="summand: the kind"):
            kernel.sums.read(kernel.summands(), {"kind": "sum"}, Arrays({}), risk.risks[0].cone, "summand")
    assert not found.reason
    assert found.upper > alone.upper
    assert found.lower > alone.lower


# Forms that lack nothing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear", [False, True])
def test_a_form_that_lacks_nothing_has_a_linear_term(linear):
    document, arrays = certificate(np.random.default_rng(11), "few", "diagonal", "form", linear)
    B = np.random.default_rng(0).random((5, 3))
    arrays |= {"form": B.T @ B + np.eye(3)} | ({"linear": np.full(3, 50.0)} if linear else {})
    for lack, proven in (("0", True), ("1/1024", not linear), ("-1/1024", False)):
        document["dual"]["regularizer"] = {"lack": lack}
        given = Problem(document, Arrays(arrays)).omega.read({"lack": lack}, Arrays(arrays))
        most = None if linear else Fraction(7)
        if proven:
            slopes, e = Problem(document, Arrays(arrays)).omega.slopes(given, most)
            z = arrays["z"]
            near = 0.5 * z @ arrays["form"] @ z
            assert abs(float(e.mid) - near) <= 1e-12 + (float(Fraction(lack)) * 100.0)
            assert len(slopes) == 1
        else:
            with pytest.raises(NotProven, match="wants an upper bound, and no G"):
                Problem(document, Arrays(arrays)).omega.slopes(given, most)
    # A form that is not semidefinite lacks something.
    arrays["form"] = np.ones((3, 3)) - np.eye(3)
    problem = Problem(document, Arrays(arrays))
    with pytest.raises(NotProven, match="what it lacks"):
        problem.omega.slopes(problem.omega.read({"lack": "0"}, Arrays(arrays)), None)
    assert proved((document, arrays)).lower is None


# Metrics near a factor ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", ["psd", "diagonal"])
@pytest.mark.parametrize("size", [1e-9, 1e-3])
def test_distances_near_a_factor_are_those_of_all_metrics(cone, size):
    rng = np.random.default_rng(0)
    of = kernel.Cone({"cone": cone, "features": 3}, Arrays({}))
    F, X, Q = rng.random(3) if cone == "diagonal" else rng.standard_normal((3, 3)), *rng.standard_normal((2, 5, 3))
    near, exact_metric = of.metric(kernel.metrics.Near(F, size)), of.metric(F)
    assert (near.rad >= size).all()
    assert (near.rad <= size * (1.0 + 1e-5) + 1e-12).all()
    assert (near.mid == exact_metric.mid).all()
    for images, others in (
        (kernel.points.Images(of, kernel.metrics.Near(F, size), X, Q), Q),
        (kernel.points.Images(of, kernel.metrics.Near(F, size), X, X), X),
    ):
        plain = kernel.points.Images(of, F, X, others)
        for (row, error), (own, least), q in zip(images.rows(), plain.rows(), others, strict=True):
            reach = np.linalg.norm(q) + np.linalg.norm(X, axis=1).max()
            assert (row == own).all()
            assert size * reach**2 <= error - least <= size * reach**2 * (1.0 + 1e-5)
    i, j = np.array([0, 1]), np.array([2, 3])
    wide, own = images.listed(i, j), plain.listed(i, j)
    reach = np.linalg.norm(X[i], axis=1) + np.linalg.norm(X[j], axis=1)
    assert (wide.mid == own.mid).all()
    assert (wide.rad - own.rad >= size * reach**2 * (1.0 - 1e-12)).all()
    assert (wide.rad - own.rad <= size * reach**2 * (1.0 + 1e-5)).all()
    # Without it no digit is another, and what is no number stays none.
    assert (kernel.points.widened(np.zeros(3)) == 0.0).all()
    assert np.isnan(kernel.points.widened(np.array([np.nan]))).all()


@pytest.mark.parametrize("cone", ["psd", "diagonal", "block-diagonal"])
def test_a_metric_that_moves_stays_in_its_cone(cone):
    document, arrays = certificate(np.random.default_rng(3), "few", cone, "conic, of it alone")
    assert proved((document, arrays)).upper is not None
    still = arrays | {"metric_spreads": 0.0 * arrays["metric_spreads"]}
    assert "given entries alone" in proved((document, still)).reason
    name = "weights_of_metric" if cone == "diagonal" else "factor"
    less = {
        "diagonal": np.array([0.0, 1.0, 1.0]),
        "psd": np.ones((1, 3)),
        "block-diagonal": np.array([[0.0, 1.0, 1.0]]),
    }
    found = proved((document, arrays | {name: less[cone]}))
    assert found.upper is None
    with pytest.raises(CertificateError, match="must not be negative"):
        proved((document, arrays | {"metric_spreads": -arrays["metric_spreads"]}))
    with pytest.raises(CertificateError, match="wrong shape"):
        proved((document, arrays | {"metric_spreads": np.ones(2)}))
    if cone == "block-diagonal":
        wide = arrays | {"metric_spreads": np.ones(6)}
        assert "entries between blocks" in proved((document, wide)).reason


#: Factors, equations that are sums of entries of the metric, and what they lead to.
SOLVED = {
    "small": ("diagonal", [0.0, 1.0, 0.0], [([0], 1e-14)], None),
    "negative": ("diagonal", [0.0, 1.0, 0.0], [([0], -1e-14)], "proven to be nonnegative"),
    "unknown": ("diagonal", [1.0, 1.0, 0.0], [([0], -1e-40)], "proven to be nonnegative"),
    "definite": ("psd", np.eye(3)[1:], [([0], 1e-14)], None),
    "indefinite": ("psd", np.eye(3)[1:], [([0], -1e-14)], "proven to be positive semidefinite"),
    "of rank one": ("psd", np.eye(3)[:1], [([0], 2.0)], None),
    "one entry between": ("block-diagonal", np.eye(3), [([1], 0.5)], "entries between blocks"),
    "perhaps one between": ("block-diagonal", np.eye(3), [([0, 1], 2.0), ([0], 2.0)], "entries between blocks"),
}


@pytest.mark.parametrize("name", SOLVED)
def test_a_metric_that_satisfies_equations_is_in_its_cone(name):
    cone, factor, equations, said = SOLVED[name]
    document, arrays = certificate(np.random.default_rng(3), "few", cone, "zero")
    k, m = 3 if cone == "diagonal" else 6, len(equations)
    A = np.array([np.isin(np.arange(k), places) for places, _ in equations], dtype=float)
    cones = dict.fromkeys(("nonnegative", "second_order", "semidefinite", "exponential", "power"), 0) | {"zero": m}
    document["problem"]["regularizer"] = {"kind": "conic", "variables": k, "cones": cones, "quadratic": False}
    columns, rows = np.nonzero(A.T)
    arrays |= {"a_values": np.ones(len(rows)), "a_rows": rows, "a_columns": columns, "q": np.zeros(k), "x": np.zeros(0)}
    arrays |= {"b": np.array([value for _, value in equations]), "z": np.zeros(m), "z_spreads": np.zeros(m)}
    arrays |= {"x_spreads": np.zeros(0), "metric_spreads": A.any(axis=0).astype(float)}
    arrays["weights_of_metric" if cone == "diagonal" else "factor"] = np.array(factor)
    found = proved((document, arrays))
    assert (found.upper is None) == (said is not None)
    assert (said or "") in found.reason
    assert said or exact.judge(archive(packed((document, arrays)))).upper <= found.upper


def test_a_rule_without_parameters_may_be_negative(monkeypatch):
    class Plain(kernel.Risk):
        def value(self, M, arrays):
            return Ball(1.0)

        def minorant(self, arrays):
            return Ball(1.0), Ball(np.zeros((2, 2)))

    document, arrays = of_others()
    document["problem"]["risk"] = {"kind": "mine"}
    with with_rules(mine=Plain):
        for share, lower in (("1", 1), ("1/2", None)):
            document["dual"]["share"] = share
            assert proved((document, {"factor": arrays["factor"]})).lower == lower
        for name in ("value", "minorant"):
            with monkeypatch.context() as patch:
                patch.delattr(Plain, name)
                with pytest.raises(NotImplementedError):
                    proved((document, {"factor": arrays["factor"]}))
        document["problem"]["risk"] = {"kind": "mine", "note": "2"}
        with pytest.raises(CertificateError, match="keys are missing or unknown"):
            proved((document, {"factor": arrays["factor"]}))
