"""The study's methods do what they are called, and its table counts what the records hold."""

import re

import numpy as np
import pytest
from retrieval_study import study
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

pytestmark = pytest.mark.integration

RNG = np.random.default_rng(0)
OF_DOCUMENT, OF_QUERY = np.arange(60) % 5, np.arange(30) % 5
TOPICS = 2.0 * RNG.normal(size=(5, 3))
CORPUS, QUERIES = (
    np.hstack([TOPICS[of] + RNG.normal(size=(len(of), 3)), 3.0 * RNG.normal(size=(len(of), 5))])
    for of in (OF_DOCUMENT, OF_QUERY)
)
DATA = study.Collection(CORPUS, QUERIES, OF_QUERY[:, None] == OF_DOCUMENT, OF_DOCUMENT)
ROWS = np.arange(30)


def test_scores_are_in_the_order_of_the_queries_and_those_of_the_definition():
    rows = RNG.permutation(30)[:12]
    distances = ((QUERIES[rows, None] - CORPUS) ** 2).sum(axis=2)
    for row, order, found in zip(
        rows, np.argsort(distances, axis=1), study.scores(None, DATA, rows)["AP"], strict=True
    ):
        places = np.flatnonzero(DATA.relevant[row][order]) + 1
        assert found == pytest.approx(np.mean(np.arange(1, len(places) + 1) / places))


def test_whitening_and_discriminant_analysis_know_noise_from_topics():
    before = study.scores(None, DATA, ROWS)["AP"].mean()
    assert study.scores(study.lda(DATA), DATA, ROWS)["AP"].mean() > before
    M = study.whitening(DATA)
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_a_paired_test_has_a_sign():
    before = RNG.random(40)
    assert study.tested((before + 0.1 + 0.01 * RNG.normal(size=40)).tolist(), before.tolist()) == 1
    assert study.tested((before - 0.1 + 0.01 * RNG.normal(size=40)).tolist(), before.tolist()) == -1
    assert study.tested(before.tolist(), before.tolist()) == 0


def test_cranfield_is_what_latent_semantic_analysis_makes_of_its_files(data_folder):
    folder, found = data_folder / "cranfield", study.cranfield(None)

    def texts(name):
        entries = re.split(r"^\.I ", (folder / name).read_text(), flags=re.M)[1:]
        return [re.sub(r"^\.[A-Z]$", " ", entry.partition("\n")[2], flags=re.M) for entry in entries]

    words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    counts = words.fit_transform(texts("cran.all.1400"))
    lsa = TruncatedSVD(100, random_state=0).fit(counts)
    corpus, queries = (normalize(lsa.transform(of)) for of in (counts, words.transform(texts("cran.qry"))))
    np.testing.assert_allclose(found.corpus, corpus, atol=1e-9)
    np.testing.assert_allclose(found.queries, queries, atol=1e-9)
    judged = np.loadtxt(folder / "cranqrel", dtype=int)
    relevant = np.zeros((225, 1400), dtype=bool)
    relevant[judged[:, 0] - 1, judged[:, 1] - 1] = True
    assert (found.relevant == relevant).all()
    # The scores are the same numbers.
    rows, before = np.arange(225), study.Collection(corpus, queries, relevant)
    for name, values in study.scores(None, before, rows).items():
        assert values.tolist() == study.scores(None, found, rows)[name].tolist()


def test_ridge_is_least_squares_near_the_identity():
    means = DATA.relevant @ CORPUS / DATA.relevant.sum(axis=1, keepdims=True)
    expected = np.linalg.lstsq(QUERIES, means, rcond=None)[0]
    np.testing.assert_allclose(study.ridge(DATA, ROWS, 1e-12), expected, atol=1e-8)
    np.testing.assert_allclose(study.ridge(DATA, ROWS, 1e12), np.eye(8), atol=1e-8)


