//! The tree of a file's types, numbered as its writer numbers columns: each before its children, the row itself 0.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_base::protobuf::{FieldValue, fields};

/// Deeper nesting than this no table has; recursion ends there.
const DEEPEST: usize = 64;

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrcKind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    /// `STRING`, `VARCHAR`, `CHAR`.
    Text,
    Binary,
    /// On the clock of a zone that the stripe names (`TIMESTAMP`).
    Timestamp,
    /// `TIMESTAMP_INSTANT`.
    Moment,
    List,
    Map,
    Struct,
    Decimal {
        precision: u8,
        scale: i8,
    },
    Date,
}

/// A column and what is below it.
#[derive(Debug, Clone)]
pub(super) struct OrcType {
    /// Its number.
    pub(super) column: usize,
    pub(super) kind: OrcKind,
    /// With their names, where they have some.
    pub(super) children: Vec<(String, OrcType)>,
}

/// A type as the footer lists it.
#[derive(Debug, Default)]
pub(super) struct FooterType {
    kind: u64,
    children: Vec<u64>,
    names: Vec<String>,
    precision: u64,
    scale: u64,
}

impl FooterType {
    pub(super) fn parse(message: &[u8]) -> Result<Self> {
        let mut listed = Self::default();
        fields(message, |number, value| {
            match (number, value) {
                (1, FieldValue::Number(kind)) => listed.kind = kind,
                (2, FieldValue::Number(child)) => listed.children.push(child),
                (2, FieldValue::Bytes(packed)) => {
                    let mut cursor = Cursor::new(packed);
                    while cursor.remaining() > 0 {
                        listed.children.push(cursor.uvarint()?);
                    }
                }
                (3, FieldValue::Bytes(name)) => listed.names.push(String::from_utf8_lossy(name).into_owned()),
                (5, FieldValue::Number(precision)) => listed.precision = precision,
                (6, FieldValue::Number(scale)) => listed.scale = scale,
                _ => {}
            }
            Ok(())
        })?;
        Ok(listed)
    }

    fn kind(&self) -> Result<OrcKind> {
        Ok(match self.kind {
            0 => OrcKind::Boolean,
            1 => OrcKind::Byte,
            2 => OrcKind::Short,
            3 => OrcKind::Int,
            4 => OrcKind::Long,
            5 => OrcKind::Float,
            6 => OrcKind::Double,
            7 | 16 | 17 => OrcKind::Text,
            8 => OrcKind::Binary,
            9 => OrcKind::Timestamp,
            10 => OrcKind::List,
            11 => OrcKind::Map,
            12 => OrcKind::Struct,
            14 => {
                // A file of Hive 0.11 stores neither, and means these.
                let precision = if self.precision == 0 { 38 } else { self.precision };
                let fit = |value: u64| u8::try_from(value).ok().filter(|value| *value <= 38);
                let (precision, scale) = fit(precision)
                    .zip(fit(self.scale).and_then(|scale| i8::try_from(scale).ok()))
                    .ok_or_else(|| Error::invalid_table("invalid ORC decimal: more than 38 digits"))?;
                OrcKind::Decimal { precision, scale }
            }
            15 => OrcKind::Date,
            18 => OrcKind::Moment,
            13 => return Err(Error::unsupported("unsupported ORC column type union")),
            other => return Err(Error::unsupported(format!("unsupported ORC column type {other}"))),
        })
    }
}

impl OrcType {
    /// The tree of the listed types. Its root is a struct: the row.
    pub(super) fn tree(listed: &[FooterType]) -> Result<Self> {
        let mut next = 0;
        let root = Self::node(listed, &mut next, 0)?;
        if root.kind != OrcKind::Struct {
            return Err(Error::unsupported("unsupported ORC file: its root type is not a struct"));
        }
        Ok(root)
    }

    fn node(listed: &[FooterType], next: &mut usize, depth: usize) -> Result<Self> {
        let column = *next;
        let unsound = || Error::invalid_table("invalid ORC file: its types are not a tree");
        let one = listed.get(column).filter(|_| depth < DEEPEST).ok_or_else(unsound)?;
        *next += 1;
        let kind = one.kind()?;
        let expected = match kind {
            OrcKind::Struct => one.names.len(),
            OrcKind::Map => 2,
            OrcKind::List => 1,
            _ => 0,
        };
        if one.children.len() != expected {
            return Err(unsound());
        }
        let mut children = Vec::new();
        for (at, child) in one.children.iter().enumerate() {
            if *child != *next as u64 {
                return Err(unsound());
            }
            let name = one.names.get(at).cloned().unwrap_or_default();
            children.push((name, Self::node(listed, next, depth + 1)?));
        }
        Ok(Self { column, kind, children })
    }

    /// The type of its decoded values.
    pub(super) fn arrow(&self) -> DataType {
        let child = |at: usize| self.children.get(at).map_or(DataType::Null, |(_, child)| child.arrow());
        match self.kind {
            OrcKind::Boolean => DataType::Boolean,
            OrcKind::Byte => DataType::Int8,
            OrcKind::Short => DataType::Int16,
            OrcKind::Int => DataType::Int32,
            OrcKind::Long => DataType::Int64,
            OrcKind::Float => DataType::Float32,
            OrcKind::Double => DataType::Float64,
            OrcKind::Text => DataType::Utf8,
            OrcKind::Binary => DataType::Binary,
            OrcKind::Timestamp | OrcKind::Moment => DataType::Timestamp(TimeUnit::Microsecond, None),
            OrcKind::Date => DataType::Date32,
            OrcKind::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            OrcKind::List => DataType::new_list(child(0), true),
            OrcKind::Map => {
                let entries =
                    Fields::from(vec![Field::new("key", child(0), false), Field::new("value", child(1), true)]);
                DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
            }
            OrcKind::Struct => DataType::Struct(self.fields()),
        }
    }

    /// The children of a struct as fields.
    pub(super) fn fields(&self) -> Fields {
        self.children.iter().map(|(name, child)| Field::new(name, child.arrow(), true)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(kind: u64, children: &[u64], names: &[&str]) -> FooterType {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        FooterType { kind, children: children.to_vec(), names, ..FooterType::default() }
    }

    #[test]
    fn types_are_a_tree() {
        let tree = OrcType::tree(&[
            listed(12, &[1, 2, 4], &["a", "b", "c"]),
            listed(3, &[], &[]),
            listed(10, &[3], &[]),
            listed(7, &[], &[]),
            listed(11, &[5, 6], &[]),
            listed(7, &[], &[]),
            listed(4, &[], &[]),
        ])
        .unwrap();
        let columns: Vec<usize> = tree.children.iter().map(|(_, child)| child.column).collect();
        assert_eq!(columns, [1, 2, 4]);
        assert_eq!(tree.fields()[1].data_type(), &DataType::new_list(DataType::Utf8, true));
    }

    #[test]
    fn what_is_not_a_tree_is_an_error() {
        for types in [
            vec![],
            vec![listed(12, &[0], &["a"])],
            vec![listed(12, &[2], &["a"])],
            vec![listed(12, &[1], &[])],
            vec![listed(10, &[], &[])],
            (0..100).map(|at| listed(10, &[at + 1], &[])).collect(),
        ] {
            assert_eq!(OrcType::tree(&types).unwrap_err().kind(), mortice_base::ErrorKind::InvalidTable);
        }
        let error = OrcType::tree(&[listed(12, &[1], &["a"]), listed(13, &[], &[])]).unwrap_err();
        assert!(error.kind() == mortice_base::ErrorKind::Unsupported && error.to_string().contains("union"));
    }
}
