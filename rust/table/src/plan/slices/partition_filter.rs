//! Prunes partitions: selects those that can contain a matching row, by their paths alone.
//!
//! | column | source of its value |
//! |---|---|
//! | `_hoodie_partition_path` | the path |
//! | a partition column: string, number, boolean or date | its segment of the path, if that is the value |
//! | a partition column of strings or dates | its segment of the path, with `/` for `-` |
//! | a partition column of integers that represent a time, which Hudi returns as a string | the time in its segment of the path |
//! | any other | none |
//!
//! `KeyGenUtils.getPartitionPath` formats the values: `/` separates the segments, which may be `column=value` (hive
//! style) and may be escaped. A null or empty value is `__HIVE_DEFAULT_PARTITION__`, up to table version 4 `default`.
//! If a segment does not match the table's settings, or the number of segments is not that of columns (a value contains
//! a `/`), the partition is kept. A null formatted as a time is 1970-01-01, like 0.
//!
//! Like Hudi's file index, this module assumes that the value of a partition column is that of the path. That is not so
//! if a global index was configured to keep records in the partition to which they were first written.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_formats::filter::{BoundFilter, ColumnBounds, Filter, Literal, Operator, Term};
use mortice_merge::config::TableConfig;
use mortice_merge::keys::{PartitionPart, PathValue, bounds_of, path_time};

/// A filter, restricted to what partition paths can answer.
#[derive(Debug)]
pub(in crate::plan) struct PartitionFilter {
    filter: BoundFilter,
    /// The source of the value of each column of the schema.
    sources: Vec<ValueSource>,
    parts: Vec<PathSegment>,
    hive_style: bool,
    url_encoded: bool,
    /// The constant depth of partition folders; `None` if the depth varies.
    depth: Option<usize>,
}

/// The segment of one partition column.
#[derive(Debug)]
struct PathSegment {
    field: String,
    says: PartitionPart,
    /// The number of folder levels.
    folders: usize,
}

/// The source of a column's value.
#[derive(Debug, Clone, PartialEq)]
enum ValueSource {
    Nothing,
    Path,
    /// The segment with that ordinal, as values of that type.
    Segment(usize, DataType),
}

impl ValueSource {
    /// The source of the values of a column.
    fn from_column(column: &Field, parts: &[PathSegment]) -> Self {
        let part = parts.iter().position(|part| part.field == *column.name());
        match part.and_then(|at| Some((at, &parts.get(at)?.says))) {
            _ if column.name() == meta_columns::PARTITION_PATH => Self::Path,
            Some((at, says @ PartitionPart::Time(_))) if is_recoverable(says, column.data_type()) => {
                Self::Segment(at, DataType::Int64)
            }
            Some((at, says)) if is_recoverable(says, column.data_type()) => {
                Self::Segment(at, column.data_type().clone())
            }
            _ => Self::Nothing,
        }
    }
}

