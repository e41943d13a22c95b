"""Every malformed call gets an error that names the argument and the fix: that of the table."""

import pytest
from bad_calls import answer, calls

from convexmetric import errors


@pytest.mark.parametrize(("call", "kind", "message"), calls(), ids=[call for call, _, _ in calls()])
def test_a_malformed_call_gets_the_error_of_the_table(call, kind, message):
    assert answer(call) == (kind, message)
    assert issubclass(getattr(errors, kind), errors.ConvexMetricError)


def test_the_table_is_long():
    assert len(calls()) > 250
