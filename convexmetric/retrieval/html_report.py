"""The page of ``convexmetric adapt --report``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convexmetric.cli.pages import certified, paragraph, picture, reproduced, section, write_page
from convexmetric.plotting import plot_query_changes
from convexmetric.retrieval.adapter import RetrievalAdapter


def write_adapter_report(path: Path, adapter: RetrievalAdapter, command: str) -> None:
    """Write the page of ``adapt``, all or nothing."""
    title = "A linear map for retrieval" if adapter.kept_ else f"A linear map for retrieval: {adapter.result_}"
    write_page(path, title, _sections(adapter, command))


def _sections(adapter: RetrievalAdapter, command: str) -> Iterator[str]:
    held, solution = adapter.held_out_, adapter.solution_
    yield paragraph(adapter.verdict, "claim")
    how = (
        "Every query is scored by a map that was learned, and whose loss and weight were chosen, without its fold; so "
        f"are those beside it ({', '.join(held.beside) or 'none'}). The test is two-sided and takes the learned maps "
        f"as given: it speaks of other queries to the same corpus. {held.power}"
    )
    changes = picture(lambda ax: plot_query_changes(held, ax=ax), "Change of every query", "")
    yield section("Does it help on new queries?", held, how, changes)
    yield section("What was tried", adapter.path_)
    if adapter.kept_ and solution is not None:
        yield certified(solution)
    if adapter.on_bounds:
        yield paragraph(f"What is returned is {adapter.result_}: {adapter.on_bounds}.")
    yield reproduced(command)
