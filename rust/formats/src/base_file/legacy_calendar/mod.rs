//! Dates and times that Spark wrote in the hybrid calendar: Julian up to 1582-10-04, Gregorian from 1582-10-15 on
//! (`DataSourceUtils.datetimeRebaseSpec`, `int96RebaseSpec`, `RebaseDateTime`). They are converted when the file is
//! read: the same date, and the same time of a clock, in the proleptic Gregorian calendar of the table.
//!
//! | key of the footer | meaning |
//! |---|---|
//! | no `org.apache.spark.version` | another writer: nothing is converted, as Spark 4 does (Spark 3 refuses old dates) |
//! | `org.apache.spark.version` before `3.0.0` | dates and times are hybrid; before `3.1.0` those of INT96 |
//! | `org.apache.spark.legacyDateTime` | dates and times are hybrid |
//! | `org.apache.spark.legacyINT96` | times of INT96 are hybrid |
//! | `org.apache.spark.timeZone` | the zone of the writer's clock; without it that of this machine, as in Spark |
//!
//! Dates differ before 1582-10-15. Times differ before 1900, since Java counted the hours of its old calendar without
//! the offsets that zones had until then. Local timestamps have no zone and are not converted.
//!
//! | file | job |
//! |---|---|
//! | `days` | days of the hybrid calendar |
//! | `zones` | offsets of the old calendar |
//! | `columns` | columns that are converted |

mod columns;
mod days;
mod zones;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use mortice_base::error::Result;
use zones::LegacyZone;

/// Footers have this key if Spark wrote the file.
const VERSION: &str = "org.apache.spark.version";
const LEGACY_DATETIME: &str = "org.apache.spark.legacyDateTime";
const LEGACY_INT96: &str = "org.apache.spark.legacyINT96";
const TIME_ZONE: &str = "org.apache.spark.timeZone";

/// The first release whose dates and times are proleptic, unless the footer has the key. Spark compares strings.
const PROLEPTIC_DATETIME: &str = "3.0.0";
const PROLEPTIC_INT96: &str = "3.1.0";

/// Which values of a file are in the hybrid calendar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LegacyCalendar {
    datetime: bool,
    int96: bool,
    zone: Arc<LegacyZone>,
}

impl LegacyCalendar {
    /// Returns the calendar that a footer declares; `None` for the proleptic one.
    pub(super) fn from_footer(file: &FileMetaData) -> Option<Self> {
        let pairs = file.key_value_metadata()?;
        let pair = |key: &str| pairs.iter().find(|pair| pair.key == key);
        let version = pair(VERSION)?.value.as_deref().unwrap_or_default();
        let datetime = version < PROLEPTIC_DATETIME || pair(LEGACY_DATETIME).is_some();
        let int96 = version < PROLEPTIC_INT96 || pair(LEGACY_INT96).is_some();
        if !datetime && !int96 {
            return None;
        }
        let zone = pair(TIME_ZONE).and_then(|pair| pair.value.as_deref());
        Some(Self { datetime, int96, zone: Arc::new(zone.map_or_else(LegacyZone::of_machine, LegacyZone::named)) })
    }

    /// Returns true if values of a leaf column are hybrid.
    fn applies_to(&self, leaf: &ColumnDescriptor) -> bool {
        match leaf.physical_type() {
            Physical::INT96 => self.int96,
            Physical::INT32 => {
                let is_date = match leaf.logical_type_ref() {
                    Some(logical) => matches!(logical, LogicalType::Date),
                    None => leaf.converted_type() == ConvertedType::DATE,
                };
                self.datetime && is_date
            }
            Physical::INT64 => {
                let is_instant = match leaf.logical_type_ref() {
                    Some(LogicalType::Timestamp(time)) => time.is_adjusted_to_u_t_c && time.unit != TimeUnit::NANOS,
                    Some(_) => false,
                    None => {
                        matches!(
                            leaf.converted_type(),
                            ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS
                        )
                    }
                };
                self.datetime && is_instant
            }
            _ => false,
        }
    }

