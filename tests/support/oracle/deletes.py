"""Which rows of a log are deletes (merge semantics, section 5). A row of a base file never is."""


def is_delete(row, merging):
    """Any of three: `_hoodie_is_deleted` is true, `_hoodie_operation` is D or -U, the delete field holds its marker."""
    flagged = merging.has("_hoodie_is_deleted") and row.get("_hoodie_is_deleted") is True
    undone = merging.has("_hoodie_operation") and row.get("_hoodie_operation") in {"D", "-U"}
    return flagged or undone or _is_marked(row, merging)


def _is_marked(row, merging):
    """Exact text; null, or no such field, is no delete."""
    if merging.delete_field is None or not merging.has(merging.delete_field):
        return False
    value = row.get(merging.delete_field)
    return value is not None and _java_text(value) == merging.delete_marker


def _java_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
