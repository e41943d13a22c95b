"""A learned metric over HTTP: rows go in, and images come out, whose Euclidean distances are the learned ones.

    convexmetric fit wine.csv --label cultivar --save metric.npz
    python examples/service.py metric.npz                         to try it: one process, port 8000
    gunicorn --chdir examples --workers 2 'service:service("metric.npz")'

    curl --data '[{"alcohol": 13.2, ...}]' localhost:8000

A row is an object with the names of the columns, in any order, or a list of numbers where the metric knows no names.
"""

import json
import sys
from wsgiref.simple_server import make_server

import convexmetric as cm

#: Largest request in bytes.
MOST = 2**24


def service(path):
    """Read a metric, and make of it an application that any server of WSGI (PEP 3333) runs."""
    metric = cm.estimators.SavedMetric.load(path)
    operator, names = cm.evaluation.SimilarityOperator(metric.components, metric.embedding), metric.feature_names

    def application(environ, start_response):
        status, answer = "200 OK", {}
        try:
            size = int(environ.get("CONTENT_LENGTH") or 0)
            if size > MOST:
                raise ValueError(f"a request has at most {MOST} bytes")
            rows = json.loads(environ["wsgi.input"].read(size))
            if names is not None:
                rows = [[row[name] for name in names] for row in rows]
            answer["images"] = operator.transform(rows).tolist()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            status = "400 Bad Request"
            answer["error"] = f"a row has no {error}" if isinstance(error, KeyError) else str(error)
        body = json.dumps(answer).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    return application


if __name__ == "__main__":
    with make_server("localhost", 8000, service(sys.argv[1])) as server:
        server.serve_forever()