impl PartitionFilter {
    /// Returns the filter of a table with these columns. [`mortice_base::ErrorKind::InvalidArgument`] for a filter that
    /// does not fit them.
    pub(in crate::plan) fn new(config: &TableConfig, types: &Schema, filter: &Filter) -> Result<Self> {
        BoundFilter::bind(filter, types)?;
        let url_encoded = config.url_encode_partitions;
        let parts = parts_of(config);
        let sources: Vec<ValueSource> =
            types.fields().iter().map(|field| ValueSource::from_column(field, &parts)).collect();
        let of_column = |name: &str| types.fields().find(name).and_then(|(column, _)| sources.get(column));
        let says = |at: &usize| parts.get(*at).map(|part| &part.says);
        let usable = |term: &Term| match of_column(term.column()) {
            Some(ValueSource::Path) => true,
            Some(ValueSource::Segment(at, DataType::Utf8)) if says(at) == Some(&PartitionPart::SlashedDate) => {
                matches!(term.operator(), Operator::Eq | Operator::In) && term.literals().iter().all(keeps_its_folders)
            }
            // A trailing slash of a value is lost in the path.
            Some(ValueSource::Segment(..)) => url_encoded || !term.literals().iter().any(has_slash),
            _ => false,
        };
        let has_constant_depth = |part: &PathSegment| match &part.says {
            PartitionPart::Value => {
                let is_text = |source: &ValueSource| {
                    matches!(source, ValueSource::Segment(_, DataType::Utf8) | ValueSource::Nothing)
                };
                url_encoded || !of_column(&part.field).is_none_or(is_text)
            }
            PartitionPart::Time(_) => true,
            PartitionPart::SlashedDate | PartitionPart::Unknown => false,
        };
        let depth = parts.iter().all(has_constant_depth).then(|| parts.iter().map(|part| part.folders).sum());
        let is_counted = |name: &str| matches!(of_column(name), Some(ValueSource::Segment(at, _)) if matches!(says(at), Some(PartitionPart::Time(_))));
        let convert = |term: &Term| match is_counted(term.column()) {
            true => counted(term),
            false => usable(term).then(|| term.clone()),
        };
        let compared = types.fields().iter().map(|field| match is_counted(field.name()) {
            true => Field::new(field.name(), DataType::Int64, true),
            false => field.as_ref().clone(),
        });
        let compared = Schema::new(compared.collect::<Vec<_>>());
        Ok(Self {
            filter: BoundFilter::bind(&narrowed(filter, convert), &compared)?,
            depth: depth.filter(|_| !parts.is_empty()),
            sources,
            parts,
            hive_style: config.hive_style_partitioning,
            url_encoded,
        })
    }

    /// Returns false if no path can exclude a partition: the filter is of other columns.
    #[must_use]
    pub(in crate::plan) fn excludes_any(&self) -> bool {
        !self.filter.is_empty()
    }

    /// Returns which of the partitions can contain a matching row.
    pub(in crate::plan) fn may_match(&self, partitions: &[&str]) -> Result<Vec<bool>> {
        self.filter.may_pass(&vec![1; partitions.len()], |column| self.bounds(self.sources.get(column)?, partitions))
    }

    /// Returns true if a folder need not be listed: it is a partition, at most, and cannot contain a matching row.
    #[must_use]
    pub(in crate::plan) fn excludes_folder(&self, folder: &str) -> bool {
        self.depth == Some(folder.split('/').count()) && self.may_match(&[folder]).is_ok_and(|may| !may.contains(&true))
    }

    fn bounds(&self, sources: &ValueSource, partitions: &[&str]) -> Option<ColumnBounds> {
        match sources {
            ValueSource::Nothing => None,
            ValueSource::Path => {
                let paths: ArrayRef = Arc::new(StringArray::from(partitions.to_vec()));
                // A partial record may lack the column.
                let nulls = UInt64Array::new_null(partitions.len());
                Some(ColumnBounds { least: Arc::clone(&paths), greatest: paths, nulls })
            }
            ValueSource::Segment(part, kind) => {
                let values: Vec<PathValue> = partitions.iter().map(|path| self.value(path, *part)).collect();
                Some(bounds_of(values, kind))
            }
        }
    }

    fn value(&self, path: &str, part: usize) -> PathValue {
        self.text(path, part)
            .zip(self.parts.get(part))
            .map_or(PathValue::Unknown, |(text, part)| PathValue::parse(text, &part.says))
    }

