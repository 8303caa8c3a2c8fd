"""A writer of tables that change over time: it commits, compacts, cleans and archives as Hudi does, step by step.

Commit n writes every key again with the value n, and one new key: so a consistent snapshot has the same value in all
rows. Each partition is one file group.

    python -m support.tables.live_table <folder> <version> <steps>        a writer that runs until it is killed

State files are created in Hudi's order: requested, inflight, data, completed; a clean's plan before the first deletion.
"""

import io
import itertools
import json
import sys
import time
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from support.oracle import Field, Merging
from support.oracle.model import EVENT_TIME, META
from support.tables.log_writer import avro_block
from support.tables.table_writer import COMMIT_METADATA, Partitioning, arrow_table, avro_schema, properties

FIELDS = (Field("id", "string"), Field("part", "string"), Field("value", "long"), Field("ts", "long"))
MERGING = Merging(FIELDS, EVENT_TIME, ("ts",))
PARTITIONING = Partitioning(("part",), "SIMPLE")
FIRST_DAY = "20260101"
BLOCK = avro_schema(FIELDS, {field.name for field in FIELDS})


def _record(name, **fields):
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": ["null", kind], "default": None} for field, kind in fields.items()],
    }


def _array(items):
    return {"type": "array", "items": items}


def _map(values):
    return {"type": "map", "values": values}


OPERATION = _record(
    "HoodieCompactionOperation",
    baseInstantTime="string",
    deltaFilePaths=_array("string"),
    dataFilePath="string",
    fileId="string",
    partitionPath="string",
)
COMPACTION_PLAN = _record("HoodieCompactionPlan", operations=_array(OPERATION), version="int")
CLEAN_FILE = _record("HoodieCleanFileInfo", filePath="string", isBootstrapBaseFile="boolean")
CLEAN_PLAN = _record(
    "HoodieCleanerPlan",
    filesToBeDeletedPerPartition=_map(_array("string")),
    filePathsToBeDeletedPerPartition=_map(_array(CLEAN_FILE)),
    version="int",
)
CLEAN_METADATA = _record("HoodieCleanMetadata", earliestCommitToRetain="string", version="int")
SAVEPOINT = _record(
    "HoodieSavepointMetadata",
    comments="string",
    partitionMetadata=_map(
        _record("HoodieSavepointPartitionMetadata", partitionPath="string", savepointDataFile=_array("string"))
    ),
)


def avro(schema, record):
    """Returns an Avro container file with one record."""
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema), [record])
    return file.getvalue()


