r"""Export of a learned metric to search engines, as a linear map for NumPy, safetensors, ONNX, FAISS and SQL.

A metric :math:`M = L^\top L` ranks documents x for a query q by :math:`(q - x)^\top M (q - x)`. A form determines how
vectors are mapped; queries always go through an affine map :math:`A q + b`:

=================  ===========================  =====================================  =================================
form               queries                      documents                              nearest by
=================  ===========================  =====================================  =================================
``distance``       :math:`L q`                  :math:`L x`                            Euclidean distance: the metric's
``augmented``      :math:`(M q, 1)`             :math:`(x, -\frac12 x^\top M x)`       largest inner product: the
                                                                                       metric's ranking
``inner-product``  :math:`M q`                  x, as they are                         largest inner product
                                                                                       :math:`q^\top M x`: **another
                                                                                       ranking**
``query``          :math:`W^\top q`             x, as they are                         largest inner product
                                                                                       :math:`q^\top W x`
=================  ===========================  =====================================  =================================

``distance`` is the form for an index that can be rebuilt. ``augmented`` leaves the documents' vectors as they are
and stores one more number for each:

.. math:: -\tfrac12 (q - x)^\top M (q - x) = (M q)^\top x - \tfrac12 x^\top M x - \tfrac12 q^\top M q,

where the last term is the same for all documents. Use an index that compares a query with every document: one that
searches a graph may miss the largest inner products. ``inner-product`` is for an index of inner products that
cannot be changed: it drops :math:`x^\top M x`, and so ranks by the bilinear similarity and not by the learned distance;
the two agree where all documents have the same norm under M. ``query`` is for a matrix W of similarities, learned for
this purpose (``RetrievalAdapter(side="query")``), and has no other form: the index stays as it is, and nothing is
dropped.

===============  =====================================================================================================
``numpy``        ``.npz``: ``weight`` (A), ``bias`` (b) where there is one; with a corpus ``documents``. In double
                 precision
``safetensors``  the same as ``linear.weight``, ``linear.bias``, as ``torch.nn.Linear`` names them. In single precision
``onnx``         a model from ``vectors`` (n, d) to ``images``: one Gemm. In single precision
``faiss``        an index of the corpus that takes queries as the encoder gives them; without a corpus the query's
                 transform, or for ``distance`` an empty index, to which documents are added as they are. In single
                 precision
``sql``          tables and views in standard SQL, which a corpus can be loaded into. In double precision
===============  =====================================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.arguments import check_one_of
from convexmetric.arrays import Array, real_array
from convexmetric.audits import read_map
from convexmetric.comparisons.points import as_points, check_width
from convexmetric.errors import InputError
from convexmetric.evaluation import SimilarityOperator
from convexmetric.files import all_or_nothing, check_writable
from convexmetric.imports import optional
from convexmetric.solution import Solution

__all__ = ["FORMATS", "FORMS", "SUFFIXES", "Adapter", "read_adapter", "register_onnx", "write"]

FORMS = ("distance", "augmented", "inner-product", "query")
#: Rows of a table that one statement of SQL inserts.
ROWS = 500


@dataclass(frozen=True)
class Adapter:
    """A linear map L in one of the forms in which an index can use it.

    Attributes
    ----------
    components : (rank, d) array
        L, where L^T L is the metric; for the form ``"query"`` the map of queries, W^T.
    form : str
        ``"distance"``, ``"augmented"``, ``"inner-product"`` or ``"query"``.
    """

    components: Array
    form: str = "distance"

    def __post_init__(self) -> None:
        L = np.ascontiguousarray(real_array(self.components, "components"))
        if L.ndim != 2 or not L.size or not np.isfinite(L).all():
            raise InputError(f"components must be a finite (rank, features) matrix, got shape {L.shape}")
        check_one_of(self.form, FORMS, "form")
        object.__setattr__(self, "components", L)

    @property
    def is_identity(self) -> bool:
        """Whether L is the identity, as for an adapter that was not kept."""
        return np.array_equal(self.components, np.eye(self.components.shape[1]))

    @property
    def weight(self) -> Array:
        """A, the matrix of the queries' map."""
        L = self.components
        if self.form in ("distance", "query"):
            return L
        M = L.T @ L
        return M if self.form == "inner-product" else np.vstack([M, np.zeros(len(M))])

    @property
    def bias(self) -> Array | None:
        """b, the offset of the queries' map; None for no offset."""
        return np.append(np.zeros(self.components.shape[1]), 1.0) if self.form == "augmented" else None

    def queries(self, Q: Any) -> Array:
        """Map queries in rows: ``A q + b``."""
        images = np.asarray(self._points(Q, "queries", self.components.shape[1]) @ self.weight.T)
        return images if self.bias is None else images + self.bias

    def documents(self, X: Any) -> Array:
        """Map documents in rows to the vectors that an index stores."""
        points = self._points(X, "corpus", self.components.shape[0 if self.form == "query" else 1])
        if self.form in ("inner-product", "query"):
            return points
        images = np.asarray(points @ self.components.T)
        if self.form == "distance":
            return images
        return np.column_stack([points, -0.5 * np.einsum("ij,ij->i", images, images)])

    def _points(self, X: Any, name: str, features: int) -> Array:
        points = as_points(X, name)
        check_width(points, features, f"{name} has", "the map takes")
        return np.asarray(points)


