"""The list of contenders. A new one is a file with a `Contender` (see `contender`), and a line here."""

from versus.contenders.avro_rust import ArrowAvro
from versus.contenders.contender import Contender, NotSupported
from versus.contenders.delta_writer import DeltaWriter
from versus.contenders.fastavro_rows import FastavroRows
from versus.contenders.hudi_log import HudiLog
from versus.contenders.hudi_rs import HudiRs
from versus.contenders.hudi_spark import HudiSpark
from versus.contenders.hudi_writer import HudiWriter
from versus.contenders.limits import Memcpy, PyarrowParquet, SparkParquet
from versus.contenders.mortice_api import MorticeApi
from versus.contenders.mortice_spark import MorticeDataSource, MorticeMapInArrow
from versus.contenders.mortice_writer import MorticeSparkWriter, MorticeWriter
from versus.contenders.parquet_writer import ParquetWriter
from versus.contenders.spark_limits import EmptyTasks, ReadyBatches
from versus.homes import NEXT, NEXT_JAR

__all__ = ["CONTENDERS", "VERIFIER", "Contender", "NotSupported", "contender_of"]

VERIFIER = "Hudi 1.2.0 on Spark"
"""The contender that reads what others have written."""

# In the order of reports. The rows of the first contender with a result are the reference for the others.
CONTENDERS = (
    HudiSpark("1.2.0"),
    HudiSpark("0.15.0"),
    *([HudiSpark(NEXT)] if NEXT_JAR else []),
    HudiRs(),
    ArrowAvro(),
    HudiLog(),
    FastavroRows(),
    MorticeApi(),
    MorticeMapInArrow(),
    MorticeDataSource(),
    ReadyBatches(),
    EmptyTasks(),
    SparkParquet(),
    PyarrowParquet(),
    Memcpy(),
    HudiWriter("1.2.0"),
    MorticeWriter(),
    MorticeSparkWriter(),
    DeltaWriter(),
    ParquetWriter(),
)


def contender_of(name):
    """Returns the contender of this name."""
    return next(contender for contender in CONTENDERS if contender.name == name)
