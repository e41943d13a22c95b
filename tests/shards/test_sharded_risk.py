"""A risk in shards is the same function as in memory, however it is cut; lost shards leave lower bounds true."""

import json
import shutil
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import random_lists, random_metric, random_triplets, some

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import BackendError, DualError, GapWarning, InputError, LostShardsWarning
from convexmetric.losses import Hinge
from convexmetric.measures import AveragePrecision
from convexmetric.regularizers import Trace
from convexmetric.risks import CutDual, PairwiseRisk, RankingRisk, SeparableRisk, SmoothedPairs
from convexmetric.shards import Partial, Serial, ShardedRisk, kinds, write, write_pieces
from convexmetric.shards.folder import TABLE, StoredArray
from convexmetric.shards.sums import Tree, add


def labels(measure="map", **options):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 7)
    X = rng.standard_normal((28, 3)) + 0.7 * y[:, None]
    return cm.RankingProblem.from_labels(X, y, measure=measure, C=5.0, **options).risk


def lists(irrelevant=True):
    """Few rows of a large corpus, with queries of their own and an offset that is taken from both."""
    rng = np.random.default_rng(2)
    near, far = random_lists(rng, 23, 60)
    points, queries = 100.0 + rng.standard_normal((60, 3)), 100.0 + rng.standard_normal((23, 3))
    return cm.RankingProblem(
        points, near, irrelevant=far if irrelevant else None, queries=queries, measure="mrr", C=3.0
    ).risk


def corpus_lists():
    """Queries that are rows of the corpus, in another order."""
    rng = np.random.default_rng(3)
    near, far = random_lists(rng, 40, 40)
    rows = rng.permutation(40)[:17]
    return (
        cm.RankingProblem(rng.standard_normal((40, 4)), near, irrelevant=far, measure="ndcg", k=3)
        .with_queries(rows)
        .risk
    )


def triplets(cone):
    rng = np.random.default_rng(4)
    return SeparableRisk(Triplets(rng.standard_normal((30, 4)), random_triplets(rng, 30, 50), cone), Hinge(0.3, 0.8))


def neighbours():
    rng = np.random.default_rng(5)
    y = np.arange(30) % 3
    return cm.TripletProblem.from_labels(
        rng.standard_normal((30, 3)) + y[:, None], y, n_same=3, n_other=4, reg=0.1
    ).risk


