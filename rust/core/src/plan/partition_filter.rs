//! Which partitions can hold a row that a filter wants, told by their paths alone.
//!
//! | column | told by |
//! |---|---|
//! | `_hoodie_partition_path` | the path |
//! | a partition column: text, whole number or truth value | its part of the path, where the path is made of plain values |
//! | any other | nothing |
//!
//! What is made of a value is in `KeyGenUtils.getPartitionPath`: `/` stands between the parts, which may be `column=value`
//! (hive style) and may be escaped. A null or empty value is `__HIVE_DEFAULT_PARTITION__`, up to table version 4 `default`. A part
//! that reads otherwise than the table's settings say, or another number of parts than of columns (a value that holds a `/`), says
//! nothing: the partition is kept.
//!
//! As Hudi's own file index does, this takes the value of a partition column to be that of the path. It is not where a global
//! index was told to leave records in the partition that they were first written to.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Schema};

use crate::config::TableConfig;
use crate::error::Result;
use crate::filter::{BoundFilter, Bounds, Filter, Literal, Term};
use crate::names::meta_columns;
use crate::names::partition_path::NULL as NULL_PARTITION;

const OLD_NULL_PARTITION: &str = "default";

/// A filter, as far as partition paths answer it.
#[derive(Debug)]
pub struct PartitionFilter {
    filter: BoundFilter,
    /// What tells of each column of the schema.
    told_by: Vec<ToldBy>,
    fields: Vec<String>,
    hive_style: bool,
    url_encoded: bool,
    /// Whether a folder as deep as there are partition columns is always a partition.
    fixed_depth: bool,
}

/// What tells of a column.
#[derive(Debug, Clone, PartialEq)]
enum ToldBy {
    Nothing,
    Path,
    /// The part of that ordinal, as values of that type.
    Part(usize, DataType),
}

/// What a part of a path says of its column.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Unknown,
    /// This text; or null or empty.
    NullOr(String),
    Text(String),
}

impl PartitionFilter {
    /// Of a table with these columns. [`crate::Kind::InvalidArgument`] for a filter that is none on them.
    pub fn of(config: &TableConfig, types: &Schema, filter: &Filter) -> Result<Self> {
        BoundFilter::bind(filter, types)?;
        let plain = config.has_plain_partition_paths();
        let ordinal = |name: &str| config.partition_fields.iter().position(|field| field == name).filter(|_| plain);
        let told_by: Vec<ToldBy> = types
            .fields()
            .iter()
            .map(|field| match (ordinal(field.name()), field.data_type()) {
                _ if field.name() == meta_columns::PARTITION_PATH => ToldBy::Path,
                (Some(part), kind) if is_plain(kind) => ToldBy::Part(part, kind.clone()),
                _ => ToldBy::Nothing,
            })
            .collect();
        let of_column = |name: &str| types.fields().find(name).and_then(|(column, _)| told_by.get(column));
        let holds_no_slash =
            |name: &String| matches!(of_column(name), Some(ToldBy::Part(_, kind)) if *kind != DataType::Utf8);
        let url_encoded = config.url_encode_partitions;
        let usable = |term: &Term| match of_column(term.column()) {
            Some(ToldBy::Path) => true,
            // A slash at the end of a value is lost in the path.
            Some(ToldBy::Part(..)) => url_encoded || !term.literals().iter().any(has_slash),
            _ => false,
        };
        Ok(Self {
            filter: BoundFilter::bind(&narrowed(filter, usable), types)?,
            fixed_depth: plain && (url_encoded || config.partition_fields.iter().all(holds_no_slash)),
            told_by,
            fields: config.partition_fields.clone(),
            hive_style: config.hive_style_partitioning,
            url_encoded,
        })
    }

    /// Which of the partitions can hold a row that is wanted.
    pub fn may_match(&self, partitions: &[&str]) -> Result<Vec<bool>> {
        self.filter.may_pass(&vec![1; partitions.len()], |column| self.bounds(self.told_by.get(column)?, partitions))
    }

    /// Whether a folder need not be listed: it is a partition, if any, and none that can hold a row that is wanted.
    #[must_use]
    pub fn excludes_folder(&self, folder: &str) -> bool {
        self.fixed_depth
            && folder.split('/').count() == self.fields.len()
            && self.may_match(&[folder]).is_ok_and(|may| !may.contains(&true))
    }

    fn bounds(&self, told_by: &ToldBy, partitions: &[&str]) -> Option<Bounds> {
        match told_by {
            ToldBy::Nothing => None,
            ToldBy::Path => {
                let paths: ArrayRef = Arc::new(StringArray::from(partitions.to_vec()));
                // A partial record may lack the column.
                let nulls = UInt64Array::new_null(partitions.len());
                Some(Bounds { least: Arc::clone(&paths), greatest: paths, nulls })
            }
            ToldBy::Part(part, kind) => {
                let values: Vec<Value> = partitions.iter().map(|path| self.value(path, *part)).collect();
                Some(if *kind == DataType::Utf8 { of_texts(&values) } else { of_scalars(&values, kind) })
            }
        }
    }

