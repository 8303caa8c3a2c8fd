"""Rows combined from two records, field by field (merge semantics, sections 7 and 10)."""

from support.oracle.model import META


def filled(high, low, is_filled):
    """Returns `high`, with values of `low` where `is_filled` returns true for those of `high`."""
    return {name: low[name] if is_filled(name, value) else value for name, value in high.items()}


def overlay(high, low, merging):
    """Returns the fields of `high`, including nulls, and those of `low` that `high` lacks (IS_PARTIAL)."""
    names = (*META, *(field.name for field in merging.fields))
    return {name: high[name] if name in high else low[name] for name in names if name in high or name in low}


def is_null(_name, value):
    return value is None


def is_default(merging):
    """Fills fields that equal the default of their schema (`OverwriteNonDefaultsWithLatestAvroPayload`)."""

    def is_filled(name, value):
        return name not in META and value == merging.field(name).default

    return is_filled


def is_same_object_as_default(merging):
    """Fills fields whose value is the same Java object as the default (IGNORE_DEFAULTS): null, a Boolean, or an integer
    that fits in a byte."""

    def is_filled(name, value):
        if name in META:
            return False
        default = merging.field(name).default
        small = isinstance(default, bool) or (isinstance(default, int) and -128 <= default < 128)
        return (value is None and default is None) or (small and value == default)

    return is_filled


def is_marker(marker, merging, kinds=("string",)):
    """Fills strings that equal the marker; under Hudi 0.x bytes, too."""

    def is_filled(name, value):
        return name not in META and merging.field(name).kind in kinds and value in {marker, marker.encode()}

    return is_filled
