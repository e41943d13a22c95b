"""The metric as a service: images over HTTP are those of the metric, and bad requests are answered."""

import json
import threading
from urllib.error import HTTPError
from urllib.request import urlopen
from wsgiref.simple_server import WSGIRequestHandler, make_server

import numpy as np
import pytest
from service import MOST, service

import convexmetric as cm

NAMES = ["length", "width"]
L = np.array([[2.0, 1.0], [0.0, 3.0]])


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(params=[NAMES, None])
def asked(request, tmp_path):
    """The names of the columns, and a function that sends bytes and gives the status and the answer."""
    path = cm.evaluation.SimilarityOperator(L, feature_names=request.param).save(tmp_path / "m.npz")
    with make_server("localhost", 0, service(path), handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()

        def ask(body):
            try:
                with urlopen(f"http://localhost:{server.server_port}", body, timeout=10) as found:
                    return found.status, json.load(found)
            except HTTPError as error:
                return error.code, json.load(error)

        yield request.param, ask
        server.shutdown()


def test_images_over_http_are_those_of_the_metric(asked):
    names, ask = asked
    rows = [[1.0, 2.0], [0.5, -1.0]]
    sent = rows if names is None else [{"other": 0.0, "width": width, "length": length} for length, width in rows]
    status, found = ask(json.dumps(sent).encode())
    assert status == 200
    np.testing.assert_allclose(found["images"], rows @ L.T)


@pytest.mark.parametrize("body", [b"", b"[", b"[1, 2]", b"{}", b'[["a", "b"]]', b"[[NaN, 1]]", b"[[1]]", b"[" * 10**5])
def test_bad_requests_are_answered(asked, body):
    status, found = asked[1](body)
    assert (status, list(found)) == (400, ["error"])


def test_missing_columns_and_long_requests_are_named(tmp_path):
    path = cm.evaluation.SimilarityOperator(L, feature_names=NAMES).save(tmp_path / "m.npz")
    application, said = service(path), []
    for size, sent in ((MOST + 1, b""), (15, b'[{"length": 1}]')):
        environ = {
            "CONTENT_LENGTH": str(size),
            "wsgi.input": type("Sent", (), {"read": lambda _, n, sent=sent: sent})(),
        }
        said.append(json.loads(b"".join(application(environ, lambda *_: None)))["error"])
    assert said == [f"a request has at most {MOST} bytes", "a row has no 'width'"]
