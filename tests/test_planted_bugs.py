"""The bugs that are planted to try the tests still have a place, and one of them is found."""

import plant_bugs
import pytest


def test_every_bug_has_a_place(capsys):
    assert plant_bugs.main(["--list"]) == 0, capsys.readouterr().out


@pytest.mark.integration
def test_a_planted_bug_is_found(capsys):
    assert plant_bugs.main(["--only", "AUC forgets"]) == 0
    assert "1 killed" in capsys.readouterr().out


@pytest.mark.integration
def test_a_change_of_nothing_survives(tmp_path, monkeypatch):
    same = "theta = 1.0 if top <= self.reg else self.reg / top"
    listed = tmp_path / "bugs.toml"
    entry = [
        "[[bug]]",
        'what = "nothing"',
        'file = "regularizers/trace.py"',
        f"old = '{same}'",
        f"new = '{same}  # as it is'",
    ]
    listed.write_text("\n".join([*entry, 'tests = ["tests/losses"]']))
    monkeypatch.setattr(plant_bugs, "BUGS", listed)
    assert plant_bugs.main([]) == 1