RISKS = {
    "labels, MAP": labels,
    "labels, AUC": lambda: labels("auc"),
    "labels, precision printed, diagonal": lambda: labels("precision", k=9, short="printed", diagonal=True),
    "lists of queries of their own": lists,
    "all others irrelevant": lambda: lists(False),
    "the corpus but itself": lambda: (
        cm.RankingProblem(np.random.default_rng(6).standard_normal((9, 2)), [[(q + 1) % 9] for q in range(9)]).risk
    ),
    "rows of the corpus": corpus_lists,
    "triplets": lambda: triplets(PSDCone(4)),
    "triplets, diagonal": lambda: triplets(NonnegativeDiagonal(4)),
    "near and far neighbours": neighbours,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Every risk with its folder, written once."""
    found = {}
    for name, make in RISKS.items():
        folder = tmp_path_factory.mktemp("risk")
        risk = make()
        write(risk, folder)
        found[name] = risk, folder
    return found


@pytest.mark.parametrize("name", some(RISKS))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(1, 60), seed=st.integers(0, 2**31), cache=st.sampled_from([0, 2**28]))
def test_shards_add_up_to_the_risk(written, name, count, seed, cache):
    """Also of a corpus that is read in blocks, as there is no room for it."""
    risk, folder = written[name]
    rng = np.random.default_rng(seed)
    sharded = ShardedRisk(folder, shards=count, cache=cache)
    assert sharded.parts == risk.parts
    assert sharded.part_kind == risk.part_kind
    assert sharded.unit == pytest.approx(risk.unit)
    assert [part for shard in sharded.shards for part in range(shard.parts.start, shard.parts.stop)] == list(
        range(risk.parts)
    )
    M, other = random_metric(rng, risk.cone), random_metric(rng, risk.cone)
    assert sharded.value(M) == pytest.approx(risk.value(M), rel=1e-11)
    assert sharded.part_values(M) == pytest.approx(risk.part_values(M), rel=1e-9, abs=1e-13)
    assert sharded.lipschitz_near(M, 1e-9) == pytest.approx(risk.lipschitz_near(M, 1e-9), rel=1e-9)
    asked = rng.choice(risk.parts, 3)
    for here, there in zip(
        sharded.worst_comparisons(asked, M, other), risk.worst_comparisons(asked, M, other), strict=True
    ):
        assert here.rows == there.rows
        assert (here.loss, here.other) == pytest.approx((there.loss, there.other), abs=1e-12)

    groups = rng.integers(0, 4, risk.parts) if seed % 2 else np.arange(risk.parts) * 4 // risk.parts
    here, there = sharded.separate(M, groups), risk.separate(M, groups)
    for field in ("values", "offsets", "normals", "weights"):
        assert getattr(here, field) == pytest.approx(getattr(there, field), rel=1e-9, abs=1e-12)

    witnesses = np.array([random_metric(rng, risk.cone) for _ in range(3)])
    dual = CutDual(witnesses, rng.normal(0.3, 0.5, (3, 4)), groups)
    here, there = sharded.minorant(dual), risk.minorant(dual)
    assert here.value == pytest.approx(there.value, rel=1e-9, abs=1e-12)
    assert pytest.approx(there.S, rel=1e-9, abs=1e-12) == here.S
    assert here.weight == pytest.approx(there.weight, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", RISKS)
def test_how_it_is_cut_is_no_part_of_the_problem(written, name):
    _, folder = written[name]
    problems = [cm.MetricProblem(ShardedRisk(folder, shards=count), Trace(1.0)) for count in (1, 5)]
    assert problems[0].fingerprint() == problems[1].fingerprint()
    assert cm.MetricProblem(ShardedRisk(folder), Trace(2.0)).fingerprint() != problems[0].fingerprint()


def test_pieces_with_points_of_their_own_add_up(tmp_path):
    rng = np.random.default_rng(0)
    risks = []
    for size in (12, 20, 9):
        y = np.arange(size) % 3
        rankings = Rankings(*[rng.standard_normal((size, 3)) + y[:, None]] * 2, Relevance.from_labels(y), PSDCone(3))
        risks.append(RankingRisk(rankings, AveragePrecision(), float(size)))
    for count in (1, 3, 10, 64):
        sharded = write_pieces(iter(risks), tmp_path / str(count), shards=count)
        M = random_metric(rng, PSDCone(3))
        assert sharded.value(M) == pytest.approx(sum(risk.value(M) for risk in risks), rel=1e-12)
        assert sharded.unit == pytest.approx(41.0)
        parts = np.concatenate([risk.part_values(M) for risk in risks])
        assert sharded.part_values(M) == pytest.approx(parts, rel=1e-10)


def test_what_does_not_fit_is_read_again(written, monkeypatch):
    risk, folder = written["labels, MAP"]
    M = random_metric(np.random.default_rng(0), risk.cone)
    reads = []
    from convexmetric.shards import folder as files

    monkeypatch.setattr(
        files.StoredArray,
        "rows",
        lambda self, *r, rows=files.StoredArray.rows: reads.append(self.path) or rows(self, *r),
    )
    kept, poor = ShardedRisk(folder, shards=4), ShardedRisk(folder, shards=4, cache=0)
    first = kept.value(M)
    count = len(reads)
    assert kept.value(M) == first
    assert len(reads) == count
    assert poor.value(M) == first
    once = len(reads)
    assert poor.value(M) == first
    assert len(reads) > once


def test_other_files_under_the_same_path_are_other_data(tmp_path):
    M = np.eye(3)
    first, second = labels(), labels("auc")
    assert write(first, tmp_path / "risk").value(M) == pytest.approx(first.value(M))
    shutil.rmtree(tmp_path / "risk")
    assert write(second, tmp_path / "risk").value(M) == pytest.approx(second.value(M))
    shutil.rmtree(tmp_path / "risk")
    third = RankingRisk(
        Rankings(*[2.0 * first.rankings.X] * 2, first.rankings.relevance, first.cone), first.measure, first.C
    )
    assert write(third, tmp_path / "risk").value(M) == pytest.approx(third.value(M))


PAIRS = ["labels, AUC", "near and far neighbours"]


@pytest.mark.parametrize("name", PAIRS)
def test_smoothed_hinges_are_sums_over_shards(written, name):
    risk, folder = written[name]
    pairs, sharded = risk.form(PairwiseRisk), ShardedRisk(folder, shards=5)
    rng = np.random.default_rng(3)
    M, width = random_metric(rng, risk.cone), 0.7
    here, there = pairs.smoothed(M, width, 1.0, 10_000), sharded.smoothed(M, width, 1.0, 10_000)
    assert (there.value, there.exact) == pytest.approx((here.value, here.exact), rel=1e-12)
    assert there.point.value == pytest.approx(here.point.value, rel=1e-12)
    np.testing.assert_allclose(there.point.S, here.point.S, rtol=1e-10, atol=1e-12)
    # All pairs on the kink are sampled, each with its points.
    assert len(there.sample) == there.kinks == here.kinks > 0
    assert there.sample.tolist() == here.sample.tolist()
    assert there.places.tolist() == here.places.tolist()
    assert there.curvature == pytest.approx(here.curvature)
    for a, b in zip(sharded.differences(there), pairs.differences(here), strict=True):
        assert a == pytest.approx(b, abs=1e-12)
    assert len(sharded.smoothed(M, width).sample) == 0
    said = sharded.minorant(SmoothedPairs(M, width))
    assert (said.value, said.weight) == pytest.approx((here.point.value, here.point.weight), rel=1e-12)
    # Without some shards it is still below the risk.
    with pytest.warns(LostShardsWarning):
        part = sharded.on(Losing({1, 3})).minorant(SmoothedPairs(M, width))
    N = random_metric(rng, risk.cone)
    assert part.value - risk.cone.inner(part.S, N) <= risk.value(N) + 1e-9
    with pytest.warns(LostShardsWarning):
        assert sharded.on(Losing({0})).smoothed(M, width).value == np.inf


def test_newton_on_smoothed_hinges_runs_on_shards(written):
    risk, folder = written["labels, AUC"]
    here = cm.solve(cm.MetricProblem(risk, Trace(1.0)), solver="smoothed-newton", tol=1e-3)
    problem = cm.MetricProblem(ShardedRisk(folder, shards=5), Trace(1.0))
    there = cm.solve(problem, solver="smoothed-newton", tol=1e-3)
    assert there.status == here.status == "optimal"
    assert max(here.lower_bound, there.lower_bound) <= min(here.upper_bound, there.upper_bound)
    again = cm.certify(problem, there.M, there.certificate.dual)
    assert again.lower_bound == pytest.approx(there.lower_bound, rel=1e-12)
    other = cm.MetricProblem(ShardedRisk(written["labels, MAP"][1]), Trace(1.0))
    with pytest.raises(cm.errors.UnsupportedProblemError, match="pairs of positives and negatives"):
        cm.solve(other, solver="smoothed-newton")
    for risk, dual in (
        (other.risk, SmoothedPairs(there.M, 0.1)),
        (problem.risk, SmoothedPairs(np.eye(9), 0.1)),
        (problem.risk, SmoothedPairs(there.M, 0.1, np.zeros((1, 3), dtype=int), np.ones(1))),
    ):
        with pytest.raises(DualError, match="no exceptions"):
            risk.minorant(dual)
    assert problem.risk.minorant(SmoothedPairs(there.M, 0.0)) is None


# Lost shards


class Losing(Serial):
    """Loses some shards in some passes."""

    def __init__(self, lost, passes=lambda number: True):
        self.lost, self.passes, self.number = lost, passes, 0

    def total(self, task, shards, argument):
        self.number += 1
        if not self.passes(self.number):
            return super().total(task, shards, argument)
        tree = Tree(len(shards))
        for shard in shards:
            alone = Partial(lost={shard.number: "gone"}) if shard.number in self.lost else None
            tree.put(shard.number, alone or Partial(task(shard, argument)))
        return tree.root


@pytest.mark.parametrize("name", RISKS)
@pytest.mark.filterwarnings("ignore::convexmetric.errors.LostShardsWarning")
def test_without_lost_shards_everything_from_below_is_still_true(written, name):
    risk, folder = written[name]
    rng = np.random.default_rng(7)
    sharded = ShardedRisk(folder, shards=5).on(Losing({1, 3}))
    groups = np.arange(risk.parts) * 4 // risk.parts
    for _ in range(10):
        M, N = random_metric(rng, risk.cone), random_metric(rng, risk.cone)
        assert sharded.value(M) == np.inf
        values = sharded.part_values(M)
        gone = np.concatenate([np.arange(risk.parts)[sharded.shards[k].parts] for k in (1, 3)])
        assert np.flatnonzero(np.isinf(values)).tolist() == sorted(gone.tolist())
        cuts = sharded.separate(M, groups)
        assert set(np.flatnonzero(np.isinf(cuts.values))) == set(groups[gone])
        truth = np.bincount(groups, risk.part_values(N), 4)
        assert (cuts.offsets - cuts.normals @ risk.cone.coordinates(N) <= truth + 1e-9).all()
        dual = CutDual(np.array([M, N]), rng.random((2, 4)), groups)
        point = sharded.minorant(dual)
        P = random_metric(rng, risk.cone)
        assert point.value - risk.cone.inner(point.S, P) <= risk.value(P) + 1e-9


def solve(problem, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostShardsWarning)
        warnings.simplefilter("ignore", GapWarning)
        return cm.solve(problem, **options)


def test_a_shard_that_comes_back_costs_passes_and_no_more(written):
    risk, folder = written["labels, MAP"]
    whole = cm.solve(cm.MetricProblem(risk, Trace(1.0)))
    for passes in (lambda number: number < 4, lambda number: number % 3 == 0, lambda number: number in (1, 8, 9)):
        sharded = ShardedRisk(folder, shards=5).on(Losing({0, 4}, passes))
        solution = solve(cm.MetricProblem(sharded, Trace(1.0)))
        assert solution.lower_bound <= whole.upper_bound
        if solution.upper_bound < np.inf:
            assert whole.lower_bound <= solution.upper_bound


@pytest.mark.parametrize("first", [1, 6])
def test_a_shard_that_is_gone_for_good_leaves_the_lower_bound(written, first):
    risk, folder = written["labels, MAP"]
    whole = cm.solve(cm.MetricProblem(risk, Trace(1.0)))
    sharded = ShardedRisk(folder, shards=5).on(Losing({2}, lambda number: number >= first))
    solution = solve(cm.MetricProblem(sharded, Trace(1.0)))
    assert solution.status == "stalled"
    assert solution.upper_bound == np.inf
    assert 0.3 * whole.lower_bound < solution.lower_bound <= whole.upper_bound


def test_passes_that_lack_a_shard_end_a_solve_on_samples_with_a_lower_bound(written):
    risk, folder = written["labels, MAP"]
    whole = cm.solve(cm.MetricProblem(risk, Trace(1.0)))
    sharded = ShardedRisk(folder, shards=5).on(Losing({2}))
    solver = cm.solvers.SampledCuttingPlanes(least=risk.parts // 8, pieces=8)
    solution = solve(cm.MetricProblem(sharded, Trace(1.0)), solver=solver)
    assert solution.status == "stalled"
    assert solution.upper_bound == np.inf
    assert 0.0 < solution.lower_bound <= whole.upper_bound


def test_lost_shards_are_warned_about_with_the_reason_and_none_left_is_an_error(tmp_path):
    write_pieces([labels(), labels()], tmp_path)
    sharded = ShardedRisk(tmp_path, shards=2, cache=0)
    (tmp_path / "piece-000000" / "near.npy").unlink()
    M = np.eye(3)
    with pytest.warns(LostShardsWarning, match=r"1 of 2 shards were lost .*near\.npy"):
        assert sharded.value(M) == np.inf
    (tmp_path / "piece-000001" / "near.npy").write_bytes(b"short")
    with pytest.raises(BackendError, match="no shard could be evaluated"):
        sharded.value(M)


# Folders


def test_folders_that_are_none_are_refused(tmp_path):
    with pytest.raises(InputError, match="no folder of shards"):
        ShardedRisk(tmp_path)
    write(labels(), tmp_path)
    with pytest.raises(InputError, match="holds shards already"):
        write(labels(), tmp_path)
    table = json.loads((tmp_path / TABLE).read_text())
    for change in (
        {"format": "another"},
        {"pieces": []},
        {"pieces": [table["pieces"][0] | {"name": "../elsewhere"}]},
        {"pieces": [table["pieces"][0] | {"weight": -1.0}]},
        {"pieces": [table["pieces"][0] | {"files": {"../points": [1, ""]}}]},
        {"cone": {"cone": "other", "features": 3}},
        {"risk": None},
        {"reach": ""},
    ):
        (tmp_path / TABLE).write_text(json.dumps(table | change))
        with pytest.raises(InputError, match=r"damaged|format|written"):
            ShardedRisk(tmp_path)
    (tmp_path / TABLE).write_text("{")
    with pytest.raises(InputError, match="damaged"):
        ShardedRisk(tmp_path)


def test_objects_in_files_are_never_loaded(tmp_path):
    sharded = write_pieces([labels(), labels()], tmp_path, cache=0)
    path = tmp_path / "piece-000000" / "points.npy"
    size = path.stat().st_size
    np.save(path, np.array([{"an": "object"}]), allow_pickle=True)
    with path.open("ab") as file:
        file.write(b"\0" * (size - path.stat().st_size))
    with pytest.warns(LostShardsWarning, match="no .npy file of numbers"):
        sharded.value(np.eye(3))


def test_indices_of_a_damaged_folder_are_checked_before_compiled_code_follows_them(tmp_path):
    sharded = write(labels(), tmp_path, shards=1, cache=0)
    for name, change in {
        "near": lambda a: a + 10**6,
        "near_start": lambda a: a.astype(np.float64),
        "near_stop": lambda a: a[::-1] - a.max(),
        "anchors": lambda a: -a - 1,
        "far_start": lambda a: a[::-1],
        "itself": lambda a: a + 10**6,
    }.items():
        path = tmp_path / "piece-000000" / f"{name}.npy"
        if path.exists():
            whole = path.read_bytes()
            np.save(path, change(np.load(path)))
            with pytest.raises(BackendError):
                sharded.value(np.eye(3))
            path.write_bytes(whole)
    assert sharded.value(np.eye(3)) < np.inf


def test_headers_that_are_no_python_and_tables_too_deep(tmp_path):
    write(labels(), tmp_path)
    whole = (tmp_path / TABLE).read_text()
    for text in ("[" * 100_000, whole.replace('"features": 3', '"features": 1e999'), '{"format": []}'):
        (tmp_path / TABLE).write_text(text)
        with pytest.raises(InputError, match=r"damaged|format"):
            ShardedRisk(tmp_path)
    path = tmp_path / "header.npy"
    np.save(path, np.zeros(3))
    path.write_bytes(path.read_bytes().replace(b"(3,)", b"(3,("))
    with pytest.raises(InputError, match=r"no \.npy file of numbers"):
        StoredArray(path)


def test_risks_that_cannot_be_cut_say_so(tmp_path):
    rng = np.random.default_rng(0)
    pairs = cm.PairMarginProblem.from_labels(rng.standard_normal((10, 2)), np.arange(10) % 2)
    with pytest.raises(InputError, match="cannot be cut into shards"):
        write(pairs.risk, tmp_path)
    with pytest.raises(InputError, match="is empty"):
        write_pieces([], tmp_path)
    with pytest.raises(InputError, match="one kind"):
        write_pieces([labels(), labels("auc")], tmp_path)
    with pytest.raises(InputError, match="shards must be a positive integer"):
        write(labels(), tmp_path / "other", shards=0)


def test_contracts_hold(written):
    for name in ("labels, MAP", "triplets"):
        _, folder = written[name]
        problem = cm.MetricProblem(ShardedRisk(folder, shards=3), Trace(1.0))
        problem.check_numbers()
        assert add([Partial()]).terms == {}


def test_a_corpus_without_room_is_read_in_blocks(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    risk = cm.RankingProblem.from_labels(rng.standard_normal((400, 6)) + y[:, None], y, measure="map", C=3.0).risk
    write(risk, tmp_path)
    monkeypatch.setattr(kinds, "BLOCK", 50 * 6 * 8)
    reads = []
    rows = StoredArray.rows
    monkeypatch.setattr(StoredArray, "rows", lambda self, *r: reads.append((self.path, r[1] - r[0])) or rows(self, *r))
    streamed = ShardedRisk(tmp_path, shards=3, cache=0)
    M, groups = random_metric(rng, risk.cone), np.arange(400) * 8 // 400
    here, there = streamed.separate(M, groups), risk.separate(M, groups)
    assert here.normals == pytest.approx(there.normals, rel=1e-9, abs=1e-12)
    assert here.values == pytest.approx(there.values, rel=1e-11)
    points = [count for path, count in reads if path.endswith("points.npy")]
    # 134 rows are queries of a shard.
    assert max(points) <= 134
    assert points.count(50) > 3 * 8


def test_a_risk_says_where_and_what_it_is(tmp_path):
    iris = cm.datasets.load("iris")
    risk = cm.shards.write(cm.RankingProblem.from_labels(iris.X, iris.y).risk, tmp_path, shards=8)
    assert repr(risk) == f"ShardedRisk({str(tmp_path)!r}, 150 parts, one a query, 8 shards)"
