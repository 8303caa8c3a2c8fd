"""Random histories of some keys, for hypothesis: base rows and log blocks, for every merge configuration of a table.

Keys are independent of each other. A table has several because writing a table is expensive.
"""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from support.oracle import DataBlock, DeleteBlock, Field, Merging, Value
from support.oracle.model import COMMIT_TIME, CUSTOM, EVENT_TIME, FILL_UNAVAILABLE, IGNORE_DEFAULTS
from support.oracle.ordering import CLASSES, EPOCH
from support.oracle.payloads import DEBEZIUM, UNAVAILABLE
from support.tables.table_writer import Slice, with_meta

# Known differences between mortice and Hudi. Histories avoid them; test_merge_oracle.py has an example of each that is
# expected to fail. An entry is removed when its example passes.
KNOWN_DIFFERENCES: set[str] = set()

# Scenarios that mortice refuses. A scenario that becomes supported fails test_merge_oracle.py until its entry is
# removed.
UNSUPPORTED: set[str] = set()

KEYS = ("a", "b", "ä:1", "", "b ", "10", "9", "a,b")
MARKER = "gone"


def _moment(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


# Few values, so that ties, zeros and neighbours are common. None of them is null.
ORDERING_VALUES = {
    "boolean": (False, True),
    "int": (0, -1, 1, 2, 10),
    "long": (0, -1, 1, 2, 10, 1 << 40),
    "float": (0.0, -0.0, 1.5, -1.5, float("nan"), float("inf")),
    "double": (0.0, -0.0, 1.5, -1.5, float("nan"), float("-inf")),
    "string": ("", "9", "10", "b", "\U00010000", "�"),
    "date": (dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 1, 2)),
    "timestamp": (_moment("1970-01-01"), _moment("1969-12-31T23:59:59.999999"), _moment("2026-01-02T03:04:05.000006")),
    "decimal": (Decimal("0.00"), Decimal("-1.50"), Decimal("1.50"), Decimal("10.00")),
}
EVENT_SEQS = ("9.5", "9.30", "10.1", "10.20")
NARROW = {"long": "int", "double": "float"}


@dataclass(frozen=True)
class Scenario:
    """One merge configuration."""

    name: str
    mode: str = EVENT_TIME
    versions: tuple[int, ...] = (6, 8, 9)
    semantics: str = "1.x"
    payload: str | None = None
    partial_update: str | None = None
    partial_blocks: bool = False
    two_fields: bool = False
    skip_merge: bool = False

    @property
    def payload_merges(self):
        return self.mode == CUSTOM

    def __str__(self):
        return self.name


PAYLOADS = (
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "PartialUpdateAvroPayload",
    "AWSDmsAvroPayload",
    *DEBEZIUM,
    "EmptyHoodieRecordPayload",
)
PAYLOADS_OF_0X = (
    "OverwriteWithLatestAvroPayload",
    "DefaultHoodieRecordPayload",
    "EventTimeAvroPayload",
    "FirstValueAvroPayload",
    *PAYLOADS,
)
SCENARIOS = (
    Scenario("event-time"),
    Scenario("event-time-two-fields", versions=(9,), two_fields=True),
    Scenario("event-time-ignore-defaults", versions=(9,), partial_update=IGNORE_DEFAULTS),
    Scenario("event-time-fill-unavailable", versions=(9,), partial_update=FILL_UNAVAILABLE),
    Scenario("event-time-partial-blocks", versions=(8, 9), partial_blocks=True),
    Scenario("event-time-fill-and-partial-blocks", versions=(9,), partial_update=IGNORE_DEFAULTS, partial_blocks=True),
    Scenario("event-time-skip-merge", skip_merge=True),
    Scenario("commit-time", COMMIT_TIME),
    Scenario("commit-time-ignore-defaults", COMMIT_TIME, versions=(9,), partial_update=IGNORE_DEFAULTS),
    Scenario("commit-time-fill-unavailable", COMMIT_TIME, versions=(9,), partial_update=FILL_UNAVAILABLE),
    Scenario("commit-time-partial-blocks", COMMIT_TIME, versions=(8, 9), partial_blocks=True),
    *(Scenario(f"1.x-{name}", CUSTOM, versions=(6, 8), payload=name) for name in PAYLOADS),
    *(Scenario(f"0.x-{name}", CUSTOM, versions=(6,), semantics="0.x", payload=name) for name in PAYLOADS_OF_0X),
    Scenario("0.x-skip-merge", CUSTOM, (6,), "0.x", "DefaultHoodieRecordPayload", skip_merge=True),
)


