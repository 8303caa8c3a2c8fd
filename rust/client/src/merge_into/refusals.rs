//! Tables and options that cannot be merged into.

use arrow_schema::Schema;

use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::{MergeMode, option_names};
use mortice_table::plan::OpenTable;
use mortice_write::rows::{DuplicatePolicy, RowOptions};

/// Options, and whether they are set, by which rows of a write are left out or dropped: a merge would not do what its
/// clauses say.
fn refused_options(options: &RowOptions) -> [(&'static str, bool); 3] {
    let has_policy = options.duplicates != DuplicatePolicy::Keep;
    [
        (option_names::DATASOURCE_INSERT_DUP_POLICY.name(), has_policy),
        (option_names::DATASOURCE_WRITE_INSERT_DROP_DUPLICATES.name(), options.drops_duplicates),
        (option_names::WRITE_IGNORE_FAILED.name(), options.ignores_failed),
    ]
}

/// Key generators by whose paths a row is not found again from the values that queries return.
const REFUSED_GENERATORS: [&str; 2] = ["timestamp", "custom"];

/// Makes sure that a merge into a table does what SQL says.
pub(super) fn check_table(table: &OpenTable, columns: &Schema, options: &RowOptions) -> Result<()> {
    let config = &table.config;
    let mut generators = config.properties.iter().filter(|(name, _)| name.starts_with("hoodie.table.keygen"));
    let is_refused = |value: &str| REFUSED_GENERATORS.iter().any(|name| value.to_ascii_lowercase().contains(name));
    let mut fields = config.record_key_fields.iter().chain(&config.partition_fields);
    let what = if config.record_key_fields.is_empty() {
        "a table whose keys are generated".to_owned()
    } else if generators.any(|(_, value)| is_refused(value)) {
        "a table of a timestamp or custom key generator".to_owned()
    } else if fields.any(|name| name.contains('.')) {
        "a table whose keys are fields of structs".to_owned()
    } else if columns.fields().find(meta_columns::PARTITION_PATH).is_none() {
        "a table without meta columns".to_owned()
    } else if matches!(table.merge.mode, MergeMode::Custom(_)) {
        format!("a table that merges by {}", table.merge.custom().unwrap_or("a class of its own"))
    } else if config.properties.get("hoodie.table.partial.update.mode").is_some() {
        "a table that merges rows field by field".to_owned()
    } else if let Some((name, _)) = refused_options(options).into_iter().find(|(_, is_set)| *is_set) {
        format!("the option {name}")
    } else {
        return Ok(());
    };
    let message = format!("merge_into with {what}; read the rows, change them, and upsert them");
    Err(Error::unsupported(message).in_file(&table.uri))
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestTable;
    use super::*;
    use mortice_merge::config::WriteOptions;

    fn refused(table: &TestTable, given: &[(&str, &str)]) -> String {
        let open = table.open();
        let columns = open.schema_at(None).unwrap().1;
        let options = RowOptions::resolve(&WriteOptions::resolve(given.iter().copied()).unwrap()).unwrap();
        check_table(&open, &columns, &options).map_or_else(|error| error.text(), |()| String::new())
    }

    #[test]
    fn tables_without_rules_of_sql_are_refused() {
        let with = |properties: &[(&str, &str)]| refused(&TestTable::with_properties(properties), &[]);
        assert_eq!(with(&[]), "");
        assert!(
            with(&[("hoodie.table.keygenerator.type", "CUSTOM")]).contains("custom key generator"),
            "{}",
            with(&[("hoodie.table.keygenerator.type", "CUSTOM")])
        );
        assert!(with(&[("hoodie.record.merge.mode", "CUSTOM"), PAYLOAD]).contains("org.example.Payload"));
        assert!(with(&[("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS")]).contains("field by field"));
        assert!(with(&[("hoodie.populate.meta.fields", "false")]).contains("without meta columns"));
        assert!(with(&[("hoodie.table.recordkey.fields", "")]).contains("keys are generated"));
        assert!(with(&[("hoodie.table.recordkey.fields", "id.x")]).contains("fields of structs"));
    }

    const PAYLOAD: (&str, &str) = ("hoodie.compaction.payload.class", "org.example.Payload");

    #[test]
    fn options_that_leave_rows_out_are_refused_if_they_are_set() {
        let table = TestTable::new();
        for (name, _) in refused_options(&RowOptions::resolve(&WriteOptions::default()).unwrap()) {
            let (on, off) = if name.ends_with("policy") { ("drop", "none") } else { ("true", "false") };
            assert!(refused(&table, &[(name, on)]).contains(name));
            assert_eq!(refused(&table, &[(name, off)]), "");
        }
    }
}
