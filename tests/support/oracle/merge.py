"""The merge of a slice (merge semantics, sections 3, 4, 8 and 11): reads all log blocks into a map, then merges the
base rows, then inserts the rest of the map."""

from support.oracle import ordering, rules_0x, rules_1x
from support.oracle.deletes import is_delete
from support.oracle.model import KEY, META, DataBlock, Record


def merged(base, blocks, merging):
    """Returns the rows of a snapshot. `base` contains rows; `blocks` contains data and delete blocks in scan order."""
    return [_all_columns(record.row, merging) for _, record in _outcome(base, blocks, merging) if not record.deleted]


def deleted_keys(base, blocks, merging):
    """Returns the keys that the log deletes, with or without a base row."""
    return [key for key, record in _outcome(base, blocks, merging) if record.deleted]


def _outcome(base, blocks, merging):
    """Returns the merge outcome of all keys: (key, record) of each base row, then of keys in the log only."""
    rules = _rules(merging)
    log, partial = _log(blocks, merging)
    outcome = []
    for row in (_whole(row, merging) for row in base):
        record = Record(ordering.of_row(row, merging), row)
        # Of several base rows with one key, only the first is merged with the log record.
        newer = log.pop(row[KEY], None)
        record = record if newer is None else rules.over_base(record, newer, merging, partial)
        outcome.append((row[KEY], record))
    outcome.extend((key, rules.insert(record, merging)) for key, record in log.items())
    return outcome


def skip_merged(base, blocks, merging):
    """Returns base rows and log rows without merging them. 1.x: all rows of all data blocks; 0.x: the merged log."""
    if merging.semantics == "1.x":
        log = [block for block in blocks if isinstance(block, DataBlock)]
        rows = [_all_columns(_of_row(row, block, merging).row, merging) for block in log for row in block.rows]
    else:
        rows = merged([], blocks, merging)
    return [_whole(row, merging) for row in base] + rows


def _rules(merging):
    return rules_1x if merging.semantics == "1.x" else rules_0x


def _log(blocks, merging):
    """Returns the log record of each key, in order of first appearance, and whether any of them is partial."""
    rules, log, partial = _rules(merging), {}, False
    for block in blocks:
        if isinstance(block, DataBlock):
            partial = partial or block.partial
            for row in block.rows:
                newer = _of_row(row, block, merging)
                log[row[KEY]] = rules.log_row(newer, log.get(row[KEY]), merging, partial)
        else:
            for key, value in block.deletes:
                delete = Record(ordering.of_delete(value, merging), None, deleted=True)
                log[key] = rules.log_delete(delete, log.get(key), merging)
    return log, partial


def _of_row(row, block, merging):
    whole = row if block.partial else _whole(row, merging)
    return Record(ordering.of_row(whole, merging), whole, is_delete(whole, merging))


def _whole(row, merging):
    """Returns all columns of the table. Columns that the row's schema lacks have their defaults."""
    defaults = {field.name: field.default for field in merging.fields}
    return {name: row.get(name, defaults.get(name)) for name in (*META, *defaults)}


def _all_columns(row, merging):
    """Returns all columns of the table. Columns that no partial record contains are null."""
    return {name: row.get(name) for name in (*META, *(field.name for field in merging.fields))}
