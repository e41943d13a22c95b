r"""Linear maps for retrieval, compared on held-out queries: exact adapters, classical ones, and gradient steps.

    python examples/retrieval_study/study.py --output results.jsonl [--only cranfield] [--splits 5]
    python examples/retrieval_study/study.py --output results.jsonl --methods ridge in-batch "exact: softmax"
    python examples/retrieval_study/study.py --output results.jsonl --table --picture study.png
    python examples/retrieval_study/study.py --output thirds.jsonl --splits 3 \
        --methods "inner products" whitening ridge InfoNCE adapter

Needs the data folder. Each three splits are the thirds of the queries, in a random order: every
query is held out once.

=================  =====================================================================================================
identity           Euclidean distance of the encoder's vectors
inner products     of the encoder's vectors: what maps of queries alone begin with
whitening          by the covariance of the corpus, shrunk as Ledoit & Wolf (2004) say
lda                linear discriminant analysis of the corpus's classes, where there are classes
exact: a loss      what :class:`convexmetric.RetrievalAdapter` learns with that loss, C chosen by three folds of the
                   training queries, kept or not; "query" means a map of queries alone
adapter            what it returns as it comes, and the identity where the training queries do not gain
InfoNCE            100 steps of Adam on pairs of a query and a relevant document, as the adapter tries them
in-batch           Adam on a matrix W of similarities q'Wx from the identity, softmax over the documents of a batch;
                   rate and number of epochs chosen by the same folds; means of five seeds
ridge              queries to the mean of their relevant documents, least squares shrunk to the identity, by inner
                   products; weight chosen by the same folds
=================  =====================================================================================================
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import ttest_rel
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

import convexmetric as cm
from convexmetric.retrieval.maps import infonce_map

MEASURES = ("nDCG@10", "AP")
LOSSES = ("AUC", "AP", "nDCG@10")
#: What the exact adapters learn, by name of the method.
EXACT: dict[str, dict[str, Any]] = {f"exact: {loss}": {"loss": loss, "C": (10.0, 100.0, 1e3, 1e4)} for loss in LOSSES}
EXACT["exact: softmax"] = {"loss": "softmax", "C": (30.0, 300.0, 3e3)}
EXACT["exact: softmax, query"] = {"loss": "softmax", "side": "query", "C": (10.0, 100.0, 1e3)}
METHODS = (
    "identity",
    "inner products",
    "whitening",
    "lda",
    "ridge",
    "InfoNCE",
    *EXACT,
    "adapter",
    "in-batch",
)
#: Weights of ridge regression, times the mean squared length of the queries.
RIDGES = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS, SEEDS, PARTS = 3, 5, 3
RATES, EPOCHS = (1e-3, 1e-2), (1, 3, 10)
#: An epoch is so many batches at most.
BATCHES, BATCH, TEMPERATURE = 20, 128, 0.1


@dataclass(frozen=True)
class Collection:
    """Vectors, who is relevant to whom, and classes of the corpus where there are any."""

    corpus: np.ndarray
    queries: np.ndarray
    relevant: np.ndarray
    classes: np.ndarray | None = None

    def qrels(self, rows: np.ndarray) -> cm.retrieval.Qrels:
        """Judgements of some queries; identifiers are numbers of rows."""
        return cm.retrieval.Qrels.from_matrix(csr_array(self.relevant[rows].astype(int)), rows)


def cranfield(rng: np.random.Generator) -> Collection:
    """1,400 abstracts and 225 questions, LSA of 100 dimensions."""
    return _cranfield(100)


def cranfield_100(rng: np.random.Generator) -> Collection:
    """The first 100 questions, and the 509 abstracts that are relevant to any, LSA of 32 dimensions of the whole."""
    whole = _cranfield(32)
    relevant = whole.relevant[:100]
    documents = relevant.any(axis=0)
    return Collection(whole.corpus[documents], whole.queries[:100], relevant[:, documents])


def _cranfield(rank: int) -> Collection:
    data = cm.datasets.load("cranfield")
    words = TfidfTransformer(sublinear_tf=True).fit(data.X)
    lsa = TruncatedSVD(rank, random_state=0).fit(words.transform(data.X))
    documents, questions = (normalize(lsa.transform(words.transform(of))) for of in (data.X, data.extras["queries"]))
    return _judged(documents, questions, data.extras["qrels"])


def _judged(documents: np.ndarray, questions: np.ndarray, judged: cm.retrieval.Qrels) -> Collection:
    relevant = np.zeros((len(questions), len(documents)), dtype=bool)
    rows, columns = (np.array(names, dtype=int) for names in (judged.queries, judged.documents))
    relevant[rows[judged.query], columns[judged.document]] = True
    return Collection(documents, questions, relevant)


def webkb(rng: np.random.Generator) -> Collection:
    """Pages of four universities, LSA of 50 dimensions; relevant are pages of the same topic."""
    data = cm.datasets.load("webkb-linqs")
    return _by_class(_lsa(data.X, 50), data.y, 300, rng)


def wikipedia_text(rng: np.random.Generator) -> Collection:
    """Articles, ten topics each (square roots of their shares); relevant are those of the same category."""
    data = cm.datasets.load("wikipedia-crossmodal")
    return _by_class(np.sqrt(np.asarray(data.extras["text"])), data.y, 450, rng)


def wikipedia_images(rng: np.random.Generator) -> Collection:
    """Their pictures: 50 principal directions of the square roots of the shares of 128 visual words."""
    data = cm.datasets.load("wikipedia-crossmodal")
    return _by_class(PCA(50, random_state=0).fit_transform(np.sqrt(np.asarray(data.X))), data.y, 450, rng)


def corel(rng: np.random.Generator) -> Collection:
    """2,500 pictures, LSA of 50 dimensions of their blobs; relevant are those with two keywords in common."""
    data = cm.datasets.load("corel5k")
    X, keywords = _lsa(data.X, 50), np.asarray(data.y, dtype=float)
    rows = rng.permutation(len(X))[:2500]
    corpus, asked = rows[450:], rows[:450]
    relevant = keywords[asked] @ keywords[corpus].T >= 2.0
    able = relevant.any(axis=1)
    return Collection(X[corpus], X[asked[able]], relevant[able])


COLLECTIONS: dict[str, Callable[[np.random.Generator], Collection]] = {
    "cranfield-100": cranfield_100,
    "cranfield": cranfield,
    "webkb": webkb,
    "wikipedia-text": wikipedia_text,
    "wikipedia-images": wikipedia_images,
    "corel": corel,
}


def _lsa(X: Any, rank: int) -> np.ndarray:
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    return normalize(TruncatedSVD(rank, random_state=0).fit_transform(weighted))


def _by_class(X: np.ndarray, y: np.ndarray, queries: int, rng: np.random.Generator) -> Collection:
    rows = rng.permutation(len(X))
    asked, corpus = rows[:queries], rows[queries:]
    return Collection(X[corpus], X[asked], y[asked][:, None] == y[corpus], y[corpus])


def scores(M: np.ndarray | None, data: Collection, rows: np.ndarray, similarity: bool = False) -> dict[str, np.ndarray]:
    """Scores of every query of some, in their order."""
    run = cm.retrieval.rank_corpus(M, data.corpus, data.queries[rows], similarity=similarity, query_ids=rows)
    found = cm.retrieval.score_run(run, data.qrels(rows), measures=MEASURES)
    order = [found.queries.index(str(row)) for row in rows]
    return {name: found.scores[name][order] for name in MEASURES}


def whitening(data: Collection) -> np.ndarray:
    """The precision matrix of the corpus, shrunk."""
    return np.asarray(LedoitWolf().fit(data.corpus).precision_)


def lda(data: Collection) -> np.ndarray:
    """Between which classes of the corpus lie apart, in units of their spread."""
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(data.corpus, data.classes)
    L = model.scalings_[:, : len(model.classes_) - 1].T
    return L.T @ L


def ridge(data: Collection, rows: np.ndarray, weight: float) -> np.ndarray:
    """W of similarities q'Wx: W'q is near the mean relevant document, in the mean over queries, and W near I."""
    Q = data.queries[rows]
    means = data.relevant[rows] @ data.corpus / data.relevant[rows].sum(axis=1, keepdims=True)
    d = Q.shape[1]
    penalty = weight * (Q**2).sum() / len(Q) / d
    return np.eye(d) + np.linalg.solve(Q.T @ Q + len(Q) * penalty * np.eye(d), Q.T @ (means - Q))


def infonce(data: Collection, rows: np.ndarray, scale: float) -> np.ndarray:
    """W of similarities after 100 steps of InfoNCE, on vectors in units of the scale."""
    relevant = csr_array(data.relevant[rows].astype(float))
    return infonce_map(data.queries[rows] / scale, data.corpus / scale, relevant, 100)


def in_batch(
    data: Collection, rows: np.ndarray, rate: float, epochs: tuple[int, ...], seed: int, scale: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Matrices of similarities after some numbers of epochs of Adam on in-batch InfoNCE.

    A batch has pairs of a query and a relevant document; each query chooses its own among the documents of all, but for
    others that are relevant to it.
    """
    rng = np.random.default_rng(seed)
    X, Q = data.corpus / scale, data.queries / scale
    pairs = np.argwhere(data.relevant[rows])
    W = np.eye(X.shape[1])
    first, second, step = np.zeros_like(W), np.zeros_like(W), 0
    for epoch in range(1, max(epochs) + 1):
        order = rng.permutation(len(pairs))[: BATCHES * BATCH]
        for start in range(0, len(order), BATCH):
            asked, near = pairs[order[start : start + BATCH]].T
            q, x = Q[rows[asked]], X[near]
            logits = 2.0 * (q @ W) @ x.T / TEMPERATURE
            others = data.relevant[rows[asked]][:, near]
            np.fill_diagonal(others, False)
            logits[others] = -np.inf
            slopes = np.exp(logits - logits.max(axis=1, keepdims=True))
            slopes /= slopes.sum(axis=1, keepdims=True)
            slopes -= np.eye(len(q))
            gradient = 2.0 * q.T @ slopes @ x / (TEMPERATURE * len(q))
            step += 1
            first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
            W = W - rate * (first / (1.0 - 0.9**step)) / (np.sqrt(second / (1.0 - 0.999**step)) + 1e-8)
        if epoch in epochs:
            yield epoch, W


