"""Writes a bundled table again: the files of its instants, one after the other, in the order of its writer.

Requested and inflight files come first, then the data, then the completed file. A log file of several commits grows
with each of them. Archived instants, and files that no commit names, exist from the start; the metadata table is left
out.
"""

import shutil
from pathlib import Path

import mortice
from support.cases import with_properties


class Replay:
    """The table of a case while it grows in `folder`. `overtaken` maps a write to the number of later writes that
    complete before it."""

    def __init__(self, source, folder, overtaken=None):
        self.source, self.folder = Path(source), Path(folder)
        self.table = mortice.Table(source)
        self.version = self.table.version
        facts = self.table.timeline
        self.metadata = {one: facts.metadata(one) for one in facts.active if one.is_completed}
        self.timeline = ".hoodie" if self.version < 8 else ".hoodie/timeline"
        self._begin()
        self.steps = self._in_order(overtaken or {})

    def _begin(self):
        data = {path for facts in self.metadata.values() for path in _files(facts or {})}
        (self.folder / self.timeline).mkdir(parents=True)
        for file in self.source.rglob("*"):
            path = file.relative_to(self.source)
            own = str(path.parent) == self.timeline and path.name[0].isdigit()
            if file.is_dir() or path.parts[:2] == (".hoodie", "metadata") or own or str(path) in data:
                continue
            (self.folder / path.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, self.folder / path)
        with_properties(self.folder, {"hoodie.table.metadata.partitions": None})

    def _in_order(self, overtaken):
        """Returns (begin or end, instant) by time; below version 8 completion times are unknown."""
        steps = []
        for one in self.table.timeline.active:
            steps.append((one.requested_time, 0, one))
            if one.is_completed:
                steps.append((one.completion_time or one.requested_time, 1, one))
        steps = [(is_end, one) for _, is_end, one in sorted(steps, key=lambda step: step[:2])]
        for number, by in overtaken.items():
            writes = [one for is_end, one in steps if is_end and "commit" in one.action]
            steps.remove((1, writes[number]))
            steps.insert(steps.index((1, writes[number + by])) + 1, (1, writes[number]))
        return steps

    def step(self):
        """Writes the next instant. Returns true if there was one."""
        if not self.steps:
            return False
        is_end, instant = self.steps.pop(0)
        if is_end:
            for path, size in _files(self.metadata[instant] or {}).items():
                self._copy_data(path, size)
        for file in sorted((self.source / self.timeline).glob(f"{instant.requested_time}*")):
            is_pending = file.name.endswith((".requested", ".inflight"))
            of_it = file.name.split(".")[0].split("_")[0] == instant.requested_time
            if of_it and is_pending != bool(is_end):
                self._put(self.folder / self.timeline / file.name, file.read_bytes())
        return True

    def all(self):
        """Writes all remaining instants."""
        while self.step():
            pass

    def _copy_data(self, path, size):
        source, target = self.source / path, self.folder / path
        if not source.exists():
            return  # The file was cleaned.
        content = source.read_bytes()
        if ".log." in source.name and self.version < 8 and size:
            content = content[: max(size, target.stat().st_size if target.exists() else 0)]
        target.parent.mkdir(parents=True, exist_ok=True)
        self._put(target, content)

    @staticmethod
    def _put(path, content):
        aside = path.with_name(f"{path.name}.tmp")
        aside.write_bytes(content)
        aside.rename(path)


def _files(facts):
    """Returns the data files of a commit, with their sizes at that commit."""
    files = {}
    for stats in (facts.get("partitionToWriteStats") or {}).values():
        for stat in stats:
            if stat.get("path"):
                files[stat["path"]] = stat.get("fileSizeInBytes") or 0
            files |= dict.fromkeys(stat.get("cdcStats") or {}, 0)
    return files