def read_adapter(source: Any, form: str | None = None) -> Adapter:
    """Read the linear map of a file, an estimator, a solution, an operator, or a matrix L.

    Parameters
    ----------
    source : path, estimator, Solution, SimilarityOperator, or (rank, d) array
        A file has ``components`` (``SimilarityOperator.save``, ``convexmetric fit --save``) or is one that
        ``convexmetric audit`` reads, with a metric; or ``side`` and ``query_map``, a map of queries alone.
    form : str, optional
        ``"distance"``, the default, ``"augmented"`` or ``"inner-product"``; ``"query"`` for a map of queries alone, or
        to treat a matrix as one.

    Raises
    ------
    InputError
        If there is no such map, it acts on coordinates under a kernel and not on vectors, or exactly one
        of the map and the form is for queries alone.
    """
    side, found = _map_in(source)
    if form is None:
        form = "query" if side == "query" else "distance"
    if side is not None and (side == "query") != (form == "query"):
        maps, fix = ("queries alone", "'query'") if side == "query" else ("both sides", "another than 'query'")
        raise InputError(f"the map is of {maps}, which form {form!r} is not for; take {fix}, or leave form out")
    return Adapter(found, form)


def _map_in(source: Any) -> tuple[str | None, Any]:
    """Find a map, and its side: ``"both"``, ``"query"``, or None for a matrix that may be either."""
    if isinstance(source, Adapter):
        return ("query" if source.form == "query" else "both"), source.components
    if isinstance(source, str | os.PathLike):
        return read_map(source)[:2]
    if isinstance(source, Solution):
        if source.problem.cone.free:
            return "query", source.M.T
        source = SimilarityOperator.of(source)
    if getattr(source, "embedding", None) is not None or getattr(source, "embedding_", None) is not None:
        raise InputError("a metric under a kernel acts on no vectors that a linear map could take")
    for name in ("components", "components_"):
        if hasattr(source, name):
            return getattr(source, "side_", "both"), getattr(source, name)
    return None, source


def write(source: Any, path: str | os.PathLike[str], to: str, form: str | None = None, corpus: Any = None) -> Path:
    """Write a linear map in the format of a search library or database.

    Parameters
    ----------
    source
        As for :func:`read_adapter`.
    path : path
        File to write, all or nothing.
    to : str
        ``"numpy"``, ``"safetensors"``, ``"onnx"``, ``"faiss"`` or ``"sql"``.
    form : str, optional
        ``"distance"``, the default, ``"augmented"``, ``"inner-product"``; ``"query"`` for maps of queries alone.
    corpus : (n, d) array, optional
        Vectors of the documents, as the encoder returns them; the vectors to index are written to the file, in every
        format except ``"onnx"``.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If an argument is malformed, or the file cannot be written.
    NotInstalledError
        If the format's package is not installed; the message has the command.

    Examples
    --------
    >>> import tempfile, numpy as np, convexmetric as cm
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = cm.retrieval.export.write(np.diag([2.0, 1.0]), f"{folder.name}/map.npz", "numpy", form="augmented")
    >>> {name: array.tolist() for name, array in np.load(path).items()}
    {'weight': [[4.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 'bias': [0.0, 0.0, 1.0]}
    """
    check_one_of(to, FORMATS, "to")
    if to == "onnx" and corpus is not None:
        raise InputError("an ONNX model holds no documents; leave corpus out")
    adapter, target = read_adapter(source, form), Path(path)
    check_writable(target)
    with all_or_nothing(target) as unfinished:
        FORMATS[to](adapter, unfinished, None if corpus is None else adapter.documents(corpus))
    return target