@dataclass(frozen=True)
class History:
    """The contents of a table."""

    merging: Merging
    version: int
    slice: Slice


@dataclass(frozen=True)
class OlderSchemas:
    """How schemas of older blocks may differ from the table's."""

    narrowed: tuple[str, ...]
    without: tuple[str, ...]


@st.composite
def histories(draw, scenario):
    merging = draw(settings_of(scenario))
    version = draw(st.sampled_from(scenario.versions))
    ordering = [merging.field(name) for name in merging.ordering]
    widened = tuple(field.name for field in ordering if field.kind in NARROW and draw(st.integers(0, 3)) == 0)
    base = None if draw(st.integers(0, 4)) == 0 else draw(base_rows(merging, scenario))
    narrowed = () if base is None or not fits(base, widened) else widened
    parquet = draw(st.booleans())
    older = OlderSchemas(widened, added_columns(merging, parquet))
    count = draw(st.integers(1, 3))
    commits = tuple(draw(commit(merging, scenario, number, older)) for number in range(1, count + 1))
    slice_ = Slice(base, commits, narrowed, parquet)
    return History(merging, version, slice_)


@st.composite
def settings_of(draw, scenario):
    """Draws a table's schema and merge settings."""
    fields = [Field("id", "string"), Field("text", "string"), Field("raw", "bytes")]
    fields += [Field("count", "int", draw(st.sampled_from((None, 0, 7, 1000))))]
    ordering = draw(ordering_fields(scenario))
    fields += ordering
    marked = not scenario.payload_merges and draw(st.booleans())
    needed = {"op"} if marked else {delete_field_of(scenario)}
    fields += [field for field in delete_fields(scenario) if draw(st.booleans()) or field.name in needed]
    return Merging(
        tuple(fields),
        scenario.mode,
        tuple(field.name for field in ordering),
        scenario.payload,
        scenario.partial_update,
        UNAVAILABLE if scenario.partial_update == FILL_UNAVAILABLE else None,
        "op" if marked else delete_field_of(scenario),
        MARKER if marked else delete_marker_of(scenario),
        scenario.semantics,
    )


def ordering_fields(scenario):
    """Returns the ordering fields: those of Debezium for its payload classes, otherwise any."""
    if scenario.payload == "MySqlDebeziumAvroPayload":
        return st.just([Field("_event_seq", "string")])
    if scenario.payload == "PostgresDebeziumAvroPayload":
        return st.just([Field("_event_lsn", "long")])
    kinds = st.sampled_from(tuple(ORDERING_VALUES))
    one = kinds.map(lambda kind: Field("ts", kind, scale=2))
    if scenario.two_fields:
        return st.tuples(one, kinds.map(lambda kind: Field("seq", kind, scale=2))).map(list)
    return one.map(lambda field: [field])


def delete_fields(scenario):
    """Returns columns that can mark a row as a delete. Hudi does not define whether payload classes use an
    operation."""
    flag = Field("_hoodie_is_deleted", "boolean")
    if scenario.payload == "AWSDmsAvroPayload":
        return (Field("Op", "string"), flag)
    if scenario.payload in DEBEZIUM:
        return (Field("_change_operation_type", "string"), flag)
    if scenario.payload_merges:
        return (flag,)
    return (flag, Field("_hoodie_operation", "string"), Field("op", "string"))


def delete_field_of(scenario):
    """Returns the delete field that Hudi 1.x configures for tables of these payload classes."""
    if scenario.payload == "AWSDmsAvroPayload":
        return "Op"
    return "_change_operation_type" if scenario.payload in DEBEZIUM else None


def delete_marker_of(scenario):
    if scenario.payload == "AWSDmsAvroPayload":
        return "D"
    return "d" if scenario.payload in DEBEZIUM else None


def ordering_values(field, scenario):
    if field.name == "_event_seq":
        return EVENT_SEQS
    values = ORDERING_VALUES[field.kind]
    # Debezium's payload classes refuse rows without a position in the database log.
    return values if field.name == "_event_lsn" else (*values, None)


def column_values(field, merging, scenario):
    """Returns the possible values of a column, the simplest first."""
    if field.name in merging.ordering:
        return ordering_values(field, scenario)
    values = {
        "id": (None,),  # replaced by the key
        "text": (None, "x", "y", UNAVAILABLE),
        "raw": (None, b"x", UNAVAILABLE.encode()),
        "count": (None, 0, 7, 1000) if field.default is None else (0, 7, 1000),
        "_hoodie_is_deleted": (None, False, False, True),
        "_hoodie_operation": (None, "I", "U", "-U", "D"),
        "op": (None, "x", MARKER, MARKER.upper()),
        "Op": ("I", "U", "D", "d"),
        # Under 1.x an upper-case marker is a delete without an ordering value. Debezium does not write it.
        "_change_operation_type": ("c", "u", "d", "D") if scenario.semantics == "0.x" else ("c", "u", "d"),
    }
    return values[field.name]


