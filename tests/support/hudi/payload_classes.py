"""Lists the payload classes and record mergers of a Hudi release, read from the class files of its Spark bundle.

    python tests/support/hudi/payload_classes.py JAR > tests/data/payload_classes/hudi_<release>.tsv

One line for each concrete class that implements `HoodieRecordPayload` or `HoodieRecordMerger`, directly or not:
`payload`, class name; or `merger`, class name, the id that its `getMergingStrategy` returns. Needs the standard library
only.
"""

import struct
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

RELEASES = ("0.15.0", "1.2.0")
LISTS = Path(__file__).parents[2] / "data" / "payload_classes"

PAYLOAD = "org/apache/hudi/common/model/HoodieRecordPayload"
MERGER = "org/apache/hudi/common/model/HoodieRecordMerger"
ROOTS = {"payload": PAYLOAD, "merger": MERGER}
# Hudi's own packages; other packages of a bundle contain its dependencies.
PACKAGES = ("org/apache/hudi/", "org/apache/spark/sql/hudi/")
SHADED = ("org/apache/hudi/org/", "org/apache/hudi/com/")

ACC_INTERFACE, ACC_ABSTRACT = 0x0200, 0x0400
# Bytes of a constant-pool entry after its tag, by tag (JVM specification, section 4.4). Strings store their length.
CONSTANT_SIZES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
UTF8, LONG, DOUBLE, CLASS, STRING = 1, 5, 6, 7, 8
MAGIC, LDC, LDC_W, ARETURN = 0xCAFEBABE, 0x12, 0x13, 0xB0


@dataclass(frozen=True)
class ClassFile:
    """A class in the class hierarchy."""

    name: str
    parents: tuple[str, ...]
    """The superclass, if any, and the interfaces."""
    is_concrete: bool
    strategy: str | None
    """The constant that `getMergingStrategy` returns, if the class declares it."""


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, pattern):
        values = struct.unpack_from(f">{pattern}", self.data, self.at)
        self.at += struct.calcsize(f">{pattern}")
        return values[0] if len(values) == 1 else values

    def bytes(self, count):
        self.at += count
        return self.data[self.at - count : self.at]


def parse_class(data):
    """Parses a class file (JVM specification, section 4.1)."""
    reader = _Reader(data)
    if reader.take("I") != MAGIC:
        raise ValueError("not a class file")
    reader.take("HH")
    pool = _constant_pool(reader)

    def name_at(index):
        return pool[pool[index]]

    flags, this, parent, interfaces = reader.take("HHHH")
    parents = [parent] if parent else []
    parents += [reader.take("H") for _ in range(interfaces)]
    for _ in range(reader.take("H")):
        _member(reader, pool)
    methods = dict(_member(reader, pool) for _ in range(reader.take("H")))
    strategy = _returned_constant(methods.get("getMergingStrategy"), pool)
    is_concrete = not flags & (ACC_INTERFACE | ACC_ABSTRACT)
    return ClassFile(name_at(this), tuple(name_at(index) for index in parents), is_concrete, strategy)


def _constant_pool(reader):
    """Returns strings by index; for classes and strings the index of their text."""
    pool, index, count = {}, 1, reader.take("H")
    while index < count:
        tag = reader.take("B")
        if tag == UTF8:
            pool[index] = reader.bytes(reader.take("H")).decode("utf-8", "replace")
        else:
            data = reader.bytes(CONSTANT_SIZES[tag])
            if tag in {CLASS, STRING}:
                pool[index] = int.from_bytes(data, "big")
        index += 2 if tag in {LONG, DOUBLE} else 1
    return pool


def _member(reader, pool):
    """Parses a field or method: its name and its code, if any."""
    _, name, _, attributes = reader.take("HHHH")
    code = None
    for _ in range(attributes):
        attribute, length = reader.take("HI")
        data = reader.bytes(length)
        if pool[attribute] == "Code":
            code = data[8 : 8 + int.from_bytes(data[4:8], "big")]
    return pool[name], code


def _returned_constant(code, pool):
    """Returns the string that the code returns, if it consists of `ldc` and `areturn` only."""
    if code is None or code[-1] != ARETURN:
        return None
    if code[0] == LDC and len(code) == 3:
        return pool[pool[code[1]]]
    if code[0] == LDC_W and len(code) == 4:
        return pool[pool[int.from_bytes(code[1:3], "big")]]
    return None


def shipped_classes(jar):
    """Lists a bundle's payload classes and mergers: sorted rows of ("payload", class) or ("merger", class, id)."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith(".class") and _is_hudis(name)]
        classes = {one.name: one for one in (parse_class(archive.read(name)) for name in names)}

    def ancestors(name):
        found = classes.get(name)
        return [] if found is None else [found, *(one for parent in found.parents for one in ancestors(parent))]

    def descends(name, root):
        return any(root in one.parents for one in ancestors(name))

    rows = []
    for kind, root in ROOTS.items():
        for name in sorted(name for name, one in classes.items() if one.is_concrete and descends(name, root)):
            row = (kind, name.replace("/", "."))
            if kind == "merger":
                row += (next((one.strategy for one in ancestors(name) if one.strategy), ""),)
            rows.append(row)
    return rows


def listed_classes(release):
    """Returns the same rows of a release, from the list in `tests/data`."""
    lines = LISTS.joinpath(f"hudi_{release}.tsv").read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def _is_hudis(name):
    return name.startswith(PACKAGES) and not name.startswith(SHADED)


if __name__ == "__main__":
    for row in shipped_classes(sys.argv[1]):
        print(*row, sep="\t")
