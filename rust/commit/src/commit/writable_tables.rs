//! Tables that can be created and read, but not written to.

use mortice_base::error::{Error, Result};
use mortice_merge::config::TableConfig;

/// Refuses tables that a plug-in of Hudi keeps in another table format, too, which would miss the change; and tables of
/// other versions: older ones have other timelines, markers or metadata tables, and Hudi upgrades them when it writes.
///
/// # Errors
/// `Unsupported`, with what to do.
pub fn check_version(config: &TableConfig) -> Result<()> {
    check_format(config)?;
    match config.version.number() {
        6 | 8..=10 => Ok(()),
        other => Err(Error::unsupported(format!(
            "changing a table of version {other} (supported: 6, 8, 9, 10); bring it to another version by an upgrade"
        ))),
    }
}

/// Refuses tables of other formats, of any version.
///
/// # Errors
/// `Unsupported`, with the property.
pub fn check_format(config: &TableConfig) -> Result<()> {
    if let Some(format) = config.other_format() {
        return Err(Error::unsupported(format!(
            "changing a table whose hoodie.table.format is {format}: the plug-in of that format would not know of the \
             change; it is only read; write to it with Hudi and the plug-in"
        )));
    }
    Ok(())
}

/// Refuses tables whose files this release does not write as Hudi does.
///
/// # Errors
/// `Unsupported`, with the property.
pub fn check_writable(config: &TableConfig) -> Result<()> {
    let refused = [
        (
            config.cdc.is_some() && !config.populate_meta_fields,
            "a table with change data capture (hoodie.table.cdc.enabled) but without meta columns (hoodie.populate.meta.fields=false)",
        ),
        (
            config.drop_partition_columns,
            "a table without partition columns in its files (hoodie.datasource.write.drop.partition.columns)",
        ),
        (is_sorted(config), "a table whose files are sorted by record key (hoodie.table.storage.layout=lsm_tree)"),
        (!config.base_file_format.eq_ignore_ascii_case("PARQUET"), "a table whose base files are not Parquet"),
    ];
    match refused.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, what)) => Err(Error::unsupported(format!("writing to {what}; write to it with Hudi"))),
        None => Ok(()),
    }
}

/// Whether Hudi expects all files to be sorted by record key. Its readers merge them by that order, and would return
/// rows of files that are not sorted twice, or not at all.
fn is_sorted(config: &TableConfig) -> bool {
    let layout = config.properties.first_of(&["hoodie.table.storage.layout"]);
    config.version.has_native_logs() && layout.is_some_and(|layout| !layout.trim().eq_ignore_ascii_case("default"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_schema::{DataType, Field, Schema};

    use super::check_version;
    use crate::commit::NewTable;
    use mortice_base::error::{ErrorKind, Result};
    use mortice_merge::config::{Properties, TableConfig, TableType, TableVersion};

    fn created(properties: &[(&str, &str)]) -> Result<()> {
        let properties: BTreeMap<String, String> =
            properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let table = NewTable {
            name: "t".into(),
            version: TableVersion::for_new_table(9).unwrap(),
            table_type: TableType::CopyOnWrite,
            record_key: vec!["id".into()],
            partition_by: vec!["p".into()],
            ordering: Vec::new(),
            properties,
        };
        let column = |name: &str| Field::new(name, DataType::Utf8, true);
        table.properties_file(&Schema::new(vec![column("id"), column("p")])).map(drop)
    }

    #[test]
    fn tables_of_other_formats_are_not_changed() {
        let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", "9"), ("hoodie.table.format", "ICEBERG")];
        let config = TableConfig::from_properties(entries.into_iter().collect::<Properties>()).unwrap();
        config.check_supported().unwrap();
        let error = check_version(&config).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("ICEBERG"), "{error}");
    }

    #[test]
    fn a_table_that_is_not_written_to_is_not_created() {
        let dropped = "hoodie.datasource.write.drop.partition.columns";
        let (changes, meta) = (("hoodie.table.cdc.enabled", "true"), ("hoodie.populate.meta.fields", "false"));
        for (properties, word) in [([(dropped, "true")].as_slice(), dropped), (&[changes, meta], meta.0)] {
            let error = created(properties).unwrap_err();
            assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(word), "{error}");
        }
        for properties in [[(dropped, "false")], [changes], [meta]] {
            created(&properties).unwrap();
        }
    }
}
