"""Every malformed call gets an error that names the argument and the fix."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("bad_calls", Path(__file__).with_name("bad_calls.py"))
bad_calls = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bad_calls)


@pytest.mark.parametrize(("call", "kind", "words"), bad_calls.CALLS, ids=[call for call, _, _ in bad_calls.CALLS])
def test_the_message_names_argument_and_fix(call, kind, words):
    with pytest.raises(kind, match=words):
        eval(call, dict(bad_calls.NAMES))


def test_the_committed_page_is_current():
    assert bad_calls.page() == bad_calls.PAGE.read_text(encoding="utf-8")
