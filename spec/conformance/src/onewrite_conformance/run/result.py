"""Results of runs."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Result", "Status"]


class Status:
    """The states of a result."""

    OK = "ok"
    DEVIATES = "deviates"
    NOT_APPLICABLE = "not applicable"  # the driver has no such capability
    CANNOT_TELL = "cannot tell"  # the judge could not see it
    FAULT = "driver fault"  # hung, noisy, crashed: nothing is known of the library
    KNOWN = "known failure"
    STALE = "stale known failure"

    FAILING = frozenset({DEVIATES, FAULT, STALE})
    SKIPPED = frozenset({NOT_APPLICABLE, CANNOT_TELL, KNOWN})


@dataclass
class Result:
    """The result of one run of one adapter."""

    adapter: str
    path: str
    case: str
    client: str
    scheme: str
    route: str
    of: str  # the requirement
    status: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    title: str = ""
    base: str = ""
    by_stock: bool = False  # whether the driver is judged by its stock client
    unsteady: str = ""  # how it failed at first, if it passed when it was judged again

    @property
    def judged(self) -> bool:
        """Stock clients are run for the matrix and never fail the judge, unless a driver is judged by them."""
        return self.client != "stock" or self.by_stock

    @property
    def failing(self) -> bool:
        return self.judged and self.status in Status.FAILING
