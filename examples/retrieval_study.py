"""Linear maps for retrieval, compared on held-out queries: exact adapters, classical ones, and gradient steps.

    python retrieval_study.py --output results.jsonl [--only cranfield] [--splits 5]
    python retrieval_study.py --output results.jsonl --table --picture study.png

Needs the data folder. Gradient steps are PyTorch's, an optional package; without it they are left out.

=================  =====================================================================================================
identity           Euclidean distance of the encoder's vectors
whitening          by the covariance of the corpus, shrunk as Ledoit & Wolf (2004) say
lda                linear discriminant analysis of the corpus's classes, where there are classes
exact: a loss      what :class:`convexmetric.RetrievalAdapter` learns with that loss, C chosen by three folds of the
                   training queries, kept or not
adapter            what it returns as it comes: by the loss of AP, and the identity where the training queries do not
                   say that this helps
triplet, infonce   Adam on a linear map from the identity, triplets of random irrelevant documents or softmax over 32 of
                   them; rate and number of epochs chosen by the same folds; means of five seeds
=================  =====================================================================================================
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

try:
    import torch
except ImportError:
    torch = None

MEASURES = ("nDCG@10", "AP")
LOSSES = ("AUC", "AP", "nDCG@10")
FOLDS, SEEDS, HELD = 3, 5, 1.0 / 3.0
RATES, EPOCHS = (1e-3, 1e-2), (1, 3, 10)
#: An epoch is so many batches at most, each pair with so many random irrelevant documents.
BATCHES, BATCH, NEGATIVES, MARGIN, TEMPERATURE = 20, 128, 32, 0.2, 0.1


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
    data = cm.datasets.load("cranfield")
    words = TfidfTransformer(sublinear_tf=True).fit(data.X)
    lsa = TruncatedSVD(100, random_state=0).fit(words.transform(data.X))
    documents, questions = (normalize(lsa.transform(words.transform(of))) for of in (data.X, data.extras["queries"]))
    judged = data.extras["qrels"]
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


def scores(M: np.ndarray | None, data: Collection, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of every query of some, in their order."""
    run = cm.retrieval.rank_corpus(M, data.corpus, data.queries[rows], query_ids=rows)
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


def exact(data: Collection, train: np.ndarray, loss: str) -> cm.RetrievalAdapter:
    """An adapter by one loss."""
    adapter = cm.RetrievalAdapter("nDCG@10", loss=loss, cv=FOLDS, max_seconds=180.0)
    return adapter.fit(data.corpus, data.queries[train], data.qrels(train), query_ids=train)


