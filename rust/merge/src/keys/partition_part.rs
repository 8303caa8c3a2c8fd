//! The relation between a partition column and its segment of the partition path (`BuiltinKeyGenerator`,
//! `TimestampBasedAvroKeyGenerator`, `CustomAvroKeyGenerator`).
//!
//! | key generator | segment |
//! |---|---|
//! | simple, complex; custom `a:simple` | the value as a string |
//! | the same, dates with slashes (`SlashEncodedDayPartitionValueExtractor`) | the value as a string, with `/` for `-` |
//! | timestamp-based, custom `a:timestamp`, of numbers | the time of the number, formatted |
//! | the same of strings; settings that are not stored in the table's properties | unknown |

use super::key_generator::KeyGenerator;
use crate::config::TableConfig;
use mortice_base::zone_rules::java_offset;

/// The contents of a segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionPart {
    /// Unknown.
    Unknown,
    /// The value.
    Value,
    /// The value, with `/` for `-`.
    SlashedDate,
    /// A formatted time, given by a number.
    Time(TimeFormat),
}

/// How a number is formatted as a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    /// The unit of the number, in microseconds.
    pub unit_micros: i64,
    /// The offset of local time in the path from UTC, in seconds. None if it varies or is not known: without a
    /// configured time zone Hudi takes that of its process.
    pub offset_seconds: Option<i32>,
    /// The pattern: letters of the fields `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss`, and the text between them.
    pub pattern: String,
}

const PREFIXES: [&str; 2] = ["hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."];
const SLASHED: &str = "SlashEncodedDayPartitionValueExtractor";

impl TableConfig {
    /// Returns the contents of the segments of partition paths, in the order of the partition columns.
    #[must_use]
    pub fn partition_parts(&self) -> Vec<PartitionPart> {
        let (generator, slashed, kinds) = (self.generator(), self.has_slashed_dates(), self.partition_kinds());
        let value = if slashed { PartitionPart::SlashedDate } else { PartitionPart::Value };
        let of = |at: usize| match (generator, kinds.get(at).cloned().flatten().as_deref()) {
            (KeyGenerator::Plain, None) | (KeyGenerator::Custom, Some("SIMPLE")) => value.clone(),
            (KeyGenerator::Timestamp, None) | (KeyGenerator::Custom, Some("TIMESTAMP")) if !slashed => {
                self.time_format().map_or(PartitionPart::Unknown, PartitionPart::Time)
            }
            _ => PartitionPart::Unknown,
        };
        (0..self.partition_fields.len()).map(of).collect()
    }

    /// Returns, for each partition column, whether the path has its value in another format: formatted times
    /// (`HoodieBaseHadoopFsRelationFactory.variableTimestampKeygenPartitionCols`), dates with slashes.
    #[must_use]
    pub fn reformatted_in_path(&self) -> Vec<bool> {
        let (generator, slashed, kinds) = (self.generator(), self.has_slashed_dates(), self.partition_kinds());
        let untyped = kinds.iter().all(Option::is_none);
        let is_time = |at: usize| kinds.get(at).is_some_and(|kind| kind.as_deref() == Some("TIMESTAMP"));
        let of = |at: usize| match generator {
            KeyGenerator::Timestamp => true,
            KeyGenerator::Custom => untyped || is_time(at),
            _ => false,
        };
        (0..self.partition_fields.len()).map(|at| slashed || of(at)).collect()
    }

    /// Whether dates have slashes in partition paths: by the table's property, or as its extractor reads them.
    pub(super) fn has_slashed_dates(&self) -> bool {
        let extractor = self.properties.get("hoodie.table.partition_extractor_class").unwrap_or_default();
        self.slash_separated_dates || extractor.ends_with(SLASHED)
    }

    /// Returns the suffix of each partition column's name, which selects how a custom key generator makes the segment.
    fn partition_kinds(&self) -> Vec<Option<String>> {
        let declared = self.properties.get("hoodie.table.partition.fields").unwrap_or_default();
        let kind = |part: &str| part.rsplit_once(':').map(|(_, kind)| kind.trim().to_ascii_uppercase());
        declared.split(',').map(str::trim).filter(|part| !part.is_empty()).map(kind).collect()
    }

