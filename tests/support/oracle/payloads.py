"""How payload classes combine an older row and a newer record (merge semantics, section 10).

`combined` is `combineAndGetUpdateValue`; `pre_combined` is `preCombine`, which Hudi 0.x uses to merge log records with
each other; `deletes` is the delete rule of a class. A key of a delete block is an empty payload: it has no row.
"""

from support.oracle import filling
from support.oracle.model import META, Record
from support.oracle.ordering import DEFAULT, compare, of_row

OLDER, NEWER, DELETE = "older", "newer", "delete"
UNAVAILABLE = "__debezium_unavailable_value"
DEBEZIUM = ("MySqlDebeziumAvroPayload", "PostgresDebeziumAvroPayload")
FIRST_VALUE = "FirstValueAvroPayload"
BY_ORDERING = ("DefaultHoodieRecordPayload", "EventTimeAvroPayload", FIRST_VALUE, *DEBEZIUM)
# Payload classes to which the caller's delete marker applies.
MARKED = ("DefaultHoodieRecordPayload", FIRST_VALUE)


def deletes(row, merging):
    """Whether the payload class treats the row as a delete."""
    if merging.payload == "AWSDmsAvroPayload" and _equals_ignoring_case(row.get("Op"), "D"):
        return True
    if merging.payload in DEBEZIUM and _equals_ignoring_case(row.get("_change_operation_type"), "d"):
        return True
    if merging.payload in MARKED and merging.delete_field is not None:
        value = row.get(merging.delete_field)
        return value is not None and str(value) == merging.delete_marker
    return row.get("_hoodie_is_deleted") is True


def _equals_ignoring_case(value, word):
    return value is not None and value.lower() == word.lower()


def combined(older, newer, merging):
    """Returns OLDER, NEWER, DELETE, or a new row. `older` is a row, `newer` a record."""
    if newer.row is None or merging.payload == "EmptyHoodieRecordPayload":
        return DELETE
    if merging.payload in BY_ORDERING and _is_greater(older, newer, merging):
        return OLDER
    if deletes(newer.row, merging):
        return DELETE
    match merging.payload:
        # Hudi 1.1 and 1.2 fill the payload's copy of the row and return the row unfilled.
        case "PostgresDebeziumAvroPayload" if merging.semantics == "0.x":
            return filling.filled(newer.row, older, filling.is_marker(UNAVAILABLE, merging, ("string", "bytes")))
        case "OverwriteNonDefaultsWithLatestAvroPayload":
            return filling.filled(newer.row, older, filling.is_default(merging))
        case "PartialUpdateAvroPayload":
            older_on_top = _is_greater(older, newer, merging)
            if older_on_top and deletes(older, merging):
                return DELETE
            return _partial_update(older, newer.row, older_on_top)
    return NEWER


def pre_combined(older, newer, merging):
    """Returns the winning log record, or a new one."""
    if older.row is None:
        return newer
    # A row whose ordering field was filled keeps its original ordering value.
    older_wins = _is_greater(older.row, newer, merging, older.ordering)
    if merging.payload != "PartialUpdateAvroPayload":
        return older if older_wins else newer
    if deletes(newer.row, merging) and not older_wins:
        return newer
    row = _partial_update(older.row, newer.row, older_wins)
    return Record((older if older_wins else newer).ordering, row, deletes(row, merging))


def _partial_update(older, newer, older_on_top):
    """Fills nulls of one row with values of the other. Meta columns are those of the newer row in any case."""
    if not older_on_top:
        return filling.filled(newer, older, filling.is_null)
    return filling.filled(older, newer, filling.is_null) | {name: newer[name] for name in META}


def _is_greater(older, newer, merging, older_ordering=None):
    """Whether the older row wins. On ties the newer row wins, except with `FirstValueAvroPayload`."""
    if merging.payload == "MySqlDebeziumAvroPayload":
        return _sequence(older) > _sequence(newer.row)
    preferred = {0, 1} if merging.payload == FIRST_VALUE else {1}
    if older_ordering is not None:
        return _sign(compare(older_ordering, newer.ordering)) in preferred
    # A stored row without an ordering value never wins.
    if any(older.get(name) is None for name in merging.used_ordering):
        return False
    if merging.payload == "PartialUpdateAvroPayload" and not _is_comparable(newer, merging):
        return False
    return _sign(compare(of_row(older, merging), newer.ordering)) in preferred


def _sign(order):
    return (order > 0) - (order < 0)


def _is_comparable(newer, merging):
    """Whether the classes are comparable. The older row is Avro, and a null in the record is an Integer."""
    blind = {"date", "decimal"} if merging.semantics == "0.x" else {"date", "decimal", "string"}
    kinds = [merging.field(name).kind for name in merging.used_ordering]
    return not blind.intersection(kinds) and (newer.ordering != DEFAULT or kinds == ["int"])


def _sequence(row):
    """Returns `file.position` as two numbers."""
    file, position = row["_event_seq"].split(".")
    return int(file), int(position)