    /// Returns the string of a segment, without its name and unescaped.
    fn text(&self, path: &str, part: usize) -> Option<String> {
        let folders: Vec<&str> = path.split('/').collect();
        let is_slashed = |part: &PathSegment| part.says == PartitionPart::SlashedDate;
        let all = self.parts.iter().map(|part| part.folders).sum::<usize>();
        let whole = self.parts.len() == 1 && self.parts.iter().all(is_slashed);
        if !whole && folders.len() != all {
            return None;
        }
        let PathSegment { field, folders: depth, .. } = self.parts.get(part)?;
        let before: usize = self.parts.iter().take(part).map(|part| part.folders).sum();
        let some = if whole { folders.as_slice() } else { folders.get(before..before.checked_add(*depth)?)? };
        let text = some.join("/");
        let after_name = text.strip_prefix(field.as_str()).and_then(|rest| rest.strip_prefix('='));
        let text = match (self.hive_style, after_name) {
            (true, Some(value)) => value,
            (false, None) => text.as_str(),
            _ => return None,
        };
        match self.url_encoded {
            _ if text.is_empty() => None,
            true => unescaped(text),
            // Paths of old tables may be escaped although the properties do not say so.
            false => Some(text.to_owned()).filter(|text| !text.contains('%')),
        }
    }
}

fn parts_of(config: &TableConfig) -> Vec<PathSegment> {
    let alone = config.partition_fields.len() == 1;
    let part = |(field, says): (&String, PartitionPart)| {
        // With other partition columns, the slashes of a date are ambiguous; escaped, the order of the two steps
        // matters.
        let is_clear = alone && !config.url_encode_partitions;
        let says = if says == PartitionPart::SlashedDate && !is_clear { PartitionPart::Unknown } else { says };
        let folders = match &says {
            PartitionPart::Time(format) => path_time::folders(format, config.url_encode_partitions),
            _ => 1,
        };
        PathSegment { field: field.clone(), says, folders }
    };
    config.partition_fields.iter().zip(config.partition_parts()).map(part).collect()
}

/// Returns true for types whose values can be recovered from their strings in a path.
fn is_recoverable(says: &PartitionPart, kind: &DataType) -> bool {
    use DataType::{Boolean, Date32, Float32, Float64, Int32, Int64, Utf8};
    match says {
        PartitionPart::Unknown => false,
        PartitionPart::Value => matches!(kind, Utf8 | Int32 | Int64 | Boolean | Date32 | Float32 | Float64),
        PartitionPart::SlashedDate => matches!(kind, Utf8 | Date32),
        PartitionPart::Time(_) => matches!(kind, Int32 | Int64 | Utf8),
    }
}

fn has_slash(literal: &Literal) -> bool {
    matches!(literal, Literal::Text(text) if text.contains('/'))
}

/// Returns true if a string with slashes for its dashes is a path that stays unchanged.
fn keeps_its_folders(literal: &Literal) -> bool {
    matches!(literal, Literal::Text(text) if !text.split(['-', '/']).any(str::is_empty))
}

/// Converts a term on strings of numbers, or on numbers, to one on numbers. Only terms whose result is the same on both
/// are converted: strings have another order, and a time does not show whether the value is null.
fn counted(term: &Term) -> Option<Term> {
    let number = |literal: &Literal| match literal {
        Literal::Int(value) => i64::try_from(*value).ok().map(|value| Literal::Int(value.into())),
        Literal::Text(text) => {
            text.parse::<i64>().ok().filter(|value| value.to_string() == *text).map(|value| Literal::Int(value.into()))
        }
        _ => None,
    };
    let is_text = term.literals().iter().any(|literal| matches!(literal, Literal::Text(_)));
    let is_equal = matches!(term.operator(), Operator::Eq | Operator::In);
    let is_recoverable = is_equal || !is_text && !matches!(term.operator(), Operator::IsNull | Operator::IsNotNull);
    let literals = term.literals().iter().map(number).collect::<Option<Vec<_>>>().filter(|_| is_recoverable)?;
    Term::new(term.column(), term.operator(), literals).ok()
}

/// Returns a weaker filter, of the converted terms only.
fn narrowed(filter: &Filter, convert: impl Fn(&Term) -> Option<Term>) -> Filter {
    Filter::any_of(filter.lists().iter().map(|list| list.iter().filter_map(&convert).collect()).collect())
}