Learned = Callable[[np.ndarray], Iterable[tuple[Hashable, np.ndarray | None]]]


def best_setting(data: Collection, train: np.ndarray, learned: Learned, similarity: bool) -> Any:
    """The setting with the best nDCG@10 of held-out training queries; ``learned`` gives settings and their maps."""
    fold = np.random.default_rng(0).permutation(len(train)) % FOLDS
    found: dict[Hashable, list[float]] = {}
    for j in range(FOLDS):
        learn, rest = train[fold != j], train[fold == j]
        for setting, M in learned(learn):
            found.setdefault(setting, []).extend(scores(M, data, rest, similarity)["nDCG@10"])
    return max(found, key=lambda setting: np.mean(found[setting]))


def tuned(data: Collection, train: np.ndarray, scale: float) -> tuple[float, int]:
    """Rate and number of epochs with the best nDCG@10 of held-out training queries; 0 epochs are the identity."""

    def learned(rows: np.ndarray) -> Iterator[tuple[Hashable, np.ndarray | None]]:
        yield (RATES[0], 0), None
        for rate in RATES:
            for epoch, M in in_batch(data, rows, rate, EPOCHS, 0, scale):
                yield (rate, epoch), M

    return best_setting(data, train, learned, True)


def gradient_steps(data: Collection, train: np.ndarray, held: np.ndarray, scale: float) -> dict[str, Any]:
    """Mean scores of five seeds of the setting that was chosen."""
    start = time.process_time()
    rate, epochs = tuned(data, train, scale)
    chosen = time.process_time() - start
    maps = []
    for seed in range(SEEDS):
        M = None
        if epochs:
            *_, (_, M) = in_batch(data, train, rate, (epochs,), seed, scale)
        maps.append(M)
    every = [scores(M, data, held, True) for M in maps]
    spread = {name: float(np.std([one[name].mean() for one in every], ddof=1)) for name in MEASURES}
    means = {name: np.mean([one[name] for one in every], axis=0) for name in MEASURES}
    seconds = chosen + (time.process_time() - start - chosen) / SEEDS
    found = {"scores": means, "seconds": seconds, "spread": spread, "chosen": [rate, epochs]}
    return found | times_the_optimum(data, train, maps)


