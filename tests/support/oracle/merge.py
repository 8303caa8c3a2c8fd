"""The walk over a slice (merge semantics, sections 3, 4, 8 and 11): all log blocks into a map, then the base rows, then
what is left in the map."""

from support.oracle import ordering, rules_0x, rules_1x
from support.oracle.deletes import is_delete
from support.oracle.model import KEY, META, DataBlock, Record


def merged(base, blocks, merging):
    """The rows of a snapshot. `base` are rows; `blocks` are data and delete blocks in the order of the scan."""
    return [_all_columns(record.row, merging) for _, record in _outcome(base, blocks, merging) if not record.deleted]


def deleted_keys(base, blocks, merging):
    """The keys that the log deletes, whether or not a base row had them."""
    return [key for key, record in _outcome(base, blocks, merging) if record.deleted]


def _outcome(base, blocks, merging):
    """What all keys come to: (key, record) of each base row, then of what the log alone has."""
    rules = _rules(merging)
    log, partial = _log(blocks, merging)
    outcome = []
    for row in (_whole(row, merging) for row in base):
        record = Record(ordering.of_row(row, merging), row)
        # Of base rows of one key the first uses the log's record up.
        newer = log.pop(row[KEY], None)
        record = record if newer is None else rules.over_base(record, newer, merging, partial)
        outcome.append((row[KEY], record))
    outcome.extend((key, rules.insert(record, merging)) for key, record in log.items())
    return outcome


def skip_merged(base, blocks, merging):
    """Base rows and log rows side by side. 1.x: all rows of all data blocks; 0.x: the log merged in itself."""
    if merging.semantics == "1.x":
        log = [block for block in blocks if isinstance(block, DataBlock)]
        rows = [_all_columns(_of_row(row, block, merging).row, merging) for block in log for row in block.rows]
    else:
        rows = merged([], blocks, merging)
    return [_whole(row, merging) for row in base] + rows


def _rules(merging):
    return rules_1x if merging.semantics == "1.x" else rules_0x


def _log(blocks, merging):
    """What the log has of each key, in order of first appearance, and whether it holds partial records."""
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
    """All columns of the table; those that the row's schema did not have hold their defaults."""
    defaults = {field.name: field.default for field in merging.fields}
    return {name: row.get(name, defaults.get(name)) for name in (*META, *defaults)}


def _all_columns(row, merging):
    """All columns of the table; those that no partial record ever had are null."""
    return {name: row.get(name) for name in (*META, *(field.name for field in merging.fields))}
