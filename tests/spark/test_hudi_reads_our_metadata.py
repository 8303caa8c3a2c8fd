"""Hudi reads timeline files of mortice, and finds the same content as in its own.

`make test-beside-hudi` runs it: a Rust example rewrites the metadata of copies of bundled tables. pyspark 3.5 provides
Java.
"""

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")
if not pyspark.__version__.startswith("3.5."):
    pytest.skip("Hudi is run with pyspark 3.5", allow_module_level=True)

from support.hudi import fetch_hudi  # noqa: E402

if not os.environ.get("BESIDE_HUDI"):
    pytest.skip("compiles a Rust example: make test-beside-hudi", allow_module_level=True)
if fetch_hudi.jar() is None:
    pytest.skip("no jar of Hudi: make hudi-jar fetches it with Maven", allow_module_level=True)

from support.hudi.hudi_reader import HudiReader  # noqa: E402

TESTS = Path(__file__).parent.parent
INSTANT_FILE = re.compile(r"^\d+(_\d+)?\.(?P<action>\w+?)(\.(?P<state>\w+))?$")
# Together they have every kind of metadata except that of indexing.
TABLES = [
    "timelines/v6_actions",
    "timelines/v6_savepoint",
    "timelines/v9_actions",
    "timelines/v9_savepoint",
    "h015_cdc_cow_data_before",
    "h12_cdc_odd_data_before_after",
    "h12_cleaned_range",
    "h12_log_compaction",
]
CLASSES = {
    ("clean", None): "HoodieCleanMetadata",
    ("clean", "requested"): "HoodieCleanerPlan",
    ("clean", "inflight"): "HoodieCleanerPlan",
    ("replacecommit", None): "HoodieReplaceCommitMetadata",
    ("replacecommit", "requested"): "HoodieRequestedReplaceMetadata",
    ("clustering", "requested"): "HoodieRequestedReplaceMetadata",
    ("compaction", "requested"): "HoodieCompactionPlan",
    ("logcompaction", "requested"): "HoodieCompactionPlan",
    ("rollback", "requested"): "HoodieRollbackPlan",
    ("rollback", None): "HoodieRollbackMetadata",
    ("restore", "requested"): "HoodieRestorePlan",
    ("restore", None): "HoodieRestoreMetadata",
    ("savepoint", None): "HoodieSavepointMetadata",
}


# 0.15 reads tables up to version 6.
JARS = [jar for jar in (fetch_hudi.jar(), fetch_hudi.jar("0.15.0")) if jar]


@pytest.fixture(scope="module", params=JARS, ids=lambda jar: jar.stem.rsplit("-", 1)[-1])
def hudi(request):
    reader = HudiReader(request.param)
    yield reader
    reader.close()


def rewrite(table):
    """Returns the rewritten files."""
    command = ["cargo", "run", "-q", "-p", "mortice", "--example", "rewrite_metadata", str(table)]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.splitlines()]


def unpack(name, folder):
    with zipfile.ZipFile(TESTS / "data" / name / "table.zip") as archive:
        archive.extractall(folder)
    return folder


def by_hudi(java, path):
    """Returns the content of a timeline file as a string, read by Hudi."""
    content = path.read_bytes()
    named = INSTANT_FILE.match(path.name)
    kind = CLASSES.get((named["action"], named["state"]), "HoodieCommitMetadata")
    if content.startswith(b"{"):
        of_kind = getattr(java.org.apache.hudi.common.model, kind)._java_lang_class
        mapper = java.org.apache.hudi.common.util.JsonUtils.getObjectMapper()
        return mapper.readValue(content, of_kind).toJsonString()
    of_kind = getattr(java.org.apache.hudi.avro.model, kind)._java_lang_class
    avro = java.org.apache.avro
    with_class = avro.specific.SpecificDatumReader(of_kind)
    records = avro.file.DataFileReader(avro.file.SeekableByteArrayInput(content), with_class)
    (record,) = list(records)
    # Hudi writes no version into commits; mortice writes the default of the schema.
    return record.toString().replace('"version": null', '"version": 1')


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TABLES)
def test_hudi_reads_the_same_content(tmp_path, hudi, name):
    before, after = unpack(name, tmp_path / "before"), unpack(name, tmp_path / "after")
    compared = 0
    for path in rewrite(after):
        if path.name == "hoodie.properties":
            continue
        original = before / path.relative_to(after)
        assert path.read_bytes() != original.read_bytes()
        assert by_hudi(hudi.java, path) == by_hudi(hudi.java, original), path
        compared += 1
    assert compared > 5
