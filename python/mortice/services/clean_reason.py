"""Why a clean deletes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mortice.values.timeline import Instant, Timeline

__all__ = ["reason_of"]

POLICY = "hoodie.clean.policy"
COMMITS = "hoodie.clean.commits.retained"
VERSIONS = "hoodie.clean.fileversions.retained"
HOURS = "hoodie.clean.hours.retained"
DEFAULTS = {COMMITS: "10", VERSIONS: "3", HOURS: "24"}
WRITES = frozenset({"commit", "deltacommit", "replacecommit", "compaction", "clustering", "logcompaction"})


def reason_of(timeline: Timeline, options: Mapping[str, Any] | None) -> str:
    """Returns why a clean with these options finds nothing to delete.

    >>> writes = [Instant(str(n), None, "commit", "COMPLETED") for n in range(3)]
    >>> reason_of(Timeline(writes), None)
    'the table has 3 completed writes, and the last 10 are kept readable (hoodie.clean.commits.retained)'
    """
    given = {**DEFAULTS, **{name: str(value) for name, value in (options or {}).items()}}
    policy = given.get(POLICY, "KEEP_LATEST_COMMITS")
    writes = [one for one in timeline.active if one.action in WRITES]
    completed = [one for one in writes if one.is_completed]
    pending = next((one for one in writes if not one.is_completed), None)
    if policy == "KEEP_LATEST_FILE_VERSIONS":
        kept = f"no file group has more than {given[VERSIONS]} versions of its files ({VERSIONS})"
    elif policy == "KEEP_LATEST_BY_HOURS":
        kept = f"no file was replaced more than {given[HOURS]} hours ago ({HOURS})"
    else:
        retained = int(given[COMMITS]) if given[COMMITS].isdecimal() else 0
        if len(completed) <= retained:
            what = f"the table has {len(completed)} completed writes"
            return f"{what}, and the last {retained} are kept readable ({COMMITS})"
        kept = (
            f"no file was replaced before {completed[len(completed) - retained].requested_time}, the earliest of the "
        )
        kept += f"last {retained} writes ({COMMITS})"
    return f"{kept}; {_waiting(pending)}"


def _waiting(pending: Instant | None) -> str:
    if pending is not None:
        return f"{pending.action} {pending.requested_time} is pending, and what it may read is kept"
    return "files are replaced by compaction, clustering and updates of base files: until then, log files stay"