def in_batch_loss(W, rows, scale):
    """Mean cross-entropy of every relevant pair among the documents of all pairs, but for others that are relevant."""
    pairs = np.argwhere(DATA.relevant[rows])
    losses = []
    for q, x in pairs:
        others = [row for _, row in pairs if not DATA.relevant[rows[q], row]]
        s = 2.0 * QUERIES[rows[q]] @ W @ CORPUS[[x, *others]].T / scale**2 / study.TEMPERATURE
        losses.append(np.logaddexp.reduce(s) - s[0])
    return np.mean(losses)


def test_a_step_in_batch_goes_against_the_slope_of_its_loss():
    rows, scale, h = np.arange(5), 5.0, 1e-5
    assert DATA.relevant[rows].sum() <= study.BATCH
    # Every document comes once, so that none is relevant to a query beside its own pair: others are masked.
    ((_, W),) = study.in_batch(DATA, rows, 1e-2, (1,), 0, scale)
    for i, j in np.ndindex(8, 8):
        E = np.zeros((8, 8))
        E[i, j] = h
        slope = (in_batch_loss(np.eye(8) + E, rows, scale) - in_batch_loss(np.eye(8) - E, rows, scale)) / (2.0 * h)
        if abs(slope) > 1e-4:
            # The first step of Adam has the length of the rate in every entry.
            assert (W - np.eye(8))[i, j] == pytest.approx(-1e-2 * np.sign(slope), rel=1e-3)


def test_in_batch_learns_and_is_audited_against_all_documents():
    found = study.gradient_steps(DATA, np.arange(20), np.arange(20, 30), 5.0)
    assert found["chosen"][1] > 0
    assert max(found["of the optimum"]) < found["identity, of the optimum"]
    assert len(found["of the optimum"]) == study.SEEDS
    assert min(found["of the optimum"]) > 1.0
    assert found["gap"] <= 1e-4


def test_some_methods_on_a_split(data_folder):
    found = study.split_record("cranfield-100", 0, ["identity", "ridge", "exact: softmax, query"])
    assert list(found["methods"]) == ["identity", "ridge", "exact: softmax, query"]
    assert found["methods"]["exact: softmax, query"]["best"][1] == "query"
    assert found["sizes"] == [509, 32, 66, 34]
    assert "| ridge |" in study.markdown([found])
    assert "in-batch" not in study.in_batch_audits([found]).split("|\n", 1)[1]


def record(split, change):
    scores = {name: np.linspace(0.2, 0.4, 9) for name in study.MEASURES}
    after = {name: (values + change + np.linspace(-0.01, 0.01, 9)).tolist() for name, values in scores.items()}
    before = {name: values.tolist() for name, values in scores.items()}
    methods = {"identity": {"scores": before, "seconds": 0.0}}
    for loss in study.LOSSES:
        methods[f"exact: {loss}"] = {"scores": after, "seconds": split + 1.0}
    return {"collection": "made", "split": split, "sizes": [60, 8, 20, 9], "methods": methods}


def test_the_table_has_means_over_splits_and_counts_of_tests(tmp_path):
    records = [record(0, 0.1), record(1, 0.3), record(2, -0.1), record(3, 0.0)]
    row = study.summary(records)["made"]["exact: AP"]
    assert row["AP"] == pytest.approx(0.3 + 0.075)
    assert (row["AP better"], row["AP worse"], row["seconds"]) == (2, 1, 2.5)
    assert "| exact: AP | **0.3750** | 2/1 | **0.3750** | 2/1 | 2.5 |" in study.markdown(records)
    study.picture(records, tmp_path / "study.png")
    assert (tmp_path / "study.png").stat().st_size > 5000


def test_all_held_out_queries_are_pooled():
    records = [record(0, 0.1), record(1, 0.3)]
    for one in records:
        one["methods"]["adapter"] = one["methods"]["exact: AP"]
    before, after = (
        [score for one in records for score in one["methods"][name]["scores"]["AP"]] for name in ("identity", "adapter")
    )
    p = study.ttest_rel(after, before).pvalue
    identity, *_, adapter = study.pooled(records).splitlines()[2:]
    assert identity.startswith("| made | identity | 0.3000 | 0.3000 | +0.2000 +- 0.0")
    assert identity.endswith(f"| {p:.2g} |")
    assert adapter == "| made | adapter | 0.5000 | 0.5000 |  |  |  |  |"