    /// Converts a batch of some of the file's columns. `roots` are their numbers in the file.
    pub(super) fn proleptic(
        &self,
        batch: &RecordBatch,
        schema: &SchemaDescriptor,
        roots: &[usize],
    ) -> Result<RecordBatch> {
        columns::proleptic(batch, &self.zone, roots, |root| {
            let leaves = schema.columns().iter().enumerate();
            leaves
                .filter(|(leaf, _)| schema.get_column_root_idx(*leaf) == root)
                .map(|(_, leaf)| self.applies_to(leaf))
                .collect()
        })
    }

    /// Returns true if some column of the file is hybrid.
    pub(super) fn applies_to_any(&self, schema: &SchemaDescriptor) -> bool {
        schema.columns().iter().any(|leaf| self.applies_to(leaf))
    }

    /// Returns bounds of a leaf column as bounds of its converted values. Where none can be given, they are null.
    pub(super) fn proleptic_bounds(&self, leaf: &ColumnDescriptor, bounds: ArrayRef) -> ArrayRef {
        if !self.applies_to(leaf) {
            return bounds;
        }
        match bounds.data_type() {
            // The order of dates stays.
            DataType::Date32 => columns::proleptic_leaf(&bounds, &self.zone),
            _ => columns::known_bounds(&bounds),
        }
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::metadata::KeyValue;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn calendar(pairs: &[(&str, Option<&str>)]) -> Option<LegacyCalendar> {
        let root = Arc::new(parse_message_type("message m { REQUIRED INT32 d (DATE); }").unwrap());
        let pairs = pairs.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.map(str::to_owned)));
        let schema = Arc::new(SchemaDescriptor::new(root));
        LegacyCalendar::from_footer(&FileMetaData::new(1, 0, None, Some(pairs.collect()), schema, None))
    }

    #[test]
    fn footers_say_which_values_are_hybrid() {
        for (version, keys, expected) in [
            (None, vec![], None),
            (None, vec![LEGACY_DATETIME, LEGACY_INT96], None),
            (Some("2.4.8"), vec![], Some((true, true))),
            (Some(""), vec![], Some((true, true))),
            (Some("3.0.0"), vec![], Some((false, true))),
            (Some("3.0.3"), vec![LEGACY_DATETIME], Some((true, true))),
            (Some("3.1.0"), vec![], None),
            (Some("3.5.6"), vec![], None),
            (Some("4.0.0"), vec![LEGACY_DATETIME], Some((true, false))),
            (Some("3.5.6"), vec![LEGACY_INT96], Some((false, true))),
            (Some("3.5.6"), vec![LEGACY_DATETIME, LEGACY_INT96], Some((true, true))),
        ] {
            let mut pairs: Vec<(&str, Option<&str>)> = keys.iter().map(|key| (*key, Some(""))).collect();
            pairs.extend(version.map(|version| (VERSION, Some(version))));
            let found = calendar(&pairs).map(|calendar| (calendar.datetime, calendar.int96));
            assert_eq!(found, expected, "{version:?} {keys:?}");
        }
    }

    #[test]
    fn columns_of_instants_and_dates_are_hybrid() {
        for (leaf, of_datetime, of_int96) in [
            ("INT32 c (DATE)", true, false),
            ("INT64 c (TIMESTAMP_MICROS)", true, false),
            ("INT64 c (TIMESTAMP_MILLIS)", true, false),
            ("INT64 c (TIMESTAMP(MICROS,true))", true, false),
            ("INT64 c (TIMESTAMP(MILLIS,true))", true, false),
            ("INT64 c (TIMESTAMP(NANOS,true))", false, false),
            ("INT64 c (TIMESTAMP(MICROS,false))", false, false),
            ("INT96 c", false, true),
            ("INT32 c", false, false),
            ("INT64 c", false, false),
            ("INT32 c (TIME(MILLIS,true))", false, false),
            ("BINARY c (STRING)", false, false),
        ] {
            let root = parse_message_type(&format!("message m {{ OPTIONAL {leaf}; }}")).unwrap();
            let schema = SchemaDescriptor::new(Arc::new(root));
            for (datetime, int96, expected) in [(true, false, of_datetime), (false, true, of_int96)] {
                let calendar = LegacyCalendar { datetime, int96, zone: Arc::new(LegacyZone::named("UTC")) };
                assert_eq!(calendar.applies_to_any(&schema), expected, "{leaf}");
            }
        }
    }
}
