//! Whether the keys and partition paths that rows have are those of the properties that an upgrade gives a table. Up to
//! version 2 options name them; by others, writes would add rows beside those that they update.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::meta_columns::{self, PARTITION_PATH, RECORD_KEY};
use mortice_merge::config::{TableConfig, WriteOptions};
use mortice_merge::keys::{KeyOptions, RowKeyReader};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};

/// So many rows are compared.
const ROWS: usize = 1000;

/// Compares the first rows of a table. Without meta columns there is nothing to compare.
///
/// # Errors
/// `InvalidArgument`, with a row and what it has, if the options make another key or partition path; those of reading
/// the table.
pub(super) fn check_stored_keys(table: &OpenTable, after: &TableConfig, options: &WriteOptions) -> Result<()> {
    if !after.populate_meta_fields {
        return Ok(());
    }
    let (_, types) = table.schema_at(None)?;
    let fields = after.record_key_fields.iter().chain(&after.partition_fields);
    let names: BTreeSet<&str> = fields.filter_map(|field| field.split(['.', ':']).next()).collect();
    if let Some(missing) = names.iter().find(|name| types.fields().find(name).is_none()) {
        return Err(Error::invalid_argument(format!(
            "the table has no column {missing:?}, which an option names as a field of its keys"
        )));
    }
    let columns = [RECORD_KEY, PARTITION_PATH].into_iter().chain(names).map(str::to_owned).collect();
    let query = QueryOptions { columns: Some(columns), ..QueryOptions::default() };
    for batch in table.snapshot(&query, None, SnapshotRows::Merged)?.stream() {
        let batch = batch?;
        if batch.num_rows() > 0 {
            let first = batch.slice(0, batch.num_rows().min(ROWS));
            return compare(&first, after, options);
        }
    }
    Ok(())
}

fn compare(batch: &RecordBatch, after: &TableConfig, options: &WriteOptions) -> Result<()> {
    // Of rows with meta columns, the keys in these would be taken.
    let columns = batch.schema();
    let is_of_user = |at: &usize| !meta_columns::ALL.contains(&columns.field(*at).name().as_str());
    let rows = batch
        .project(&(0..batch.num_columns()).filter(is_of_user).collect::<Vec<_>>())
        .map_err(|error| Error::internal(format!("columns of a batch: {error}")))?;
    let made = RowKeyReader::new(after, &rows.schema(), &KeyOptions::resolve(options)?)
        .and_then(|reader| reader.unchecked().read(&rows, 0));
    let made = match made {
        Ok(made) => made,
        // A key generator of the user's own: only the user can tell.
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        Err(error) => return Err(error),
    };
    for (name, made) in [(RECORD_KEY, &made.record_keys), (PARTITION_PATH, &made.partitions)] {
        let Some(stored) = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()) else {
            continue;
        };
        for (stored, made) in stored.iter().zip(made.iter()) {
            if stored.is_some() && stored != made {
                return Err(Error::invalid_argument(format!(
                    "a row has {name} {:?}, and the options of the upgrade make it {:?}: name the key and partition fields, the key generator, \
                     hive style and URL encoding by which the table was written",
                    stored.unwrap_or_default(),
                    made.unwrap_or_default()
                )));
            }
        }
    }
    Ok(())
}
