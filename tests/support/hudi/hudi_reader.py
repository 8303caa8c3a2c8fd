"""Hudi's own reader of log files, in a separate Java process, called through py4j.

The content of a block is returned as plain Python values: records as the JSON that Avro's `toString` gives (bytes as
text of as many characters, fixed as a list of signed bytes), deletes with the Java class of each ordering value.
"""

import json
import os
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaGateway

from support.find_java import use_java


class HudiReader:
    """A Java process with Hudi on its class path, in addition to the jars of pyspark."""

    def __init__(self, jar):
        jars = Path(pyspark.__file__).parent / "jars"
        (py4j,) = jars.glob("py4j-*.jar")
        self._gateway = JavaGateway.launch_gateway(
            jarpath=str(py4j),
            classpath=os.pathsep.join([str(jar), f"{jars}/*"]),
            java_path=str(use_java() / "bin" / "java"),
            javaopts=["-Duser.timezone=UTC"],
            die_on_exit=True,
        )
        java = self.java = self._gateway.jvm
        self._model = java.org.apache.hudi.common.model
        self._storage = java.org.apache.hudi.storage
        self._settings = self._storage.hadoop.HadoopStorageConfiguration(java.org.apache.hadoop.conf.Configuration())
        self._class_of_ordering = self._handle("org.apache.hudi.common.model.DeleteRecord", "getOrderingValue")
        self._class_of_item = self._handle("java.util.List", "get", java.java.lang.Integer.TYPE)

    def close(self):
        self._gateway.shutdown()
        self._gateway.java_process.stdin.close()
        self._gateway.java_process.wait(30)

    def log_file(self, path):
        """Returns the parts of a log file's name, parsed by Hudi."""
        file = self._model.HoodieLogFile(str(path))
        return {
            "file_id": file.getFileId(),
            "instant": file.getDeltaCommitTime(),
            "version": file.getLogVersion(),
            "token": file.getLogWriteToken(),
        }

    def blocks(self, path):
        """Returns the blocks of a log file, first to last."""
        reader = self._open(path, False)
        try:
            blocks = []
            while reader.hasNext():
                blocks.append(self._block(reader.next()))
            return blocks
        finally:
            reader.close()

    def decode(self, path):
        """Decodes all records of a log file in loops that run in Java, and returns their number."""
        size = self.java.com.google.common.collect.Iterators.size
        return sum(self._each_data_block(path, lambda _, records: size(records)))

    def write_records(self, path, out):
        """Writes all records of a log file, which have one schema, into an Avro container file."""
        handle = self._lookup_append()
        avro, file = self.java.org.apache.avro, self.java.java.io.File(str(out))

        def write(block, records):
            schema = avro.Schema.Parser().parse(block.getSchema().toString())
            writer = avro.file.DataFileWriter(avro.generic.GenericDatumWriter(schema))
            writer = writer.appendTo(file) if file.exists() else writer.create(schema, file)
            proxies = self.java.java.lang.invoke.MethodHandleProxies
            consumer = self.java.java.lang.Class.forName("java.util.function.Consumer")
            records.forEachRemaining(proxies.asInterfaceInstance(consumer, handle.bindTo(writer)))
            writer.close()

        for _ in self._each_data_block(path, write):
            pass

    def _lookup_append(self):
        """Returns `DataFileWriter.append` of the data of a HoodieRecord."""
        handles, load = self.java.java.lang.invoke.MethodHandles, self.java.java.lang.Class.forName
        method_type, thing = self.java.java.lang.invoke.MethodType.methodType, load("java.lang.Object")
        lookup = handles.publicLookup()
        nothing = self.java.java.lang.Void.TYPE
        append = lookup.findVirtual(load("org.apache.avro.file.DataFileWriter"), "append", method_type(nothing, thing))
        data = lookup.findVirtual(load("org.apache.hudi.common.model.HoodieRecord"), "getData", method_type(thing))
        data = data.asType(method_type(thing, thing))
        filters = self._gateway.new_array(self.java.java.lang.invoke.MethodHandle, 1)
        filters[0] = data
        return handles.filterArguments(append, 1, filters)

    def _each_data_block(self, path, do):
        """Yields the result of `do` for each data block and its iterator of records."""
        reader = self._open(path, False)
        try:
            while reader.hasNext():
                block = reader.next()
                if block.getBlockType().name().endswith("DATA_BLOCK"):
                    records = block.getRecordIterator(self._model.HoodieRecord.HoodieRecordType.AVRO)
                    yield do(block, records)
                    records.close()
        finally:
            reader.close()

    def types_backwards(self, path):
        """Returns the types of the blocks, last to first, read backwards by Hudi."""
        reader = self._open(path, True)
        try:
            types = []
            while reader.hasPrev():
                types.append(reader.prev().getBlockType().name())
            return types
        finally:
            reader.close()

    def avro_schema(self, ddl, table):
        """Returns the Avro schema that Hudi's Spark writer derives from columns, given as Spark's DDL."""
        columns = self.java.org.apache.spark.sql.types.StructType.fromDDL(ddl)
        conversions = self.java.org.apache.hudi.HoodieSchemaConversionUtils
        schema = conversions.convertStructTypeToHoodieSchema(columns, f"{table}_record", f"hoodie.{table}")
        return json.loads(schema.toString())

    def _open(self, path, backwards):
        at = self._storage.StoragePath(str(path))
        storage = self._storage.HoodieStorageUtils.getStorage(at, self._settings)
        file = self._model.HoodieLogFile(at, Path(path).stat().st_size)
        formats = self.java.org.apache.hudi.common.table.log.HoodieLogFormat
        return formats.newReader(storage, file, None, backwards)

    def _block(self, block):
        kind = block.getBlockType().name()
        header = {entry.getKey().name(): entry.getValue() for entry in block.getLogBlockHeader().entrySet()}
        facts = {"type": kind, "header": header, "footer": dict(block.getLogBlockFooter())}
        if kind == "COMMAND_BLOCK":
            return {**facts, "command": block.getType().name()}
        positions = block.getRecordPositions().toArray() if "RECORD_POSITIONS" in header else None
        facts["positions"] = positions and list(positions)
        if kind == "DELETE_BLOCK":
            return {**facts, "deletes": [self._delete(one) for one in block.getRecordsToDelete()]}
        if kind == "CORRUPT_BLOCK":
            return facts
        return {**facts, "partial": block.containsPartialUpdates(), "records": self._records(block)}

    def _records(self, block):
        records = block.getRecordIterator(self._model.HoodieRecord.HoodieRecordType.AVRO)
        try:
            all_ = []
            while records.hasNext():
                all_.append(json.loads(records.next().getData().toString()))
            return all_
        finally:
            records.close()

    def _delete(self, delete):
        value = delete.getOrderingValue()
        facts = (delete.getRecordKey(), delete.getPartitionPath())
        if value is None:
            return (*facts, None, None)
        kind = self._class_of_ordering.invokeWithArguments(self._list(delete)).getName()
        if kind == "java.nio.HeapByteBuffer":
            return (*facts, kind, bytes(value.array()[value.arrayOffset() + value.position() :]))
        if kind.endswith(".ArrayComparable"):
            items = value.getValues()
            kinds = [
                self._class_of_item.invokeWithArguments(self._list(items, at)).getName() for at in range(len(items))
            ]
            return (*facts, kind, [(one, _text(item)) for one, item in zip(kinds, items, strict=True)])
        return (*facts, kind, _text(value))

    def _handle(self, owner, method, *arguments):
        """Returns a handle for the class of a method's result. In Python a Long would look like an Integer."""
        java = self.java
        lookup = java.java.lang.invoke.MethodHandles.publicLookup()
        method_type = java.java.lang.invoke.MethodType.methodType
        load = java.java.lang.Class.forName
        taken = self._gateway.new_array(java.java.lang.Class, len(arguments))
        for at, one in enumerate(arguments):
            taken[at] = one
        returned = load("java.lang.Comparable" if method == "getOrderingValue" else "java.lang.Object")
        value = lookup.findVirtual(load(owner), method, method_type(returned, taken))
        get_class = lookup.findVirtual(load("java.lang.Object"), "getClass", method_type(load("java.lang.Class")))
        fitted = get_class.asType(method_type(load("java.lang.Class"), returned))
        return java.java.lang.invoke.MethodHandles.filterReturnValue(value, fitted)

    def _list(self, *items):
        listed = self.java.java.util.ArrayList()
        for item in items:
            listed.add(item)
        return listed


def _text(value):
    return value if isinstance(value, (bool, int, float, str)) else str(value)