def times_the_optimum(data: Collection, train: np.ndarray, maps: list[np.ndarray | None]) -> dict[str, Any]:
    """Objective of every map in the exact problem of queries alone, over the certified optimum; and the identity's.

    Softmax over all documents at the same temperature, with C = 100.
    """
    start = time.process_time()
    settings: Any = {"loss": f"softmax@{TEMPERATURE:g}", "side": "query", "C": 100.0, "cv": 2}
    fixed = cm.RetrievalAdapter("nDCG@10", **settings).fit(
        data.corpus, data.queries[train], data.qrels(train), query_ids=train
    )
    problem = fixed.solution_.problem
    optimum = cm.solve(problem, tol=1e-4)
    identity = np.eye(problem.cone.d)
    verdicts = [cm.audit(problem, identity if M is None else M, reference=optimum, worst=0) for M in (identity, *maps)]
    ratios = [verdict.objective / optimum.upper_bound for verdict in verdicts]
    return {
        "identity, of the optimum": ratios[0],
        "of the optimum": ratios[1:],
        "gap": optimum.gap,
        "audit seconds": time.process_time() - start,
    }


def split_record(name: str, split: int, wanted: Iterable[str] = METHODS) -> dict[str, Any]:
    """Methods on one split of the queries."""
    data = COLLECTIONS[name](np.random.default_rng(0))
    part = np.random.default_rng(split // PARTS).permutation(len(data.queries)) % PARTS
    held, train = np.flatnonzero(part == split % PARTS), np.flatnonzero(part != split % PARTS)
    methods: dict[str, dict[str, Any]] = {}

    def note(method: str, learned: Callable[[], Any], similarity: bool = False, **more: Any) -> None:
        if method not in wanted:
            return
        start = time.process_time()
        M = learned()
        seconds = time.process_time() - start
        methods[method] = {"scores": scores(M, data, held, similarity), "seconds": seconds, **more}

    def best_ridge() -> np.ndarray:
        def learned(rows: np.ndarray) -> Iterator[tuple[Hashable, np.ndarray | None]]:
            yield from ((weight, ridge(data, rows, weight)) for weight in RIDGES)

        return ridge(data, train, best_setting(data, train, learned, True))

    note("identity", lambda: None)
    note("inner products", lambda: None, similarity=True)
    note("whitening", lambda: whitening(data))
    if data.classes is not None:
        note("lda", lambda: lda(data))
    note("ridge", best_ridge, similarity=True)
    adapters: dict[str, cm.RetrievalAdapter] = {}

    def learned(method: str) -> np.ndarray | None:
        adapter = cm.RetrievalAdapter("nDCG@10", **EXACT[method], cv=FOLDS, max_seconds=180.0)
        adapters[method] = adapter.fit(data.corpus, data.queries[train], data.qrels(train), query_ids=train)
        solution = adapter.solution_
        return None if solution is None else solution.M

    for method, settings in EXACT.items():
        note(method, lambda method=method: learned(method), similarity=settings.get("side") == "query")
        if method in adapters:
            adapter = adapters[method]
            methods[method] |= {
                "best": adapter.path_.best,
                "kept": adapter.kept_,
                "gap": float(adapter.path_.gaps.max()),
            }
    scale = float(
        np.sqrt(
            ((data.queries[train][:, None] - data.corpus.mean(axis=0)) ** 2).sum(axis=2).mean()
            + data.corpus.var(axis=0).sum()
        )
    )
    note("InfoNCE", lambda: infonce(data, train, scale), similarity=True)
    if "adapter" in wanted:
        start = time.process_time()
        adapter = cm.RetrievalAdapter("nDCG@10").fit(
            data.corpus, data.queries[train], data.qrels(train), query_ids=train
        )
        seconds, L = time.process_time() - start, adapter.components_
        query = adapter.side_ == "query"
        found = scores(L.T if query else L.T @ L, data, held, query)
        methods["adapter"] = {"scores": found, "seconds": seconds, "best": adapter.path_.best, "kept": adapter.kept_}
    if "in-batch" in wanted:
        methods["in-batch"] = gradient_steps(data, train, held, scale)
    for found in methods.values():
        found["scores"] = {measure: values.tolist() for measure, values in found["scores"].items()}
    sizes = [*data.corpus.shape, len(train), len(held)]
    return {"collection": name, "split": split, "sizes": sizes, "methods": methods}


def summary(records: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """By collection and method: means over splits, splits in which a paired test speaks, and seconds."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for name in dict.fromkeys(record["collection"] for record in records):
        own = [record["methods"] for record in records if record["collection"] == name]
        for method in own[0]:
            row: dict[str, float] = {"seconds": float(np.mean([one[method]["seconds"] for one in own]))}
            for measure in MEASURES:
                after, before = ([one[m]["scores"][measure] for one in own] for m in (method, "identity"))
                row[measure] = float(np.mean([np.mean(values) for values in after]))
                tests = [tested(a, b) for a, b in zip(after, before, strict=True)]
                row[f"{measure} better"], row[f"{measure} worse"] = tests.count(1), tests.count(-1)
            table.setdefault(name, {})[method] = row
    return table


def pooled(records: list[dict[str, Any]]) -> str:
    """Scores of all held-out queries by collection and method, and what the adapter has more, with standard errors."""
    lines = ["| | | nDCG@10 | AP | adapter - it: nDCG@10 | p | AP | p |", "|---|---|--:|--:|--:|--:|--:|--:|"]
    for name in dict.fromkeys(record["collection"] for record in records):
        own = [record["methods"] for record in records if record["collection"] == name]
        for method in own[0]:
            means, changes = [], []
            for measure in MEASURES:
                it, ours = (np.concatenate([one[m]["scores"][measure] for one in own]) for m in (method, "adapter"))
                error = (ours - it).std(ddof=1) / np.sqrt(len(it))
                p = ttest_rel(ours, it).pvalue if error else 1.0
                means.append(f"{it.mean():.4f}")
                changes.append(f"{(ours - it).mean():+.4f} +- {error:.4f} | {p:.2g}")
            lines.append(
                f"| {name} | {method} | {' | '.join([*means, *(changes if method != 'adapter' else [''] * 4)])} |"
            )
    return "\n".join(lines)


def tested(after: list[float], before: list[float]) -> int:
    """1 or -1 where a paired t-test over queries speaks at 5%, with its sign; 0 where it does not."""
    change = np.subtract(after, before)
    if not change.any() or ttest_rel(after, before).pvalue >= 0.05:
        return 0
    return int(np.sign(change.mean()))


def in_batch_audits(records: list[dict[str, Any]]) -> str:
    """How many times the optimum of softmax over all documents what in-batch InfoNCE finds is, five seeds a split."""
    lines = ["| | splits | identity, of the optimum | in-batch, of the optimum | least and most | gap certified |"]
    lines += ["|---|--:|--:|--:|--:|--:|"]
    for name in dict.fromkeys(record["collection"] for record in records):
        own = [one["methods"].get("in-batch", {}) for one in records if one["collection"] == name]
        own = [found for found in own if "of the optimum" in found]
        if own:
            ratios = np.array([found["of the optimum"] for found in own])
            before, gap = np.mean([found["identity, of the optimum"] for found in own]), max(one["gap"] for one in own)
            cells = f"{before:.2f} | {ratios.mean():.2f} | {ratios.min():.2f} to {ratios.max():.2f} | {gap:.1e}"
            lines.append(f"| {name} | {len(own)} | {cells} |")
    return "\n".join(lines)


def markdown(records: list[dict[str, Any]]) -> str:
    """The tables of the page."""
    lines = []
    for name, rows in summary(records).items():
        n, d, train, held = next(record["sizes"] for record in records if record["collection"] == name)
        lines += [f"\n**{name}**: {n} documents, d = {d}, {train} queries to learn from, {held} held out\n"]
        lines += ["| | nDCG@10 | better/worse | AP | better/worse | seconds |", "|---|--:|--:|--:|--:|--:|"]
        best = {measure: max(row[measure] for row in rows.values()) for measure in MEASURES}
        for method, row in rows.items():
            cells = []
            for measure in MEASURES:
                text = f"{row[measure]:.4f}"
                cells.append(f"**{text}**" if row[measure] == best[measure] else text)
                cells.append(f"{row[f'{measure} better']:.0f}/{row[f'{measure} worse']:.0f}")
            lines.append(f"| {method} | {' | '.join(cells)} | {row['seconds']:.1f} |")
    return "\n".join(lines)


def picture(records: list[dict[str, Any]], path: Path) -> None:
    """Change of nDCG@10 against the identity, a panel a collection, a point a split."""
    from convexmetric.plotting import COLOURS, MARKERS, panels, save_picture

    names = list(dict.fromkeys(record["collection"] for record in records))
    figure, axes = panels(len(names), height=2.5)
    for ax, name in zip(axes, names, strict=True):
        own = [record["methods"] for record in records if record["collection"] == name]
        methods = [method for method in own[0] if method != "identity"][::-1]
        for at, method in enumerate(methods):
            both = [[one[m]["scores"]["nDCG@10"] for m in (method, "identity")] for one in own]
            changes = [np.subtract(*pair).mean() for pair in both]
            kind = 0 if method.startswith("exact") or method == "adapter" else 1
            ax.plot(changes, [at] * len(own), MARKERS[kind], color=COLOURS[kind], ms=5, alpha=0.7)
        ax.axvline(0.0, color="black", lw=1.0)
        ax.set_yticks(range(len(methods)), methods)
        ax.locator_params(axis="x", nbins=4)
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("change of nDCG@10")
    save_picture(figure, path)


def main() -> None:
    """Run what is not there yet, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--only", choices=COLLECTIONS, nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=list(METHODS))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    lines = arguments.output.read_text().splitlines() if arguments.output.exists() else []
    records = [json.loads(line) for line in lines]
    if arguments.table or arguments.picture:
        adapted = all("adapter" in record["methods"] for record in records)
        print(markdown(records), pooled(records) if adapted else "", in_batch_audits(records), sep="\n\n")
        if arguments.picture:
            picture(records, arguments.picture)
        return
    warnings.simplefilter("ignore")
    done = {(record["collection"], record["split"]) for record in records}
    for split in range(arguments.splits):
        for name in arguments.only:
            if (name, split) in done:
                continue
            record = split_record(name, split, {"identity", *arguments.methods})
            with open(arguments.output, "a") as file:
                file.write(json.dumps(record) + "\n")
            print(markdown([record]), flush=True)


if __name__ == "__main__":
    main()
