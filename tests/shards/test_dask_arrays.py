"""Folders written chunk by chunk hold the same risk as one written from memory."""

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.regularizers import Trace
from convexmetric.shards import write, write_labels

da = pytest.importorskip("dask.array")


def points(n=45, offset=0.0):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.standard_normal((n, 4)) + 0.5 * y[:, None] + offset, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("options", [{"measure": "map"}, {"measure": "ndcg", "k": 4, "diagonal": True}])
def test_a_corpus_in_chunks_is_the_corpus(tmp_path, offset, options):
    X, y = points(offset=offset)
    risk = cm.RankingProblem.from_labels(X, y, C=7.0, **options).risk
    chunked = write_labels(
        da.from_array(X, chunks=(11, 3)), da.from_array(y, chunks=20), folder=tmp_path / "a", C=7.0, **options
    )
    whole = write(risk, tmp_path / "b")
    M = random_metric(np.random.default_rng(1), risk.cone)
    assert chunked.value(M) == whole.value(M)
    assert chunked.unit == pytest.approx(7.0)
    assert chunked.points[0].reaches == pytest.approx(whole.points[0].reaches)
    problems = [cm.MetricProblem(one, Trace(1.0)) for one in (chunked, whole)]
    assert problems[0].fingerprint() == problems[1].fingerprint()


def test_no_task_sees_more_than_its_chunk(tmp_path):
    """Neither does this process: blocks are made as they are asked for, and each is asked for with its rows only."""
    made = []

    def block(block_info=None):
        rows = block_info[None]["array-location"][0]
        made.append(rows[1] - rows[0])
        return np.random.default_rng(rows[0]).standard_normal((rows[1] - rows[0], 3))

    X = da.map_blocks(block, chunks=((20,) * 5, (3,)), dtype=float, meta=np.empty((0, 0)))
    write_labels(X, np.arange(100) % 2, folder=tmp_path)
    assert set(made) == {20}


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    X, y = points()
    stored = zarr.open(str(tmp_path / "X.zarr"), mode="w", shape=X.shape, chunks=(10, 4), dtype="f8")
    stored[:] = X
    sharded = write_labels(da.from_zarr(str(tmp_path / "X.zarr")), y, folder=tmp_path / "risk", measure="map")
    risk = cm.RankingProblem.from_labels(X, y, measure="map").risk
    assert sharded.value(np.eye(4)) == pytest.approx(risk.value(np.eye(4)), rel=1e-12)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = points()
    names = [f"x{j}" for j in range(4)]
    frames.from_pandas(pandas.DataFrame(X, columns=names).assign(label=y), npartitions=3).to_parquet(tmp_path / "X")
    table = frames.read_parquet(tmp_path / "X")
    sharded = write_labels(
        table[names].to_dask_array(), table["label"].compute().to_numpy(), folder=tmp_path / "risk", measure="map"
    )
    risk = cm.RankingProblem.from_labels(X, y, measure="map").risk
    assert sharded.value(np.eye(4)) == pytest.approx(risk.value(np.eye(4)), rel=1e-12)


def test_bad_input_is_told_before_anything_is_written(tmp_path):
    X, y = points()
    chunked = da.from_array(X, chunks=(15, 4))
    for words, call in {
        "must be a two-dimensional dask": lambda: write_labels(X, y, folder=tmp_path),
        "C must be a positive finite number": lambda: write_labels(chunked, y, folder=tmp_path, C=-1),
        "measure must be one of": lambda: write_labels(chunked, y, folder=tmp_path, measure="accuracy"),
        "one label a point": lambda: write_labels(chunked, y[:-1], folder=tmp_path),
        "X is empty": lambda: write_labels(chunked[:0], y[:0], folder=tmp_path),
    }.items():
        with pytest.raises(InputError, match=words):
            call()
    assert list(tmp_path.iterdir()) == []
    broken = X.copy()
    broken[20, 1] = np.nan
    with pytest.raises(InputError, match="chunk 1 of X: X contains NaN"):
        write_labels(da.from_array(broken, chunks=(15, 4)), y, folder=tmp_path)
