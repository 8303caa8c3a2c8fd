"""The writes that `mortice.Table` has as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, overload

import pyarrow as pa

from mortice import _mortice
from mortice._mortice import Commit
from mortice.catalogs.run import asked_for, sync_after
from mortice.errors import InvalidArgumentError
from mortice.expressions.filters import Filters, normal_form
from mortice.table.base import TableBase
from mortice.values.argument_types import Options, Rows
from mortice.values.observe import observed
from mortice.values.other_names import with_hints
from mortice.writing import writes
from mortice.writing.alter import Changes, alter
from mortice.writing.merge_clauses import (
    MERGE_ARGUMENTS,
    MergeBuilder,
    MergeClause,
    clauses_of_arguments,
    matched_by,
)
from mortice.writing.merge_into import clauses_of
from mortice.writing.new_values import Values, new_values
from mortice.writing.partitioner import Partitioner, partitioned
from mortice.writing.row_input import arrow_rows, key_rows, listed_keys
from mortice.writing.validators import validated
from mortice.writing.writes import SchemaChanges

__all__ = ["TableWrites"]


@with_hints
class TableWrites(TableBase):
    """Writes as methods of a table."""

    def upsert(self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None) -> Commit:
        """Updates the rows whose record key is in the table, and inserts the others, as one commit.

            table.upsert(pa.table({"id": ["a", "b"], "city": ["x", "y"], "ts": [1, 2]}))

        Rows with the same key are merged first, by the table's merge mode. A row whose `_hoodie_is_deleted` is true
        deletes its key. The rows get the table's columns: a value of another type is cast if the column holds it
        exactly, and refused otherwise. Rows of a table without key fields are inserted, unless they have
        `_hoodie_record_key` and `_hoodie_partition_path` as a query returns them. The write starts from the newest
        state of the table, and the table shows its own commit afterwards.

        Args:
            data: The rows: anything with `__arrow_c_stream__` (pyarrow, polars, pandas, DuckDB), a LazyFrame, a list of
                dicts, a dict of lists, a `pyarrow.dataset.Dataset`, or record batches, also from a generator.
            options: Options of the write by Hudi's names (docs/writing.md), such as `hoodie.index.type`. Others than
                Hudi's are refused, and so are those that contradict the table.
            schema: Which changes of the table's columns the write may make: `"exact"` (default), none; `"add"`, columns
                and fields of structs that the table does not have are added; `"evolve"`, numbers of the table become
                wider or strings, too, if the rows have such types. `Commit.schema_changes` says what has changed.

        Returns:
            The commit.

        Raises:
            InvalidArgumentError: A row or an option is invalid; the message names row and column.
            UnsupportedError: The table or an option needs a feature that mortice does not have.
            WriteConflictError: Another writer changed the same file groups meanwhile.
            TableServiceError: The rows are in the table, and a table service after the write failed.
            StorageError: The storage failed. The write was undone, unless the message says otherwise.
        """
        return self._write("upsert", data, writes.with_schema(options, schema))

    def insert(self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None) -> Commit:
        """Inserts rows as one commit, without looking for their keys in the table.

        Rows whose key is in the table already become duplicates, as in Hudi. Arguments, result and errors are those of
        `upsert`.
        """
        return self._write("insert", data, writes.with_schema(options, schema))

    def delete(self, keys_or_rows: Rows, options: Options | None = None) -> Commit:
        """Deletes keys as one commit.

        Args:
            keys_or_rows: A list of keys, or an array or series, of a table with one key field: their rows are deleted
                in all partitions. Or rows with `_hoodie_record_key` and `_hoodie_partition_path` as a query returns
                them, or else with at least the columns of the record key and of the partition path. These are cast to
                the table's types. Keys that are not in the table are left out.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`.
        """
        if isinstance(keys_or_rows, str):
            raise InvalidArgumentError(
                f"delete takes rows or a list of keys, got {keys_or_rows!r}; delete_where deletes the rows that a "
                "condition selects"
            )
        keys = listed_keys(keys_or_rows)
        if keys is None:
            return self._write("delete", keys_or_rows, options)
        fields = self._native.record_key_fields
        if len(fields) != 1:
            raise InvalidArgumentError(
                f"a list of keys needs a table with one key field, not ({', '.join(fields)}); pass rows with these "
                "columns"
            )
        if self._native.partition_fields:
            return self.delete_where([(fields[0], "in", keys)], options)
        return self._write("delete", key_rows(keys, fields[0], self._columns_of_table()), options)

    def bulk_insert(
        self,
        data: Rows,
        options: Options | None = None,
        *,
        partitioner: Partitioner | None = None,
        schema: SchemaChanges | None = None,
    ) -> Commit:
        """Inserts rows into new file groups as one commit: the fastest way to load a table.

            table.bulk_insert(reader, options={"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"})

        Neither keys nor small files are looked for. The rows are read and written as a stream of any length.
        Rows of a stream that cannot be written are found when others were written already; these are removed then.

        Args:
            data: As for `upsert`.
            options: As for `upsert`; `hoodie.bulkinsert.sort.mode` sorts the rows or distributes them by partition.
            partitioner: A function that distributes rows to files instead. It is called once for each record batch, and
                returns an integer for each row: rows of one partition with the same integer share files, in their
                order, and others do not.
            schema: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `UnsupportedError` for a partitioner with a sort mode, a bucket index,
        `hoodie.combine.before.insert` or `hoodie.write.ignore.failed`; and what the partitioner raises.
        """
        given = writes.with_schema(options, schema)
        if partitioner is None:
            return self._write("bulk_insert", data, given)
        with partitioned(arrow_rows(data, self._columns_of_table), partitioner) as rows:
            return self._write("bulk_insert", rows, given)

    def insert_overwrite(
        self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None
    ) -> Commit:
        """Replaces the content of the partitions that the rows belong to by the rows, as one commit.

        Other partitions stay. Without rows nothing is replaced. Time travel still shows what was replaced, until
        it is cleaned. Arguments, result and errors are those of `upsert`.
        """
        return self._write("insert_overwrite", data, writes.with_schema(options, schema))

    def insert_overwrite_table(
        self, data: Rows, options: Options | None = None, *, schema: SchemaChanges | None = None
    ) -> Commit:
        """Replaces the content of the whole table by the rows, as one commit; without rows the table is empty then.

        Arguments, result and errors are those of `upsert`.
        """
        return self._write("insert_overwrite_table", data, writes.with_schema(options, schema))

    def delete_partitions(self, partitions: Sequence[str], options: Options | None = None) -> Commit:
        """Deletes the content of partitions, as one commit.

            table.delete_partitions(["2024/01/01", "2023/*"])

        Args:
            partitions: Partition paths, as `_hoodie_partition_path` has them. `*` stands for any text, `/` included. A
                warning names paths that the table does not have.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `UnsupportedError` while a compaction or clustering of such a partition is pending.
        """
        with validated(self._validators, self.preview) as check:
            return self._show(writes.delete_partitions(*self._target(options), partitions, check), options)

    def delete_where(self, filters: Filters, options: Options | None = None) -> Commit:
        """Deletes the rows that filters select, as one commit.

            table.delete_where("city = 'oslo' and fare < 3")

        Args:
            filters: The filters, as those of `snapshot`: text, terms or expressions (see `mortice.filters`).
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`.
        """
        with validated(self._validators, self.preview) as check:
            return self._show(
                writes.delete_where(*self._target(options), filters, check, self._columns_of_table), options
            )

    def soft_delete(self, rows: Rows, options: Options | None = None) -> Commit:
        """Sets all columns of rows to null but those of the record key, the partition path and the ordering value.

        The rows remain, so that others can still count them. It is an upsert: by event time a row wins whose ordering
        value is not less.

        Args:
            rows: Rows with at least the columns of the record key, the partition path and the ordering value; others
                are not read. For a table without key fields, rows of a query with their meta columns.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `InvalidArgumentError` if one of the other columns is not nullable.
        """
        keys = self._native.record_key_fields or writes.GENERATED_KEY
        kept = {*keys, *self._native.partition_fields, *self._native.ordering_fields}
        return self._write("upsert", *writes.with_nulls(arrow_rows(rows, self._columns_of_table), kept, options))

    def merge_into(  # noqa: PLR0917
        self,
        data: Rows,
        on: str | Sequence[str] | None = None,
        when_matched_update: Sequence[str] | None = None,
        when_not_matched: str = "insert",
        when_matched_delete: Filters = None,
        options: Options | None = None,
    ) -> Commit:
        """Merges rows into the table as SQL's `MERGE INTO` does, as one commit: matched rows are updated or deleted,
        others inserted.

            table.merge_into(
                rides, when_matched_update=["fare", "ts"], when_matched_delete=[("state", "=", "cancelled")]
            )

        The stored rows of the keys are read with filters on key and partition columns. An update is never lost to
        ordering values: a matched row keeps the stored one, unless it is updated, and then the new one must not be
        less. Columns that the table does not have can be used in `when_matched_delete`, and are not written.

        Args:
            data: The rows, one for each key, or several that all delete it: anything with `__arrow_c_stream__`.
            on: The columns by which rows are matched: the record key, with partition columns or without. Default: the
                record key and those partition columns that the rows have; the record key alone if
                `hoodie.index.type` is a global index.
            when_matched_update: The columns that a matched row gets, the others stay. Default: all that rows and table
                have in common. Empty: none.
            when_not_matched: `"insert"`, with null in columns that the rows do not have, or `"ignore"`.
            when_matched_delete: Filters (see `mortice.filters`). Matched rows that they select are deleted. A column is
                that of the given row, or of the stored one if the given rows do not have it.
            options: As for `upsert`.

        Returns:
            The commit.

        Raises as `upsert`; `UnsupportedError` for a table whose merge rules are not by commit or event time, or whose
        keys are generated; `WriteConflictError` if another writer commits between the read and the write.
        """
        clauses = clauses_of(on, when_matched_update, when_not_matched)
        given, rows = (
            writes.checked_options(self._without_sync(self._with_damage(options))),
            writes.checked_table(arrow_rows(data, self._columns_of_table)),
        )
        delete = normal_form(when_matched_delete, lambda: _either(rows.schema, self._columns_of_table()))
        self.refresh()
        with observed("merge_into", self.uri) as observation, validated(self._validators, self.preview) as check:
            commit = _mortice.merge_into(self._native, rows, clauses, delete, given, check)
            return self._show(observation.done(commit), options)

    def update_where(self, values: Values, filters: Filters, options: Options | None = None) -> Commit:
        """Updates the rows that a condition selects, as one commit.

            table.update_where({"fare": "fare * 1.1", "note": "'raised'"}, "city = 'oslo' AND fare < 3")

        Only columns and partitions that the condition may select are read. An update is never lost to ordering values:
        a row keeps the stored one, unless it is among the values, and then the new one must not be less.

        Args:
            values: The columns, and what they get: an expression as a string (`mortice.expressions`), or another Python
                value. A value is cast to the column's type exactly, or refused.
            filters: A condition as a string, or filters as those of `snapshot`. `"true"` selects all rows.
            options: As for `upsert`.

        Returns:
            The commit. If no row is selected nothing is written, and `Commit.instant` is empty.

        Raises as `upsert`; `InvalidArgumentError`, with the place in the text, for an expression; for columns of the
        record key, and of the partition path unless `hoodie.index.type` is a global index that moves rows;
        `UnsupportedError` and `WriteConflictError` as `merge_into`.
        """
        given = writes.checked_options(self._without_sync(self._with_damage(options)))
        self.refresh()
        with observed("update_where", self.uri) as observation, validated(self._validators, self.preview) as check:
            rows = filters if isinstance(filters, str) else normal_form(filters, self._columns_of_table)
            commit = _mortice.update_where(self._native, new_values(values), rows, given, check)
            return self._show(observation.done(commit), options if commit.instant else None)

    @overload
    def merge(self, data: Rows, on: str | Sequence[str], options: Options | None = None) -> MergeBuilder: ...

    @overload
    def merge(
        self,
        data: Rows,
        on: str | Sequence[str],
        options: Options | None = None,
        *,
        when_matched_update: Values | Literal["all"] | None = ...,
        when_matched_delete: str | bool | None = ...,
        when_not_matched_insert: Values | Literal["all"] | None = ...,
        when_not_matched_by_source_update: Values | None = ...,
        when_not_matched_by_source_delete: str | bool | None = ...,
    ) -> Commit: ...

    def merge(
        self, data: Rows, on: str | Sequence[str], options: Options | None = None, **clauses: Values | str | bool | None
    ) -> MergeBuilder | Commit:
        """Merges rows into the table as SQL's `MERGE INTO` does, by any condition and with several clauses.

            table.merge(
                rides,
                on="t.id = s.id",
                when_matched_delete="s.state = 'cancelled'",
                when_matched_update={"fare": "t.fare + s.fare", "ts": "s.ts"},
                when_not_matched_insert="all",
            )

        Without clauses it returns a builder, which can have several of each kind (`MergeBuilder`). Expressions
        (`mortice.expressions`) name columns of the table as `t.fare`, those of the rows as `s.fare`. Stored rows are
        read with filters on key and partition columns, if the condition says that these are equal. As in `update_where`
        an update is never lost to ordering values.

        Args:
            data: The rows: anything with `__arrow_c_stream__`. They are kept in memory.
            on: The condition by which rows match stored ones, or the columns that are equal.
            options: As for `upsert`.
            **clauses: `when_matched_update` and `when_not_matched_insert` map columns to expressions, or are `"all"`:
                all columns that rows and table have in common; `when_not_matched_by_source_update` maps columns, too.
                `when_matched_delete` and `when_not_matched_by_source_delete` are conditions, or True. Deletes are
                tried first.

        Returns:
            With clauses, the commit. If no row changes nothing is written, and `Commit.instant` is empty.

        Raises as `update_where`; `InvalidArgumentError` if several rows match a stored one and do not all delete it, or
        a row to insert has a key that the table has.
        """
        unknown = [name for name in clauses if name not in MERGE_ARGUMENTS]
        if unknown:
            raise TypeError(f"merge() has no argument {unknown[0]!r}; clauses: {', '.join(MERGE_ARGUMENTS)}")

        def run(given: Sequence[MergeClause]) -> Commit:
            checked = writes.checked_options(self._without_sync(self._with_damage(options)))
            rows = writes.checked_table(arrow_rows(data, self._columns_of_table))
            self.refresh()
            with observed("merge", self.uri) as observation, validated(self._validators, self.preview) as check:
                native = [clause.native() for clause in given]
                commit = _mortice.merge(self._native, rows, matched_by(on), native, checked, check)
                return self._show(observation.done(commit), options if commit.instant else None)

        builder = MergeBuilder(run)
        return clauses_of_arguments(builder, clauses).execute() if clauses else builder

    def alter(
        self,
        *,
        add: Mapping[str, pa.DataType | str] | pa.Schema | None = None,
        drop: str | Sequence[str] | None = None,
        rename: Mapping[str, str] | None = None,
        type: Mapping[str, pa.DataType | str] | None = None,  # noqa: A002
        comment: Mapping[str, str] | None = None,
        nullable: str | Sequence[str] | None = None,
        move: Mapping[str, str | None] | None = None,
        options: Options | None = None,
    ) -> Commit:
        """Changes the table's columns, as one commit without rows, as Hudi's `ALTER TABLE` writes it.

            table.alter(add={"tip": pa.float64(), "rider.age": pa.int32()}, rename={"fare": "price"})

        Fields are paths: `rider.age`, `stops.element.city` within a list, `prices.value.net` within a map. Dropping,
        renaming and another type give the columns ids (schema on read): old files keep their names, and each later
        write of mortice stores the ids. Hudi reads such a table with `hoodie.schema.on.read.enable=true`.

        Args:
            add: New columns and fields, and their types, also by name (`"double"`, `"decimal(10,2)"`); rows that are
                there have null. A column is put before partition columns that are at the end.
            drop: Columns and fields that are no longer shown. Files keep their values until they are rewritten.
            rename: Columns and fields, and their new names.
            type: Columns and fields, and the wider types that they get: of int32 int64, float64 or string, of float32
                float64 or string, of int64 and float64 string.
            comment: Columns and fields, and their descriptions.
            nullable: Columns and fields that may be null from now on.
            move: Columns and fields, and the one next to them that they are put behind; None puts them first.
            options: As for `upsert`.

        Returns:
            The commit; `schema_changes` has the new columns and types.

        Raises:
            InvalidArgumentError: A column does not exist, or is part of the record key, the partition path or the
                ordering value.
            UnsupportedError: Another type, or a table that mortice does not write.
            WriteConflictError: Another writer has committed meanwhile.
        """
        changes = {"add": add, "drop": drop, "rename": rename, "type": type, "comment": comment}
        changes |= {"nullable": nullable, "move": move}
        made = Changes.from_arguments(changes)
        given = writes.checked_options(self._without_sync(options))
        self.refresh()
        with observed("alter", self.uri) as observation, validated(self._validators, self.preview) as check:
            return self._show(observation.done(alter(self._native, made, given, check)), options)

    def _write(self, operation: str, data: Rows, options: Options | None) -> Commit:
        rows = arrow_rows(data, self._columns_of_table)
        with validated(self._validators, self.preview) as check:
            return self._show(writes.write(*self._target(options), operation, rows, check), options)

    def _columns_of_table(self) -> pa.Schema:
        return pa.schema(self._native.schema())

    def _show(self, commit: Commit, options: Options | None) -> Commit:
        """Shows the table after a write, and registers it in the catalog that the options name."""
        self.refresh()
        catalog = asked_for(options)
        if catalog is not None:
            sync_after(self, commit.instant, catalog)
        return commit


def _either(given: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """Returns the columns of given rows, and those that the table has besides."""
    return pa.schema([*given, *(field for field in stored if field.name not in given.names)])