def register_onnx(*kinds: type) -> None:
    """Let ``skl2onnx`` convert pipelines with estimators of these classes.

    Without any, it is :class:`~convexmetric.estimators.SavedMetric`.

    Raises
    ------
    NotInstalledError
        If ``skl2onnx`` is not installed.
    """
    skl2onnx = optional("skl2onnx", "export", "a pipeline in ONNX")
    # Late: scikit-learn takes longer to import than all else, and the command line imports this module.
    from convexmetric.estimators.saved import SavedMetric

    for kind in kinds or (SavedMetric,):
        alias = f"Convexmetric{kind.__name__}"
        skl2onnx.update_registered_converter(kind, alias, _note_shape, _convert, parser=partial(_parse, alias))


def _parse(alias: str, scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    # Without a parser of its own a classifier would be converted for its predictions.
    made = scope.declare_local_operator(alias, model)
    made.inputs = inputs
    made.outputs.append(scope.declare_local_variable("images", type(inputs[0].type)()))
    return made.outputs


def _note_shape(operator: Any) -> None:
    rows = len(read_adapter(operator.raw_operator).weight)
    operator.outputs[0].type = type(operator.inputs[0].type)([None, rows])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    types, weight = import_module("skl2onnx.common.data_types"), read_adapter(operator.raw_operator).weight.T
    (given,), (images,), name = operator.inputs, operator.outputs, scope.get_unique_variable_name("weight")
    container.add_initializer(name, types.guess_proto_type(given.type), weight.shape, weight.ravel().tolist())
    container.add_node("MatMul", [given.full_name, name], [images.full_name], name=scope.get_unique_operator_name("M"))


def _arrays(adapter: Adapter, documents: Array | None) -> dict[str, Array]:
    found = {"weight": adapter.weight, "bias": adapter.bias, "documents": documents}
    return {name: np.ascontiguousarray(array) for name, array in found.items() if array is not None}


def _write_numpy(adapter: Adapter, path: Path, documents: Array | None) -> None:
    with open(path, "xb") as file:
        np.savez(file, **_arrays(adapter, documents))  # type: ignore[arg-type]


def _write_safetensors(adapter: Adapter, path: Path, documents: Array | None) -> None:
    save = optional("safetensors.numpy", "export", "the format safetensors").save
    arrays = _arrays(adapter, documents)
    names = {name: name if name == "documents" else f"linear.{name}" for name in arrays}
    tensors = {names[name]: array.astype(np.float32) for name, array in arrays.items()}
    # The library's own files can be read by their owner only.
    path.write_bytes(save(tensors, {"form": adapter.form}))


def _write_onnx(adapter: Adapter, path: Path, documents: Array | None) -> None:
    onnx = optional("onnx", "export", "the format onnx")
    helper, single = onnx.helper, onnx.TensorProto.FLOAT
    arrays = _arrays(adapter, None)
    constants = [onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    rows, d = adapter.weight.shape
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["vectors", *arrays], ["images"], transB=1)],
        f"convexmetric {adapter.form}",
        [helper.make_tensor_value_info("vectors", single, ["n", d])],
        [helper.make_tensor_value_info("images", single, ["n", rows])],
        constants,
    )
    # Versions old enough for the runtimes in use.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _write_faiss(adapter: Adapter, path: Path, documents: Array | None) -> None:
    faiss = optional("faiss", "export", "the format faiss")
    rows, d = adapter.weight.shape
    transform = faiss.LinearTransform(d, rows, adapter.bias is not None)
    faiss.copy_array_to_vector(adapter.weight.astype(np.float32).ravel(), transform.A)
    if adapter.bias is not None:
        faiss.copy_array_to_vector(adapter.bias.astype(np.float32), transform.b)
    transform.is_trained = True
    if documents is None and adapter.form != "distance":
        # An index that transforms would map documents added later like queries, so write the queries' transform alone.
        faiss.write_VectorTransform(transform, str(path))
        return
    flat = faiss.IndexFlatL2(rows) if adapter.form == "distance" else faiss.IndexFlatIP(rows)
    if documents is not None:
        flat.add(np.ascontiguousarray(documents, dtype=np.float32))
    faiss.write_index(faiss.IndexPreTransform(transform, flat), str(path))


