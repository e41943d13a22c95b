"""The size of the repository, held to the figures of ``[tool.convexmetric.size]`` in ``pyproject.toml``."""

import tomllib
from pathlib import Path

import pytest
from structure import code_lines, figures, files, sizes

ROOT = Path(__file__).resolve().parents[1]
LIMITS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["convexmetric"]["size"]

SOURCE = '''"""A module.

With more to say.
"""

# A comment.
from x import y  # and another

NAMES = (
    "a",
    1,
)
TEXT = f"""a string,
{NAMES}
of three lines"""


class A:
    """A class."""

    field: int = 0
    """No docstring to Python."""

    def method(self):
        """One
        of two lines."""
        return self.form(
            y
        )

    async def other(self): "on its line"; return 1
'''


def test_a_line_of_code_has_a_name():
    # The import, two assignments, the class, its field, the method, two of its return, and the last line.
    assert code_lines(SOURCE) == 1 + 2 + 1 + 1 + 1 + 2 + 1
    assert code_lines('"""Nothing else."""\n') == 0


@pytest.fixture(scope="module")
def measured():
    return sizes(ROOT)


@pytest.mark.parametrize("what", [name for name in LIMITS if name not in ("root_names", "solver_settings")])
def test_nothing_grows_beyond_its_limit(measured, what):
    assert measured[what] <= LIMITS[what], (
        f"{what} has grown beyond {LIMITS[what]:,}: say once what is said twice, or raise the limit in the commit that "
        "needs it, with the reason in its message"
    )


def test_files_are_counted_where_they_are(measured):
    assert measured["convexmetric"] == sum(
        count for name, count in measured.items() if name.startswith("convexmetric/")
    )
    assert 0 < measured["core"] < measured["convexmetric"]
    assert Path(__file__) in files(ROOT, "tests", ".py")


@pytest.mark.integration
def test_names_settings_and_the_way_of_one_fit():
    found = figures(ROOT)
    assert found["root_names"] <= LIMITS["root_names"]
    assert found["solver_settings"] <= LIMITS["solver_settings"]
    assert 0 < found["of these solver files"] < found["files that MLR on wine runs"]