    fn time_format(&self) -> Option<TimeFormat> {
        let property = |name: &str| PREFIXES.iter().find_map(|prefix| self.properties.get(&format!("{prefix}{name}")));
        let scalar = || property("timestamp.scalar.time.unit").unwrap_or("SECONDS").to_ascii_uppercase();
        let unit_micros = match property("timestamp.type")? {
            "UNIX_TIMESTAMP" => 1_000_000,
            "EPOCHMILLISECONDS" => 1000,
            "EPOCHMICROSECONDS" => 1,
            "SCALAR" => match scalar().as_str() {
                "MICROSECONDS" => 1,
                "MILLISECONDS" => 1000,
                "SECONDS" => 1_000_000,
                "MINUTES" => 60_000_000,
                "HOURS" => 3_600_000_000,
                "DAYS" => 86_400_000_000,
                _ => return None,
            },
            _ => return None,
        };
        let zone = property("timezone").or(property("output.timezone"));
        let offset_seconds = java_offset(zone.unwrap_or_default().trim());
        Some(TimeFormat { unit_micros, offset_seconds, pattern: property("output.dateformat")?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Properties;

    fn parts(lines: &str) -> Vec<PartitionPart> {
        let text = format!("hoodie.table.name=t\nhoodie.table.version=6\n{lines}\n");
        TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap().partition_parts()
    }

    const TIME: &str = "hoodie.table.keygenerator.type=TIMESTAMP\nhoodie.table.partition.fields=at";

    #[test]
    fn parts_by_key_generator() {
        use PartitionPart::{SlashedDate, Time, Unknown, Value};
        assert_eq!(parts("hoodie.table.keygenerator.type=COMPLEX\nhoodie.table.partition.fields=a,b"), [Value, Value]);
        assert_eq!(
            parts("hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.partition.fields=day:TIMESTAMP"),
            [Unknown]
        );
        assert_eq!(parts("hoodie.table.partition.fields=a"), [Unknown]);
        let slashed =
            "hoodie.table.partition_extractor_class=org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor";
        let simple = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.partition.fields=day";
        assert_eq!(parts(&format!("{simple}\n{slashed}")), [SlashedDate]);
        let custom = "hoodie.table.keygenerator.type=CUSTOM\nhoodie.table.partition.fields=a:simple,b:timestamp";
        assert_eq!(parts(custom), [Value, Unknown]);
        let format =
            "hoodie.keygen.timebased.timestamp.type=UNIX_TIMESTAMP\nhoodie.keygen.timebased.output.dateformat=yyyyMMdd";
        let time = TimeFormat { unit_micros: 1_000_000, offset_seconds: None, pattern: "yyyyMMdd".into() };
        assert_eq!(parts(&format!("{custom}\n{format}")), [Value, Time(time.clone())]);
        assert_eq!(parts(&format!("{TIME}\n{format}")), [Time(time)]);
    }

    #[test]
    fn columns_that_the_path_holds_otherwise() {
        let of = |lines: &str| {
            let text = format!("hoodie.table.name=t\nhoodie.table.version=6\n{lines}\n");
            TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap().reformatted_in_path()
        };
        assert_eq!(of("hoodie.table.keygenerator.type=COMPLEX\nhoodie.table.partition.fields=a,b"), [false, false]);
        assert_eq!(of("hoodie.table.partition.fields=a"), [false]);
        assert_eq!(of(TIME), [true]);
        let custom = "hoodie.table.keygenerator.type=CUSTOM\nhoodie.table.partition.fields=";
        assert_eq!(of(&format!("{custom}a:simple,b:timestamp")), [false, true]);
        assert_eq!(of(&format!("{custom}a,b")), [true, true]);
        assert_eq!(
            of(
                "hoodie.table.partition.fields=day\nhoodie.table.partition_extractor_class=org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor"
            ),
            [true]
        );
    }

    #[test]
    fn times_that_a_number_does_not_determine() {
        let of = |lines: &str| {
            parts(&format!("{TIME}\nhoodie.keygen.timebased.output.dateformat=yyyy\nhoodie.keygen.timebased.{lines}"))
        };
        assert_eq!(of("timestamp.type=DATE_STRING"), [PartitionPart::Unknown]);
        assert_eq!(of("timestamp.type=MIXED"), [PartitionPart::Unknown]);
        assert_eq!(parts(TIME), [PartitionPart::Unknown]);
    }

    #[test]
    fn offsets_that_are_known() {
        let of = |zone: &str| {
            let format = "hoodie.keygen.timebased.output.dateformat=yyyy\nhoodie.keygen.timebased.timestamp.type=EPOCHMILLISECONDS";
            match parts(&format!("{TIME}\n{format}\n{zone}")).as_slice() {
                [PartitionPart::Time(format)] => format.offset_seconds,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of("hoodie.keygen.timebased.timezone=GMT+5:30"), Some(19_800));
        assert_eq!(of("hoodie.keygen.timebased.output.timezone=UTC"), Some(0));
        // Of the process, with daylight saving, or GMT to Java.
        for zone in ["", "hoodie.keygen.timebased.timezone=America/New_York", "hoodie.keygen.timebased.timezone=+08:00"]
        {
            assert_eq!(of(zone), None, "{zone}");
        }
    }
}