def row_of(merging, scenario, names):
    """One number encodes all columns: hypothesis draws it many times faster than one value for each column."""
    columns = {field.name: column_values(field, merging, scenario) for field in merging.fields if field.name in names}

    def row(number):
        values = {}
        for name, choices in columns.items():
            number, choice = divmod(number, len(choices))
            values[name] = choices[choice]
        return values

    return st.integers(0, math.prod(len(choices) for choices in columns.values()) - 1).map(row)


@st.composite
def keyed_rows(draw, merging, scenario, place, names):
    """Draws rows with keys and meta columns. The place is commit and block."""
    number, block = place
    pairs = st.tuples(st.sampled_from(KEYS), row_of(merging, scenario, names))
    rows = draw(st.lists(pairs, min_size=1, max_size=12))
    return tuple(with_meta(row | {"id": key}, key, number, f"{block}-{n}") for n, (key, row) in enumerate(rows))


@st.composite
def base_rows(draw, merging, scenario):
    names = [field.name for field in merging.fields]
    return draw(keyed_rows(merging, scenario, (0, 0), names))


@st.composite
def commit(draw, merging, scenario, number, older):
    blocks = []
    for ordinal in range(draw(st.integers(1, 2))):
        if draw(st.integers(0, 2)):
            blocks.append(draw(data_block(merging, scenario, (number, ordinal), older)))
        else:
            blocks.append(draw(delete_blocks(merging)))
    return tuple(blocks)


def added_columns(merging, parquet):
    """Returns columns that older blocks may lack. Parquet has no defaults: a missing column is null."""
    return ("text", "count") if merging.field("count").default is None or not parquet else ("text",)


@st.composite
def data_block(draw, merging, scenario, place, older):
    names = [field.name for field in merging.fields]
    partial = scenario.partial_blocks and draw(st.booleans())
    if partial:
        kept = draw(st.sets(st.sampled_from(("text", "raw", "count", *merging.ordering))))
        names = ["id", *(name for name in names if name in kept)]
    elif draw(st.integers(0, 3)) == 0:
        absent = draw(st.sets(st.sampled_from(older.without)))
        names = [name for name in names if name not in absent]
    rows = draw(keyed_rows(merging, scenario, place, names))
    return DataBlock(rows, partial, older.narrowed if fits(rows, older.narrowed) else ())


def fits(rows, widened):
    """Whether all rows have the widened columns, with values that fit in the original type."""
    values = [row.get(name, "absent") for row in rows for name in widened]
    return not any(value in {"absent", 1 << 40} for value in values)


@st.composite
def delete_blocks(draw, merging):
    pairs = st.tuples(st.sampled_from(KEYS), delete_ordering(merging))
    return DeleteBlock(tuple(draw(st.lists(pairs, min_size=1, max_size=8))))


def delete_ordering(merging):
    """Draws the ordering value of a delete: mostly of the table's own class, otherwise none, or of another class."""
    fields = [merging.field(name) for name in merging.ordering]
    own = [own_value(field) for field in fields]
    usual = own[0] if len(own) == 1 else st.tuples(*own)
    if merging.mode == COMMIT_TIME:
        usual = st.just(Value("Integer", 0))
    foreign = (
        *(Value("String", "5"), Value("Long", 5), Value("Integer", 5)),
        *(Value("Date", EPOCH.date()), Value("Timestamp", EPOCH)),
    )
    odd = st.sampled_from((None, Value("Integer", 0), *foreign))
    return st.one_of(usual, usual, usual, odd)


def own_value(field):
    if field.name == "_event_seq":
        return st.sampled_from(EVENT_SEQS).map(lambda text: Value("String", text))
    of_row = st.sampled_from(ORDERING_VALUES[field.kind])
    if field.kind == "date":
        return of_row.map(lambda day: Value("Integer", (day - EPOCH.date()).days))
    if field.kind == "timestamp":
        return of_row.map(lambda moment: Value("Long", (moment - EPOCH) // dt.timedelta(microseconds=1)))
    return of_row.map(lambda held: Value(CLASSES[field.kind], held))