class LiveTable:
    """A table under write."""

    def __init__(self, folder, version, partitions=3, clock=None):
        self.folder, self.version = Path(folder), version
        self.partitions = [f"p{number}" for number in range(partitions)]
        self.timeline = self.folder / ".hoodie" if version < 8 else self.folder / ".hoodie" / "timeline"
        self.timeline.mkdir(parents=True)
        text = properties(MERGING, version, PARTITIONING)
        self.put(self.folder / ".hoodie" / "hoodie.properties", text.encode())
        self._ticks = clock or itertools.count(1)
        self.commits = 0
        self.history = []
        """(requested, completion, action) of completed instants that are not archived."""
        self.written = []
        """Requested times of the completed delta commits."""
        self.slices = {partition: [] for partition in self.partitions}
        """By partition, oldest first: (base instant, base file or None, log files)."""
        for partition in self.partitions:
            (self.folder / partition).mkdir()
            self.put(self.folder / partition / ".hoodie_partition_metadata", b"commitTime=0\npartitionDepth=1\n")

    def tick(self):
        """Returns a new time."""
        seconds, millis = divmod(next(self._ticks), 1000)
        hours, seconds = divmod(seconds, 3600)
        return f"{FIRST_DAY}{hours:02}{seconds // 60:02}{seconds % 60:02}{millis:03}"

    @staticmethod
    def put(path, content):
        """Writes a file atomically."""
        aside = path.with_name(f"{path.name}.tmp")
        aside.write_bytes(content)
        aside.rename(path)

    def pending(self, action, content=b"", *, requested=None):
        """Requests and starts an action; returns its requested time."""
        time_ = requested or self.tick()
        self.put(self.timeline / f"{time_}.{action}.requested", content)
        inflight = f"{time_}.inflight" if action == "commit" else f"{time_}.{action}.inflight"
        self.put(self.timeline / inflight, b"")
        return time_

    def completed(self, requested, action, content):
        """Completes an action; returns its position, which bounds of queries are compared with."""
        completion = self.tick()
        times = requested if self.version < 8 else f"{requested}_{completion}"
        self.put(self.timeline / f"{times}.{action}", content)
        self.history.append((requested, None if self.version < 8 else completion, action))
        return requested if self.version < 8 else completion

    def metadata(self, paths, operation):
        stats = {
            partition: [{"fileId": f"f-{partition}", "path": f"{partition}/{name}", "prevCommit": "null"}]
            for partition, name in paths.items()
        }
        facts = {
            "partitionToWriteStats": stats,
            "compacted": operation == "COMPACT",
            "extraMetadata": {"schema": json.dumps(avro_schema(FIELDS))},
            "operationType": operation,
        }
        return json.dumps(facts).encode() if self.version < 8 else avro(COMMIT_METADATA, facts)

    def rows(self, partition, commit, instant, *, keys=None):
        """Returns the rows that a commit writes to a partition."""
        at = self.partitions.index(partition)
        rows = []
        for key in range(commit) if keys is None else keys:
            if key % len(self.partitions) == at:
                names = (instant, f"{instant}_0_{key}", str(key), partition, f"f-{partition}")
                rows.append(
                    dict(zip(META, names, strict=True))
                    | {"id": str(key), "part": partition, "value": commit, "ts": commit}
                )
        return rows

    def begin(self):
        """Starts a delta commit: writes its requested instant and its files, which are not visible yet."""
        self.commits += 1
        number, requested = self.commits, self.pending("deltacommit")
        paths = {}
        for partition in self.partitions:
            rows = self.rows(partition, number, requested)
            if not rows:
                continue
            if not self.slices[partition]:
                self.slices[partition].append((requested, None, []))
            base, _, logs = self.slices[partition][-1]
            named = base if self.version < 8 else requested
            version = len(logs) + 1 if self.version < 8 else 1
            paths[partition] = name = f".f-{partition}_{named}.log.{version}_0-{number}-0"
            self.put(self.folder / partition / name, avro_block(BLOCK, rows, requested))
            logs.append(name)
        return number, requested, paths

    def end(self, started):
        """Completes a delta commit; returns its position."""
        _, requested, paths = started
        self.written.append(requested)
        return self.completed(requested, "deltacommit", self.metadata(paths, "UPSERT"))

    def commit(self):
        """Writes one delta commit."""
        return self.end(self.begin())

    def plan_compaction(self):
        """Plans a compaction of every slice with log files."""
        requested, operations = self.tick(), []
        for partition, slices in self.slices.items():
            if slices and slices[-1][2]:
                base, file, logs = slices[-1]
                operations.append(
                    {
                        "baseInstantTime": base,
                        "deltaFilePaths": list(logs),
                        "dataFilePath": file,
                        "fileId": f"f-{partition}",
                        "partitionPath": partition,
                    }
                )
                slices.append((requested, None, []))
        plan = avro(COMPACTION_PLAN, {"operations": operations, "version": 2})
        self.pending("compaction", plan, requested=requested)
        return requested, [operation["partitionPath"] for operation in operations], self.commits

    def compact(self, planned):
        """Runs a planned compaction. Rows and their commit times are unchanged."""
        requested, partitions, number = planned
        paths = {}
        for partition in partitions:
            newest = next(time_ for time_ in reversed(self.written) if time_ < requested)
            paths[partition] = name = f"f-{partition}_0-0-0_{requested}.parquet"
            table = arrow_table(FIELDS, self.rows(partition, number, newest))
            aside = self.folder / partition / f".{name}.tmp"
            pq.write_table(table, aside)
            aside.rename(self.folder / partition / name)
            at = next(at for at, one in enumerate(self.slices[partition]) if one[0] == requested)
            self.slices[partition][at] = (requested, name, self.slices[partition][at][2])
        return self.completed(requested, "commit", self.metadata(paths, "COMPACT"))

    def clean(self, keep=1, spare=()):
        """Removes all slices older than the newest `keep` slices with a base file."""
        requested, removed, floor = self.tick(), {}, None
        for partition, slices in self.slices.items():
            based = [at for at, (_, base, _) in enumerate(slices) if base is not None]
            if len(based) <= keep:
                continue
            first = based[-keep]
            floor = min(floor or slices[first][0], slices[first][0])
            names = [name for _, base, logs in slices[:first] for name in (base, *logs) if name and name not in spare]
            removed[partition] = names
            del slices[:first]
        infos = {
            partition: [{"filePath": f"{partition}/{name}", "isBootstrapBaseFile": False} for name in names]
            for partition, names in removed.items()
        }
        plan = {"filesToBeDeletedPerPartition": {}, "filePathsToBeDeletedPerPartition": infos, "version": 2}
        self.pending("clean", avro(CLEAN_PLAN, plan), requested=requested)
        for partition, names in removed.items():
            for name in names:
                (self.folder / partition / name).unlink()
        return self.completed(requested, "clean", avro(CLEAN_METADATA, {"earliestCommitToRetain": floor, "version": 2}))

    def savepoint(self, *, with_logs=True):
        """Creates a savepoint of the newest commit. Returns its instant and the names of the files."""
        requested = next(time_ for time_, _, action in reversed(self.history) if action == "deltacommit")
        kept = {
            partition: [name for name in (slices[-1][1], *(slices[-1][2] if with_logs else ())) if name]
            for partition, slices in self.slices.items()
        }
        facts = {
            partition: {"partitionPath": partition, "savepointDataFile": names} for partition, names in kept.items()
        }
        self.put(self.timeline / f"{requested}.savepoint.inflight", b"")
        self.completed(requested, "savepoint", avro(SAVEPOINT, {"comments": "", "partitionMetadata": facts}))
        return requested, {name for names in kept.values() for name in names}

    def archive(self, keep=4, spare=()):
        """Moves all but the newest instants to the archive: writes the archive, then deletes the instants."""
        # Instants are archived in the order of their requested times, as in Hudi.
        ready = [one for one in sorted(self.history)[:-keep] if one[0] not in spare]
        pending = {path.name.split(".")[0] for path in self.timeline.glob("*.inflight")} - {
            one[0] for one in self.history
        }
        ready = [one for one in ready if all(one[0] < time_ for time_ in pending)]
        if not ready:
            return
        (self._archive_log if self.version < 8 else self._archive_history)(ready)
        for requested, completion, action in ready:
            pending_name = {"commit": "compaction"}.get(action, action)
            times = requested if completion is None else f"{requested}_{completion}"
            for name in (
                f"{requested}.{pending_name}.requested",
                f"{requested}.{pending_name}.inflight",
                f"{times}.{action}",
            ):
                (self.timeline / name).unlink(missing_ok=True)
        self.history = [one for one in self.history if one not in ready]

    def _content(self, requested, completion, action):
        times = requested if completion is None else f"{requested}_{completion}"
        return (self.timeline / f"{times}.{action}").read_bytes()

    def _archive_history(self, ready):
        history = self.timeline / "history"
        history.mkdir(exist_ok=True)
        ready = sorted(ready)
        number = len(list(history.glob("manifest_*")))
        names = (
            [one["fileName"] for one in json.loads((history / f"manifest_{number}").read_text())["files"]]
            if number
            else []
        )
        rows = {
            "instantTime": [one[0] for one in ready],
            "completionTime": [one[1] for one in ready],
            "action": [one[2] for one in ready],
            "metadata": [self._content(*one) for one in ready],
            "plan": pa.array([None] * len(ready), pa.binary()),
        }
        names.append(f"{ready[0][0]}_{ready[-1][0]}_0.parquet")
        pq.write_table(pa.table(rows), history / names[-1])
        manifest = {"files": [{"fileName": name, "fileLen": 1} for name in names]}
        self.put(history / f"manifest_{number + 1}", json.dumps(manifest).encode())
        self.put(history / "_version_", str(number + 1).encode())

    def _archive_log(self, ready):
        archive = self.folder / ".hoodie" / "archived"
        archive.mkdir(exist_ok=True)
        schema = _record(
            "HoodieArchivedMetaEntry",
            hoodieCommitMetadata=COMMIT_METADATA,
            hoodieCleanMetadata=CLEAN_METADATA,
            commitTime="string",
            actionType="string",
            actionState="string",
        )
        entries = []
        for requested, completion, action in sorted(ready):
            for state in ("REQUESTED", "INFLIGHT", "COMPLETED"):
                entry = {"commitTime": requested, "actionType": action, "actionState": state}
                if state == "COMPLETED" and action in {"commit", "deltacommit"}:
                    entry["hoodieCommitMetadata"] = json.loads(self._content(requested, completion, action))
                entries.append(entry)
        number = len(list(archive.glob(".commits_.archive.*"))) + 1
        self.put(archive / f".commits_.archive.{number}_1-0-1", avro_block(schema, entries, ready[-1][0]))

    def work(self, step):
        """Runs one step of a busy writer. Commits overlap, and compactions are planned long before they run."""
        if step % 5 == 3:
            planned = self.plan_compaction()
            self.commit()
            self.compact(planned)
        elif self.version >= 8 and step % 5 == 1:
            # Two concurrent commits; the older one completes last. Each writes all keys: the greater value wins.
            first = self.begin()
            self.commit()
            self.end(first)
        else:
            self.commit()
        if step % 5 == 4:
            self.clean()
        if step % 7 == 6:
            self.archive()


if __name__ == "__main__":
    live = LiveTable(sys.argv[1], int(sys.argv[2]))
    for step in range(int(sys.argv[3])):
        live.work(step)
        print(step, flush=True)
        time.sleep(0.01)
