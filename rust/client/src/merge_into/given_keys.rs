//! Record keys and partition paths of rows, as a write of them would make them. They need no table but its properties,
//! so that tasks of other processes can make them.

use arrow_array::{RecordBatch, StringArray};

use mortice_base::error::Result;
use mortice_merge::config::{Properties, TableConfig};
use mortice_merge::keys::{KeyOptions, RowKeyReader, RowKeys};

/// Makes the record keys and partition paths of rows as a write of them would.
#[derive(Debug)]
pub(super) struct GivenKeys {
    config: TableConfig,
    options: KeyOptions,
}

impl GivenKeys {
    /// Of a table with these properties, and a write with these options.
    pub(super) fn new(properties: Properties, options: KeyOptions) -> Result<Self> {
        Ok(Self { config: TableConfig::from_properties(properties)?, options })
    }

    /// Record keys and partition paths of rows in the table's types. If they have no partition columns and `key_alone`
    /// is true, their paths are empty.
    pub(super) fn keys(&self, batch: &RecordBatch, first_row: u64, key_alone: bool) -> Result<RowKeys> {
        RowKeyReader::for_deletes(&self.config, &batch.schema(), &self.options, key_alone)?.read(batch, first_row)
    }

    /// Partition paths alone; the columns of the record key may have any values.
    pub(super) fn partitions(&self, batch: &RecordBatch) -> Result<StringArray> {
        RowKeyReader::new(&self.config, &batch.schema(), &self.options)?.unchecked().read_partitions(batch, 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;

    #[test]
    fn a_path_needs_no_key_and_a_key_no_path() {
        let lines = "hoodie.table.version=9\nhoodie.table.name=t\nhoodie.table.recordkey.fields=id\nhoodie.table.partition.fields=p\nhoodie.table.keygenerator.type=SIMPLE";
        let properties: Properties =
            lines.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let keys = GivenKeys::new(properties, KeyOptions::default()).unwrap();
        let strings = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
        let rows = RecordBatch::try_from_iter([
            ("id", strings(vec![None, Some("a")])),
            ("p", strings(vec![Some("x"), Some("")])),
        ])
        .unwrap();
        let paths = StringArray::from(vec!["x", "__HIVE_DEFAULT_PARTITION__"]);
        assert_eq!(keys.partitions(&rows).unwrap(), paths);
        assert!(keys.keys(&rows, 0, false).is_err());
        let rows = rows.slice(1, 1);
        assert_eq!(keys.keys(&rows, 0, false).unwrap().partitions, paths.slice(1, 1));
        let alone = rows.project(&[0]).unwrap();
        assert_eq!(keys.keys(&alone, 0, true).unwrap().record_keys, StringArray::from(vec!["a"]));
        assert!(keys.keys(&alone, 0, false).is_err());
    }
}
