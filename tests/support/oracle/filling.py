"""Rows made of two records, field by field (merge semantics, sections 7 and 10)."""

from support.oracle.model import META


def filled(high, low, gives_way):
    """`high`, with the values of `low` where its own give way."""
    return {name: low[name] if gives_way(name, value) else value for name, value in high.items()}


def laid_over(high, low, merging):
    """Fields that `high` has from it, nulls included; the others from `low` (IS_PARTIAL)."""
    names = (*META, *(field.name for field in merging.fields))
    return {name: high[name] if name in high else low[name] for name in names if name in high or name in low}


def is_null(_name, value):
    return value is None


def is_default(merging):
    """A field that holds the default of its schema (`OverwriteNonDefaultsWithLatestAvroPayload`)."""

    def gives_way(name, value):
        return name not in META and value == merging.field(name).default

    return gives_way


def is_the_same_object_as_the_default(merging):
    """IGNORE_DEFAULTS asks Java for the same object: null is one, and truth values and whole numbers of a byte are."""

    def gives_way(name, value):
        if name in META:
            return False
        default = merging.field(name).default
        small = isinstance(default, bool) or (isinstance(default, int) and -128 <= default < 128)
        return (value is None and default is None) or (small and value == default)

    return gives_way


def is_text(marker, merging, kinds=("string",)):
    """Strings that are just the marker; under Hudi 0.x bytes, too."""

    def gives_way(name, value):
        return name not in META and merging.field(name).kind in kinds and value in {marker, marker.encode()}

    return gives_way