def descended(
    data: Collection, rows: np.ndarray, loss: str, rate: float, epochs: tuple[int, ...], seed: int, scale: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Metrics after some numbers of epochs of Adam on a linear map of vectors divided by their scale."""
    rng = np.random.default_rng(seed)
    X, Q = (torch.tensor(points / scale, dtype=torch.float32) for points in (data.corpus, data.queries))
    relevant = data.relevant[rows]
    pairs = np.argwhere(relevant)
    irrelevant = [np.flatnonzero(~row) for row in relevant]
    A = torch.eye(X.shape[1], requires_grad=True)
    adam = torch.optim.Adam([A], lr=rate)
    for epoch in range(1, max(epochs) + 1):
        order = rng.permutation(len(pairs))[: BATCHES * BATCH]
        for first in range(0, len(order), BATCH):
            asked, near = pairs[order[first : first + BATCH]].T
            far = np.stack([rng.choice(irrelevant[q], NEGATIVES) for q in asked])
            images = (Q[rows[asked]] @ A.T)[:, None]
            to_near = ((images - (X[near] @ A.T)[:, None]) ** 2).sum(2)
            to_far = ((images - X[far] @ A.T) ** 2).sum(2)
            if loss == "triplet":
                cost = torch.relu(MARGIN + to_near - to_far).mean()
            else:
                cost = -torch.log_softmax(-torch.cat([to_near, to_far], 1) / TEMPERATURE, 1)[:, 0].mean()
            adam.zero_grad()
            cost.backward()
            adam.step()
        if epoch in epochs:
            L = A.detach().numpy().astype(float)
            yield epoch, L.T @ L


def tuned(data: Collection, train: np.ndarray, loss: str, scale: float) -> tuple[float, int]:
    """Rate and number of epochs with the best nDCG@10 of held-out training queries; 0 epochs are the identity."""
    fold = np.random.default_rng(0).permutation(len(train)) % FOLDS
    found: dict[tuple[float, int], list[float]] = {}
    for j in range(FOLDS):
        learn, rest = train[fold != j], train[fold == j]
        found.setdefault((RATES[0], 0), []).extend(scores(None, data, rest)["nDCG@10"])
        for rate in RATES:
            for epoch, M in descended(data, learn, loss, rate, EPOCHS, 0, scale):
                found.setdefault((rate, epoch), []).extend(scores(M, data, rest)["nDCG@10"])
    return max(found, key=lambda setting: np.mean(found[setting]))


def gradient_steps(data: Collection, train: np.ndarray, held: np.ndarray, loss: str, scale: float) -> dict[str, Any]:
    """Mean scores of five seeds of the setting that was chosen."""
    start = time.perf_counter()
    rate, epochs = tuned(data, train, loss, scale)
    chosen = time.perf_counter() - start
    every = []
    for seed in range(SEEDS):
        M = None
        if epochs:
            *_, (_, M) = descended(data, train, loss, rate, (epochs,), seed, scale)
        every.append(scores(M, data, held))
    spread = {name: float(np.std([one[name].mean() for one in every], ddof=1)) for name in MEASURES}
    means = {name: np.mean([one[name] for one in every], axis=0) for name in MEASURES}
    seconds = chosen + (time.perf_counter() - start - chosen) / SEEDS
    return {"scores": means, "seconds": seconds, "spread": spread, "chosen": [rate, epochs]}


def audited(problem: cm.RankingProblem, steps: int = 1000) -> dict[str, float]:
    """Adam on the very objective that is certified, of AUC near the identity: how near does it come?

    All pairs of one random query a step; the best of three rates.
    """
    solution = cm.solve(problem, tol=1e-4)
    of, best, start = problem.rankings, None, time.perf_counter()
    X, Q = torch.tensor(of.X), torch.tensor(of.Q)
    eye = torch.eye(X.shape[1], dtype=X.dtype)
    for rate in (1e-3, 1e-2, 1e-1):
        rng = np.random.default_rng(0)
        A = torch.eye(X.shape[1], dtype=X.dtype, requires_grad=True)
        adam = torch.optim.Adam([A], lr=rate)
        decay = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.01, steps)
        for _ in range(steps):
            q = int(rng.integers(len(of)))
            near, far = of.relevance.of(q)
            distances = (((X - Q[q]) @ A.T) ** 2).sum(1)
            apart = distances[far][None] - distances[near][:, None]
            cost = problem.C * torch.relu(1.0 - 2.0 * apart).mean() + 0.5 * ((A.T @ A - eye) ** 2).sum()
            adam.zero_grad()
            cost.backward()
            adam.step()
            decay.step()
        L = A.detach().numpy()
        verdict = cm.audit(problem, L.T @ L, reference=solution, worst=0)
        if best is None or verdict.objective < best["objective"]:
            best = {"rate": rate, "objective": verdict.objective, "suboptimality": verdict.suboptimality}
    seconds = time.perf_counter() - start
    return best | {"gap": solution.gap, "C": problem.C, "exact_seconds": solution.seconds, "seconds": seconds}


def split_record(name: str, split: int) -> dict[str, Any]:
    """All methods on one split of the queries."""
    rng = np.random.default_rng(split)
    data = COLLECTIONS[name](np.random.default_rng(0))
    order = rng.permutation(len(data.queries))
    count = round(HELD * len(order))
    held, train = np.sort(order[:count]), np.sort(order[count:])
    methods: dict[str, dict[str, Any]] = {}

    def note(method: str, learned: Callable[[], Any], **more: Any) -> None:
        start = time.perf_counter()
        M = learned()
        seconds = time.perf_counter() - start
        methods[method] = {"scores": scores(M, data, held), "seconds": seconds, **more}

    note("identity", lambda: None)
    note("whitening", lambda: whitening(data))
    if data.classes is not None:
        note("lda", lambda: lda(data))
    adapters: dict[str, cm.RetrievalAdapter] = {}

    def learned(loss: str) -> np.ndarray | None:
        adapters[loss] = exact(data, train, loss)
        solution = adapters[loss].solution_
        return None if solution is None else solution.M

    for loss in LOSSES:
        note(f"exact: {loss}", lambda loss=loss: learned(loss))
        adapter = adapters[loss]
        methods[f"exact: {loss}"] |= {
            "C": adapter.path_.best[-1],
            "gap": float(adapter.path_.gaps.max()),
            "path": [(C, mean) for (*_, C), mean in zip(adapter.path_.candidates, adapter.path_.mean(), strict=True)],
        }
    adapter = adapters["AP"]
    note("adapter", lambda: adapter.components_.T @ adapter.components_)
    methods["adapter"] |= {"seconds": methods["exact: AP"]["seconds"], "kept": adapter.kept_}
    audit = None
    if torch is not None:
        for loss in ("triplet", "infonce"):
            methods[loss] = gradient_steps(data, train, held, loss, adapters["AUC"].scale_)
        if split == 0:
            fixed = cm.RetrievalAdapter("nDCG@10", loss="AUC", C=1e3, cv=2)
            fixed.fit(data.corpus, data.queries[train], data.qrels(train), query_ids=train)
            audit = audited(fixed.solution_.problem)
    for found in methods.values():
        found["scores"] = {measure: values.tolist() for measure, values in found["scores"].items()}
    sizes = [*data.corpus.shape, len(train), len(held)]
    return {"collection": name, "split": split, "sizes": sizes, "methods": methods, "audit": audit}


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


def tested(after: list[float], before: list[float]) -> int:
    """1 or -1 where a paired t-test over queries speaks at 5%, with its sign; 0 where it does not."""
    change = np.subtract(after, before)
    if not change.any() or ttest_rel(after, before).pvalue >= 0.05:
        return 0
    return int(np.sign(change.mean()))


def by_weight(records: list[dict[str, Any]]) -> str:
    """Mean nDCG@10 of training queries by metrics that were learned without their fold, by loss and C."""
    weights = [C for C, _ in records[0]["methods"][f"exact: {LOSSES[0]}"]["path"]]
    lines = ["| | loss | " + " | ".join(f"C = {C:g}" for C in weights) + " |", "|---|---|" + "--:|" * len(weights)]
    for name in dict.fromkeys(record["collection"] for record in records):
        for loss in LOSSES:
            paths = [one["methods"][f"exact: {loss}"]["path"] for one in records if one["collection"] == name]
            means = np.mean([[mean for _, mean in path] for path in paths], axis=0)
            cells = [f"**{mean:.4f}**" if mean == means.max() else f"{mean:.4f}" for mean in means]
            lines.append(f"| {name} | {loss} | {' | '.join(cells)} |")
    return "\n".join(lines)


def audits(records: list[dict[str, Any]]) -> str:
    """How far Adam's metric is from the certified optimum of the same objective."""
    lines = ["| | gap certified | seconds | Adam, of the optimum | best rate | seconds |", "|---|--:|--:|--:|--:|--:|"]
    for record in records:
        if (found := record["audit"]) is not None:
            exact, adam = (f"{found[key]:.1f}" for key in ("exact_seconds", "seconds"))
            above = f"{found['suboptimality']:+.1%}"
            lines.append(
                f"| {record['collection']} | {found['gap']:.1e} | {exact} | {above} | {found['rate']:g} | {adam} |"
            )
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
    """Change of nDCG@10 against the identity, a point a split; and by weight, of training queries held out."""
    from convexmetric.plotting import COLOURS

    names = list(dict.fromkeys(record["collection"] for record in records))
    with _panels(names, path) as axes:
        for ax, name in zip(axes, names, strict=True):
            own = [record["methods"] for record in records if record["collection"] == name]
            methods = [method for method in own[0] if method != "identity"][::-1]
            for at, method in enumerate(methods):
                both = [[one[m]["scores"]["nDCG@10"] for m in (method, "identity")] for one in own]
                changes = [np.subtract(*pair).mean() for pair in both]
                colour = COLOURS[0] if method.startswith("exact") or method == "adapter" else COLOURS[1]
                ax.plot(changes, [at] * len(own), "o", color=colour, ms=5, alpha=0.7)
            ax.axvline(0.0, color="#333333", lw=1.0)
            ax.set_yticks(range(len(methods)), methods)
            ax.locator_params(axis="x", nbins=4)
            ax.set_xlabel("change of nDCG@10")
    with _panels(names, path.with_stem(f"{path.stem}-weights")) as axes:
        for ax, name in zip(axes, names, strict=True):
            for loss in LOSSES:
                paths = [one["methods"][f"exact: {loss}"]["path"] for one in records if one["collection"] == name]
                means = np.mean([[mean for _, mean in path] for path in paths], axis=0)
                ax.plot(range(len(means)), means, "o-", label=loss)
            ax.set_xticks(range(len(means)), [f"{C:g}" for C, _ in paths[0]])
            ax.set_xlabel("C")
        axes[0].set_ylabel("nDCG@10")
        axes[0].legend(frameon=False)


@contextmanager
def _panels(names: list[str], path: Path) -> Iterator[list[Any]]:
    """A panel a collection, three in a row, saved at the end."""
    from matplotlib.figure import Figure

    from convexmetric.plotting import save_picture

    rows = -(-len(names) // 3)
    figure = Figure(figsize=(10.5, 3.2 * rows), layout="constrained")
    axes = figure.subplots(rows, 3, squeeze=False).ravel()
    for ax, name in zip(axes, names, strict=False):
        ax.set_title(name, fontsize="medium")
    for ax in axes[len(names) :]:
        ax.set_axis_off()
    yield list(axes[: len(names)])
    save_picture(figure, path)


def main() -> None:
    """Run what is not there yet, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--only", choices=COLLECTIONS, nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    lines = arguments.output.read_text().splitlines() if arguments.output.exists() else []
    records = [json.loads(line) for line in lines]
    if arguments.table or arguments.picture:
        print(markdown(records), by_weight(records), audits(records), sep="\n\n")
        if arguments.picture:
            picture(records, arguments.picture)
        return
    warnings.simplefilter("ignore")
    done = {(record["collection"], record["split"]) for record in records}
    for split in range(arguments.splits):
        for name in arguments.only:
            if (name, split) in done:
                continue
            record = split_record(name, split)
            with open(arguments.output, "a") as file:
                file.write(json.dumps(record) + "\n")
            print(markdown([record]), record["audit"] or "", flush=True)


if __name__ == "__main__":
    main()
