"""Suites of instances: frozen lists."""

import json

import pytest

from convexmetric.bench import list_problems, load_instance, load_suite, suites
from convexmetric.errors import InputError

NAMES = ("small", "paper", "large")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The folder of instances, copied where it may be changed."""
    for file in suites.library_folder().iterdir():
        if file.name.endswith((".toml", ".json")):
            (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(suites, "library_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_suites_are_as_they_were_frozen(name):
    suite = load_suite(name)
    assert set(suite.instances) <= set(list_problems())
    assert len(set(suite.instances)) == len(suite.instances)
    assert str(suite) == f"{name}-{suite.version}"


def test_the_small_suite_has_every_statement_that_bundled_data_allow():
    instances = [load_instance(name) for name in load_suite("small").instances]
    assert len(instances) <= 20
    assert not any(instance.needs_data_folder for instance in instances)
    library = [load_instance(name) for name in list_problems()]
    kinds = {one.statement for one in library if not (one.needs_data_folder or one.open)}
    # Its gap was closed after the suite was frozen.
    assert {instance.statement for instance in instances} == kinds - {"CollapsingClassesProblem"}


def test_the_open_suite_has_the_open_instances():
    assert [*load_suite("open").instances] == [name for name in list_problems() if load_instance(name).open]


def test_the_suite_of_papers_has_the_instances_of_five_papers():
    classes = (
        "RankingProblem",
        "RelativeComparisonProblem",
        "TripletProblem",
        "PairMarginProblem",
        "CrossModalProblem",
    )
    names = load_suite("paper").instances
    assert {load_instance(name).statement.partition(".")[0] for name in names} == set(classes)
    assert not any(name.startswith("blocks-") for name in names)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("C = 1.0", "C = 2.0", False),
        ("seed = 0", "seed = 1", False),
        ('sha256 = "58', 'sha256 = "59', False),
        ("lower = 117.0", "lower = 116.0", True),
        ("Relative comparisons on wine", "Comparisons of wines", True),
    ],
)
def test_a_change_of_an_instance_needs_a_new_version(copied, before, after, kept):
    file = copied / "relative-wine-1000.toml"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")
    if kept:
        assert load_suite("small").version == 1
    else:
        with pytest.raises(InputError, match="suite small-1 is not what it was"):
            load_suite("small")


def test_a_further_suite_is_an_entry_of_the_file(copied):
    known = json.loads((copied / "suites.json").read_text(encoding="utf-8"))
    digest = suites.statements_digest(("relative-wine-hard",))
    known["mine"] = {"version": 3, "sha256": digest, "instances": ["relative-wine-hard"]}
    (copied / "suites.json").write_text(json.dumps(known), encoding="utf-8")
    assert str(load_suite("mine")) == "mine-3"


def test_a_suite_that_there_is_not_is_an_error():
    with pytest.raises(InputError, match="suite must be one of 'small', 'paper', 'large', 'open', got 'huge'"):
        load_suite("huge")
