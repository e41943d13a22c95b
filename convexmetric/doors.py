"""Typed access of the core to the optional subpackages, the rooms, by a door each.

The rooms (``approximate``, ``bench``, ``retrieval``, ``shards``) import the core, and no module of the core imports
them: it opens a :class:`Door`, where the room is installed. A protocol declares for each door what the core uses of the
room, and type checkers verify that the room has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from convexmetric.errors import NotInstalledError

if TYPE_CHECKING:
    import convexmetric.approximate
    import convexmetric.bench
    import convexmetric.retrieval.judgements
    import convexmetric.shards.backends
    import convexmetric.shards.writing
    from convexmetric.bench import AuditTrail, Instance
    from convexmetric.problem import MetricProblem
    from convexmetric.retrieval.judgements import Judged
    from convexmetric.solvers import Solver

#: Optional subpackages, without which the core works.
ROOMS = ("approximate", "bench", "retrieval", "shards")

Inside = TypeVar("Inside", covariant=True)


@dataclass(frozen=True)
class Door(Generic[Inside]):
    """A module of a room, such as ``bench`` or ``shards.writing``, typed by the protocol that the core uses."""

    module: str

    def open(self) -> Inside:
        """Import the module.

        Raises
        ------
        NotInstalledError
            If this copy of the package has no such room.
        """
        module = f"{__package__}.{self.module}"
        try:
            return cast(Inside, import_module(module))
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            raise NotInstalledError(f"this copy of the package has no folder {error.name.replace('.', '/')}") from error


class Library(Protocol):
    """The library of instances, and audits of iterates."""

    def list_problems(self) -> list[str]:
        """Return the names of all instances."""

    def load_instance(self, name: str) -> Instance:
        """Return an instance by its name."""

    @property
    def audit_iterates(self) -> Callable[..., AuditTrail]:
        """Bound the suboptimality of iterates."""

    @property
    def plot_trails(self) -> Callable[..., Any]:
        """Draw trails of iterates."""

    @property
    def AuditTrail(self) -> type[AuditTrail]:
        """Suboptimality along iterates."""


class Descents(Protocol):
    """Approximate solvers."""

    @property
    def DESCENTS(self) -> Mapping[str, type[Solver]]:
        """Classes by their names for ``solver=``."""


class Spreading(Protocol):
    """Risks on engines of many processes."""

    def spread(self, problem: MetricProblem, engine: Any) -> AbstractContextManager[MetricProblem]:
        """Move the risk of a problem to an engine while the context lasts."""


class Engines(Protocol):
    """Engines of many processes."""

    def picklable(self, engine: Any) -> Any:
        """Convert an engine to a form that can be pickled."""


class Judgements(Protocol):
    """Judgements of documents for queries."""

    @property
    def judged_relevance(self) -> Callable[..., Judged]:
        """Make the relevance of rows from judgements."""


LIBRARY: Door[Library] = Door("bench")
DESCENTS: Door[Descents] = Door("approximate")
SPREADING: Door[Spreading] = Door("shards.writing")
ENGINES: Door[Engines] = Door("shards.backends")
JUDGEMENTS: Door[Judgements] = Door("retrieval.judgements")
#: Modules that add commands.
COMMANDS: tuple[Door[Any], ...] = (Door("bench.command"), Door("retrieval.command"))

if TYPE_CHECKING:
    # Here type checkers verify that each room has what its protocol declares.
    _library: Library = convexmetric.bench
    _descents: Descents = convexmetric.approximate
    _spreading: Spreading = convexmetric.shards.writing
    _engines: Engines = convexmetric.shards.backends
    _judgements: Judgements = convexmetric.retrieval.judgements
