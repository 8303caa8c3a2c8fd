"""Delete detection in log records (merge semantics, section 5). Base rows are never deletes."""


def is_delete(row, merging):
    """Whether `_hoodie_is_deleted` is true, `_hoodie_operation` is D or -U, or the delete field equals its marker."""
    flagged = merging.has("_hoodie_is_deleted") and row.get("_hoodie_is_deleted") is True
    undone = merging.has("_hoodie_operation") and row.get("_hoodie_operation") in {"D", "-U"}
    return flagged or undone or _is_marked(row, merging)


def _is_marked(row, merging):
    """Compares exact strings. Null, or a missing field, is not a delete."""
    if merging.delete_field is None or not merging.has(merging.delete_field):
        return False
    value = row.get(merging.delete_field)
    return value is not None and _java_text(value) == merging.delete_marker


def _java_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