/// Decodes `%XX` to the character with that code (`PartitionPathEncodeUtils.unescapePathName`); `None` for an invalid
/// code.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).filter(|(code, _)| code.bytes().all(|c| c.is_ascii_hexdigit()))?;
        let code = u8::from_str_radix(code, 16).ok().filter(u8::is_ascii)?;
        plain.push(char::from(code));
        plain.push_str(rest);
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, TimeUnit};

    use super::*;
    use mortice_merge::config::Properties;
    use mortice_merge::keys::partition_path::NULL as NULL_PARTITION;

    fn config(fields: &str, lines: &str) -> TableConfig {
        let text =
            format!("hoodie.table.name=t\nhoodie.table.version=6\nhoodie.table.partition.fields={fields}\n{lines}\n");
        TableConfig::from_properties(Properties::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn schema() -> Schema {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let columns = [
            (meta_columns::PARTITION_PATH, DataType::Utf8),
            ("city", DataType::Utf8),
            ("n", DataType::Int32),
            ("at", time),
            ("day", DataType::Date32),
            ("sec", DataType::Int64),
        ];
        Schema::new(columns.map(|(name, kind)| Field::new(name, kind, true)).to_vec())
    }

    const SIMPLE: &str = "hoodie.table.keygenerator.type=SIMPLE";
    const HIVE: &str = "hoodie.table.keygenerator.type=COMPLEX\nhoodie.datasource.write.hive_style_partitioning=true";
    const ENCODED: &str = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.datasource.write.partitionpath.urlencode=true";

    fn filter(config: &TableConfig, column: &str, operator: &str, literals: &[Literal]) -> PartitionFilter {
        let term = Term::new(column, Operator::parse(operator).unwrap(), literals.to_vec()).unwrap();
        PartitionFilter::new(config, &schema(), &Filter::any_of(vec![vec![term]])).unwrap()
    }

    fn kept<'p>(filter: &PartitionFilter, paths: &[&'p str]) -> Vec<&'p str> {
        let may = filter.may_match(paths).unwrap();
        paths.iter().zip(may).filter(|(_, may)| *may).map(|(path, _)| *path).collect()
    }

    fn text(text: &str) -> [Literal; 1] {
        [Literal::Text(text.into())]
    }

    #[test]
    fn plain_paths() {
        let config = config("city", SIMPLE);
        let paths = ["lima", "oslo", "oslo/x", "o%20", "city=oslo", "default", NULL_PARTITION];
        let of = |operator, literals: &[Literal]| kept(&filter(&config, "city", operator, literals), &paths);
        assert_eq!(of("=", &text("oslo")), ["oslo", "oslo/x", "o%20", "city=oslo"]);
        assert_eq!(of("!=", &text("oslo")), ["lima", "oslo/x", "o%20", "city=oslo", "default", NULL_PARTITION]);
        assert_eq!(of("<", &text("b")), ["oslo/x", "o%20", "city=oslo", "default", NULL_PARTITION]);
        assert_eq!(of("is null", &[]), ["oslo/x", "o%20", "city=oslo", "default", NULL_PARTITION]);
        assert_eq!(of("is not null", &[]), paths);
        assert_eq!(of("=", &text("/oslo")), paths, "whose folder would be oslo");
    }

    #[test]
    fn hive_style_parts_and_numbers() {
        let config = config("city,n", HIVE);
        let paths = [
            "city=oslo/n=7",
            "city=oslo/n=-8",
            "city=lima/n=7",
            "city=lima/n=07",
            "city=lima/n=__HIVE_DEFAULT_PARTITION__",
            "city=lima",
            "city=o/s/n=1",
            "lima/7",
        ];
        let of = |column, operator, literals: &[Literal]| kept(&filter(&config, column, operator, literals), &paths);
        let odd = ["city=lima", "city=o/s/n=1", "lima/7"];
        assert_eq!(of("n", "<", &[Literal::Int(0)]), [&["city=oslo/n=-8", "city=lima/n=07"], &odd[..]].concat());
        assert_eq!(of("n", "is null", &[]), [&["city=lima/n=07", paths[4]], &odd[..]].concat());
        assert_eq!(of("city", "in", &text("oslo")), [&["city=oslo/n=7", "city=oslo/n=-8"], &odd[..]].concat());
        assert_eq!(of("at", "is null", &[]), paths);
    }

    #[test]
    fn escaped_values() {
        let config = config("city", ENCODED);
        let paths = ["a%2Fb", "a%3Db%25", "a b", "%zz", "a%F0"];
        let of = |value| kept(&filter(&config, "city", "=", &text(value)), &paths);
        assert_eq!(of("a/b"), ["a%2Fb", "%zz", "a%F0"]);
        assert_eq!(of("a=b%"), ["a%3Db%25", "%zz", "a%F0"]);
        assert_eq!(of("a b"), ["a b", "%zz", "a%F0"]);
    }

    #[test]
    fn settings_that_change_paths_leave_only_the_path_column() {
        for lines in [
            "hoodie.table.keygenerator.type=TIMESTAMP",
            "hoodie.table.keygenerator.class=org.acme.SimpleKeyGenerator",
            "",
        ] {
            let config = config("city", lines);
            assert_eq!(kept(&filter(&config, "city", "=", &text("oslo")), &["lima", "oslo"]), ["lima", "oslo"]);
            let by_path = filter(&config, meta_columns::PARTITION_PATH, "=", &text("oslo"));
            assert_eq!(kept(&by_path, &["lima", "oslo", "oslo/x"]), ["oslo"]);
        }
    }

    #[test]
    fn folders_are_left_unlisted_only_where_their_depth_makes_them_partitions() {
        let encoded = filter(&config("city", ENCODED), "city", "=", &text("oslo"));
        assert!(encoded.excludes_folder("lima") && !encoded.excludes_folder("oslo"));
        assert!(!encoded.excludes_folder("lima/x"));
        let plain = filter(&config("city", SIMPLE), "city", "=", &text("lima/x"));
        assert!(!plain.excludes_folder("lima") && !plain.excludes_folder("oslo"));
        let numbers = filter(&config("n", SIMPLE), "n", "=", &[Literal::Int(7)]);
        assert!(numbers.excludes_folder("8") && !numbers.excludes_folder("7"));
    }

    #[test]
    fn unknown_columns_are_refused() {
        let term = Term::new("town", Operator::IsNull, vec![]).unwrap();
        assert!(PartitionFilter::new(&config("city", SIMPLE), &schema(), &Filter::any_of(vec![vec![term]])).is_err());
    }

    const SLASHED: &str = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.table.partition_extractor_class=org.apache.hudi.hive.SlashEncodedDayPartitionValueExtractor";

    #[test]
    fn dates_with_slashes() {
        let paths = ["2023/12/31", "2024/01/01", "2024/01/01 x", NULL_PARTITION];
        let dates = |operator, text: &str| {
            kept(&filter(&config("day", SLASHED), "day", operator, &[Literal::Text(text.into())]), &paths)
        };
        assert_eq!(dates("=", "2024-01-01"), paths[1..3]);
        assert_eq!(dates("<", "2024-01-01"), ["2023/12/31", "2024/01/01 x"]);
        let strings = |operator, text: &str| {
            kept(&filter(&config("city", SLASHED), "city", operator, &[Literal::Text(text.into())]), &paths)
        };
        assert_eq!(strings("=", "2024-01-01"), ["2024/01/01", NULL_PARTITION]);
        assert_eq!(strings("=", "2024/01/01"), &paths[1..]);
        assert_eq!(strings("<", "2024-01-01"), paths, "2023--12-31 is in 2023/12/31");
        assert_eq!(strings("=", "2024-01-01-"), paths);
        let excludes =
            |folder| filter(&config("day", SLASHED), "day", "=", &text("2024-01-01")).excludes_folder(folder);
        assert!(!excludes("2023") && !excludes("2023/12/31"));
    }

    const TIMED: &str = "hoodie.table.keygenerator.type=TIMESTAMP\nhoodie.keygen.timebased.timestamp.type=UNIX_TIMESTAMP\nhoodie.keygen.timebased.output.dateformat=yyyy/MM/dd\nhoodie.keygen.timebased.timezone=GMT";

    #[test]
    fn times_that_numbers_count_to() {
        let config = config("sec", TIMED);
        let paths = ["1970/01/01", "2023/12/31", "2024/01/01", "2024/01", "2024/13/01"];
        let of = |operator, literals: &[Literal]| kept(&filter(&config, "sec", operator, literals), &paths);
        let odd = &paths[3..];
        assert_eq!(of("=", &[Literal::Int(1_704_067_199)]), [&["2023/12/31"], odd].concat());
        assert_eq!(of(">=", &[Literal::Int(1_704_067_200)]), [&["2024/01/01"], odd].concat());
        assert_eq!(of("is null", &[]), paths, "which would be in 1970/01/01");
        let strings =
            [("sec", DataType::Utf8), ("city", DataType::Utf8)].map(|(name, kind)| Field::new(name, kind, true));
        let as_text = |operator: &str, literal: &str| {
            let term = Term::new("sec", Operator::parse(operator).unwrap(), text(literal).to_vec()).unwrap();
            let filter = Filter::any_of(vec![vec![term]]);
            kept(&PartitionFilter::new(&config, &Schema::new(strings.to_vec()), &filter).unwrap(), &paths)
        };
        assert_eq!(as_text("=", "1704067199"), [&["2023/12/31"], odd].concat());
        assert_eq!([as_text("<", "1704067199"), as_text("=", "01704067199")], [paths, paths]);
        let excluding = filter(&config, "sec", "=", &[Literal::Int(1_704_067_200)]);
        assert!(excluding.excludes_folder("2023/12/31") && !excluding.excludes_folder("2024/01/01"));
        assert!(!excluding.excludes_folder("2023") && !excluding.excludes_folder("2023/12"));
    }

    #[test]
    fn times_in_a_time_zone_that_is_not_known() {
        let paths = ["2023/12/30", "2023/12/31", "2024/01/01", "2024/01/02", "2024/01/03"];
        // At noon it may be the day before or the next one elsewhere.
        let noon = Literal::Int(1_704_110_400);
        for zone in ["", "hoodie.keygen.timebased.timezone=Europe/Oslo"] {
            let zoned = TIMED.replace("hoodie.keygen.timebased.timezone=GMT", zone);
            let found = kept(&filter(&config("sec", &zoned), "sec", "=", std::slice::from_ref(&noon)), &paths);
            assert_eq!(found, &paths[1..4]);
        }
    }

    #[test]
    fn custom_parts_and_dates() {
        let custom = "hoodie.table.keygenerator.type=CUSTOM\nhoodie.datasource.write.hive_style_partitioning=true";
        let timed = TIMED.split_once('\n').unwrap().1;
        let config = config("day:SIMPLE,sec:TIMESTAMP", &format!("{custom}\n{timed}"));
        let paths =
            ["day=2023-12-31/sec=2024/01/01", "day=2024-01-01/sec=2023/12/31", "day=1/sec=2024/01/01", "day=x/sec=y"];
        let of = |column, operator, literals: &[Literal]| kept(&filter(&config, column, operator, literals), &paths);
        assert_eq!(of("day", "<", &text("2024-01-01")), [paths[0], paths[2], paths[3]]);
        assert_eq!(of("sec", "<", &[Literal::Int(1_704_067_200)]), [paths[1], paths[3]]);
    }
}
