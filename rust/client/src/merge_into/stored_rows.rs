//! The stored rows that given rows may match.

use std::collections::BTreeSet;

use arrow_array::StringArray;

use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_formats::filter::{Filter, Literal, Operator, Term};
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::{RowBatches, RowBatchesBuilder, RowMemory};
use mortice_storage::check_cancelled;
use mortice_table::plan::{QueryOptions, Scan};

/// A query of the stored rows of keys: some columns, with record key and partition path behind them.
pub(super) fn query_of_keys<'a>(
    columns: impl Iterator<Item = &'a String>,
    keys: &RowKeys,
    by_path: bool,
) -> Result<QueryOptions> {
    let meta = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH].map(str::to_owned);
    let mut terms = vec![is_one_of(meta_columns::RECORD_KEY, &keys.record_keys)?];
    if by_path {
        terms.push(is_one_of(meta_columns::PARTITION_PATH, &keys.partitions)?);
    }
    let columns = Some(columns.cloned().chain(meta).collect());
    Ok(QueryOptions { columns, filter: Filter::any_of(vec![terms]), merger: None })
}

fn is_one_of(column: &str, values: &StringArray) -> Result<Term> {
    let distinct: BTreeSet<&str> = values.iter().flatten().collect();
    let literals = distinct.into_iter().map(|value| Literal::Text(value.to_owned())).collect();
    Term::new(column, Operator::In, literals)
}

/// Reads all rows of a scan.
pub(super) fn read_rows(scan: &Scan, memory: RowMemory) -> Result<RowBatches> {
    let mut rows = RowBatchesBuilder::new(scan.schema(), memory);
    for batch in scan.stream() {
        check_cancelled()?;
        rows.push(batch?)?;
    }
    Ok(rows.finish())
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestTable;
    use super::super::testing::names;
    use super::*;
    use mortice_table::plan::SnapshotRows;

    fn found(by_path: bool) -> usize {
        let table = TestTable::new();
        table.upsert(&[("a", "oslo", 1.0, 1), ("b", "oslo", 1.0, 1), ("a", "rome", 1.0, 1)]);
        let strings = |values: &[&str]| StringArray::from(values.to_vec());
        let keys = RowKeys { record_keys: strings(&["a", "a", "c"]), partitions: strings(&["oslo", "x", "oslo"]) };
        let columns = names(&["fare"]);
        let query = query_of_keys(columns.iter(), &keys, by_path).unwrap();
        let scan = table.open().snapshot(&query, None, SnapshotRows::Merged).unwrap();
        read_rows(&scan, RowMemory::unlimited()).unwrap().num_rows()
    }

    #[test]
    fn rows_are_read_by_key_and_by_path_if_there_is_one() {
        assert_eq!((found(true), found(false)), (1, 2));
    }
}
