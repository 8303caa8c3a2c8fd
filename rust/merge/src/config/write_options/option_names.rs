//! Names of options, each with the kind of its value. Those of options in the table of values are generated from
//! `values.tsv`, by
//! `build.rs`: `hoodie.parquet.page.size` is `PARQUET_PAGE_SIZE`.

use std::fmt;
use std::marker::PhantomData;

include!(concat!(env!("OUT_DIR"), "/option_names.rs"));

// Options of Hudi that are not followed, and whose value is compared with what this release does.

/// `hoodie.index.class`.
pub const INDEX_CLASS: WriteOption<Text> = WriteOption::new("hoodie.index.class");
/// `hoodie.record.size.estimator.class`.
pub const RECORD_SIZE_ESTIMATOR_CLASS: WriteOption<Text> = WriteOption::new("hoodie.record.size.estimator.class");
/// `hoodie.datasource.write.keygenerator.class`.
pub const KEY_GENERATOR_CLASS: WriteOption<Text> = WriteOption::new("hoodie.datasource.write.keygenerator.class");
/// `hoodie.datasource.write.keygenerator.type`.
pub const KEY_GENERATOR_TYPE: WriteOption<Text> = WriteOption::new("hoodie.datasource.write.keygenerator.type");
/// `hoodie.datasource.write.hive_style_partitioning`.
pub const HIVE_STYLE_PARTITIONING: WriteOption<Boolean> =
    WriteOption::new("hoodie.datasource.write.hive_style_partitioning");
/// `hoodie.datasource.write.operation`.
pub const OPERATION: WriteOption<Text> = WriteOption::new("hoodie.datasource.write.operation");
/// `hoodie.datasource.write.partitionpath.field`.
pub const PARTITION_PATH_FIELD: WriteOption<Text> = WriteOption::new("hoodie.datasource.write.partitionpath.field");

/// The name of an option whose value is of the kind `K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOption<K> {
    name: &'static str,
    kind: PhantomData<K>,
}

impl<K> WriteOption<K> {
    const fn new(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }

    /// The name that users write.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<K> fmt::Display for WriteOption<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<K> AsRef<str> for WriteOption<K> {
    fn as_ref(&self) -> &str {
        self.name
    }
}

/// `true` or `false`, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boolean;

/// `true` or `false`; what holds without it depends on the table or the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionalBoolean;

/// A whole number, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer;

/// Another number, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number;

/// A string, such as one of several words, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word;

/// A string without a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text;

/// Kinds whose values are strings.
pub trait IsText {}

impl IsText for Word {}
impl IsText for Text {}