    fn value(&self, path: &str, part: usize) -> Value {
        let parts: Vec<&str> = path.split('/').collect();
        let (Some(text), Some(field)) = (parts.get(part), self.fields.get(part)) else { return Value::Unknown };
        if parts.len() != self.fields.len() || text.is_empty() {
            return Value::Unknown;
        }
        let after_name = text.strip_prefix(field.as_str()).and_then(|rest| rest.strip_prefix('='));
        let text = match (self.hive_style, after_name) {
            (true, Some(value)) => value,
            (false, None) => text,
            _ => return Value::Unknown,
        };
        let text = match self.url_encoded {
            true => unescaped(text),
            // Old tables may be escaped without saying so.
            false => Some(text.to_owned()).filter(|text| !text.contains('%')),
        };
        match text {
            None => Value::Unknown,
            Some(text) if text == NULL_PARTITION || text == OLD_NULL_PARTITION => Value::NullOr(text),
            Some(text) => Value::Text(text),
        }
    }
}

/// The types whose values and their texts in a path tell each other.
fn is_plain(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::Int32 | DataType::Int64 | DataType::Boolean)
}

fn has_slash(literal: &Literal) -> bool {
    matches!(literal, Literal::Text(text) if text.contains('/'))
}

/// A weaker filter, of the usable terms.
fn narrowed(filter: &Filter, usable: impl Fn(&Term) -> bool) -> Filter {
    let lists = filter.lists().iter().map(|list| list.iter().filter(|term| usable(term)).cloned().collect());
    Filter::any_of(lists.collect())
}

fn of_texts(values: &[Value]) -> Bounds {
    let least: StringArray = values
        .iter()
        .map(|value| match value {
            Value::Unknown => None,
            Value::NullOr(_) => Some(""),
            Value::Text(text) => Some(text.as_str()),
        })
        .collect();
    let greatest: StringArray = values
        .iter()
        .map(|value| match value {
            Value::Unknown => None,
            Value::NullOr(text) | Value::Text(text) => Some(text.as_str()),
        })
        .collect();
    let nulls = values.iter().map(|value| matches!(value, Value::Text(_)).then_some(0)).collect();
    Bounds { least: Arc::new(least), greatest: Arc::new(greatest), nulls }
}

/// Numbers and truth values: as Java writes them, and no otherwise.
fn of_scalars(values: &[Value], kind: &DataType) -> Bounds {
    fn parsed<T: std::str::FromStr + ToString>(value: &Value) -> Option<T> {
        let Value::Text(text) = value else { return None };
        text.parse().ok().filter(|parsed: &T| parsed.to_string() == *text)
    }
    let scalars: ArrayRef = match kind {
        DataType::Int32 => Arc::new(values.iter().map(parsed).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(values.iter().map(parsed).collect::<Int64Array>()),
        _ => Arc::new(values.iter().map(parsed).collect::<BooleanArray>()),
    };
    let nulls = values.iter().enumerate().map(|(at, value)| match value {
        // Nothing else is without a text.
        Value::NullOr(text) if text == NULL_PARTITION => Some(1),
        _ => scalars.is_valid(at).then_some(0),
    });
    Bounds { nulls: nulls.collect(), least: Arc::clone(&scalars), greatest: scalars }
}

/// `%XX` as the character of that code (`PartitionPathEncodeUtils.unescapePathName`); none where it is no code.
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
    use crate::config::Properties;
    use crate::filter::Operator;

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
        ];
        Schema::new(columns.map(|(name, kind)| Field::new(name, kind, true)).to_vec())
    }

    const SIMPLE: &str = "hoodie.table.keygenerator.type=SIMPLE";
    const HIVE: &str = "hoodie.table.keygenerator.type=COMPLEX\nhoodie.datasource.write.hive_style_partitioning=true";
    const ENCODED: &str = "hoodie.table.keygenerator.type=SIMPLE\nhoodie.datasource.write.partitionpath.urlencode=true";

    fn filter(config: &TableConfig, column: &str, operator: &str, literals: &[Literal]) -> PartitionFilter {
        let term = Term::new(column, Operator::parse(operator).unwrap(), literals.to_vec()).unwrap();
        PartitionFilter::of(config, &schema(), &Filter::any_of(vec![vec![term]])).unwrap()
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
    fn whatever_makes_other_paths_of_values_leaves_the_path_alone_to_tell() {
        for lines in [
            "hoodie.table.keygenerator.type=TIMESTAMP",
            "hoodie.table.keygenerator.class=org.acme.SimpleKeyGenerator",
            "",
            "hoodie.table.keygenerator.type=SIMPLE\nhoodie.datasource.write.slash.separated.date.partitioning=true",
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
        assert!(PartitionFilter::of(&config("city", SIMPLE), &schema(), &Filter::any_of(vec![vec![term]])).is_err());
    }
}