def _write_sql(adapter: Adapter, path: Path, documents: Array | None) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.writelines(f"{statement};\n" for statement in _statements(adapter, documents))


def _statements(adapter: Adapter, documents: Array | None) -> Iterator[str]:
    """Yield the SQL statements: tables of entries, and views of images and of the ranking."""
    number = "component INTEGER NOT NULL, value DOUBLE PRECISION NOT NULL"
    yield f"CREATE TABLE adapter_weight (row INTEGER NOT NULL, {number})"
    yield f"CREATE TABLE adapter_bias ({number})"
    yield f"CREATE TABLE queries (query INTEGER NOT NULL, {number})"
    yield f"CREATE TABLE stored_documents (document INTEGER NOT NULL, {number})"
    yield from _inserts("adapter_weight", adapter.weight)
    if adapter.bias is not None:
        yield from _inserts("adapter_bias", adapter.bias[None], lambda row, component: f"{component}")
    if documents is not None:
        yield from _inserts("stored_documents", documents)
    yield (
        "CREATE VIEW query_images AS SELECT query, component, SUM(value) AS value FROM ("
        "SELECT q.query, w.row AS component, w.value * q.value AS value FROM queries q JOIN adapter_weight w "
        "ON w.component = q.component UNION ALL "
        "SELECT q.query, b.component, b.value FROM (SELECT DISTINCT query FROM queries) q CROSS JOIN adapter_bias b"
        ") parts GROUP BY query, component"
    )
    product = (
        "SELECT i.query, d.document, SUM(i.value * d.value) AS value FROM query_images i JOIN stored_documents d "
        "ON d.component = i.component GROUP BY i.query, d.document"
    )
    yield f"CREATE VIEW inner_products AS {product}"
    if adapter.form == "distance":
        # The query's squared norm is left out, as it is the same for all documents.
        yield (
            "CREATE VIEW ranking AS SELECT p.query, p.document, 2 * p.value - n.value AS score FROM inner_products p "
            "JOIN (SELECT document, SUM(value * value) AS value FROM stored_documents GROUP BY document) n "
            "ON n.document = p.document"
        )
    else:
        yield "CREATE VIEW ranking AS SELECT query, document, value AS score FROM inner_products"


def _inserts(table: str, matrix: Array, key: Callable[[int, int], str] = "{}, {}".format) -> Iterator[str]:
    """Yield SQL statements that insert the entries of a matrix, with their row and column numbers."""
    for first in range(0, matrix.size, ROWS):
        places = zip(*np.unravel_index(np.arange(first, min(first + ROWS, matrix.size)), matrix.shape), strict=True)
        values = ", ".join(f"({key(int(i), int(j))}, {float(matrix[i, j])!r})" for i, j in places)
        yield f"INSERT INTO {table} VALUES {values}"


#: Suffix of the files of each format, and the function that writes it.
SUFFIXES = {"numpy": ".map.npz", "safetensors": ".safetensors", "onnx": ".onnx", "faiss": ".faiss", "sql": ".sql"}
FORMATS: dict[str, Callable[[Adapter, Path, Array | None], None]] = {
    "numpy": _write_numpy,
    "safetensors": _write_safetensors,
    "onnx": _write_onnx,
    "faiss": _write_faiss,
    "sql": _write_sql,
}
