//! Lists of maps as Hudi's Avro writers lay them out, which the parquet crate refuses ("Map cannot be repeated"),
//! brought to a form that it reads. Only the schema is another: a required group adds nothing to the levels in the
//! pages.
//!
//! ```text
//! optional group f (LIST) {                    optional group f (LIST) {
//!   repeated group array (MAP) {                 repeated group list {
//!     repeated group key_value { … }    →          required group element (MAP) {
//!   }                                                repeated group key_value { … }
//! }                                                }
//!                                                }
//!                                              }
//! ```
//!
//! Source: LogicalTypes.md of Parquet, "Lists", backward compatibility: a repeated group that bears a type of its own
//! is the element.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{Type, TypePtr};

use super::footer_schema::{group_like, renamed_group_like, repetition, with_root};

type Result<T> = std::result::Result<T, ParquetError>;

/// The metadata of a file, its lists of maps as the crate reads them.
pub(super) fn readable(metadata: ParquetMetaData) -> Result<ParquetMetaData> {
    let rebuilt = rebuilt(&metadata.file_metadata().schema_descr().root_schema_ptr())?;
    Ok(match rebuilt {
        Some(root) => with_root(&metadata, root),
        None => metadata,
    })
}

/// A type without repeated maps in it; none where it has none.
fn rebuilt(kind: &TypePtr) -> Result<Option<TypePtr>> {
    if kind.is_primitive() {
        return Ok(None);
    }
    let mut is_changed = false;
    let mut fields = Vec::with_capacity(kind.get_fields().len());
    for field in kind.get_fields() {
        let inner = rebuilt(field)?;
        is_changed |= inner.is_some();
        let field = inner.unwrap_or_else(|| Arc::clone(field));
        let is_element = is(kind, ConvertedType::LIST, &LogicalType::List) && is_repeated_map(&field);
        is_changed |= is_element;
        fields.push(if is_element { list_of_element(&field)? } else { field });
    }
    is_changed.then(|| group_like(kind, fields)).transpose()
}

fn list_of_element(map: &Type) -> Result<TypePtr> {
    let element = renamed_group_like(map, "element", Some(Repetition::REQUIRED), map.get_fields().to_vec())?;
    let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED).with_fields(vec![element]);
    Ok(Arc::new(list.build()?))
}

fn is_repeated_map(kind: &Type) -> bool {
    repetition(kind) == Some(Repetition::REPEATED) && is(kind, ConvertedType::MAP, &LogicalType::Map)
}

fn is(kind: &Type, converted: ConvertedType, logical: &LogicalType) -> bool {
    let info = kind.get_basic_info();
    kind.is_group() && (info.converted_type() == converted || info.logical_type_ref() == Some(logical))
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    fn rebuilt_of(text: &str) -> Option<TypePtr> {
        rebuilt(&Arc::new(parse_message_type(text).unwrap())).unwrap()
    }

    #[test]
    fn a_repeated_map_becomes_the_element_of_its_list() {
        let maps = "message m {
            required int32 a;
            optional group f (LIST) {
              repeated group array (MAP) {
                repeated group key_value (MAP_KEY_VALUE) { required binary key (STRING); optional int32 value; }
              }
            }
        }";
        let lists = "message m {
            required int32 a;
            optional group f (LIST) {
              repeated group list {
                required group element (MAP) {
                  repeated group key_value (MAP_KEY_VALUE) { required binary key (STRING); optional int32 value; }
                }
              }
            }
        }";
        let (before, after) = (parse_message_type(maps).unwrap(), rebuilt_of(maps).expect("a schema that is another"));
        assert_eq!(*after, parse_message_type(lists).unwrap());
        let levels = |root: TypePtr| {
            let schema = SchemaDescriptor::new(root);
            schema.columns().iter().map(|leaf| (leaf.max_def_level(), leaf.max_rep_level())).collect::<Vec<_>>()
        };
        assert_eq!(levels(after), levels(Arc::new(before)));
    }

    #[test]
    fn other_schemas_stay() {
        let others = "message m {
            optional group tags (LIST) { repeated binary array (STRING); }
            optional group all (MAP) {
              repeated group key_value (MAP_KEY_VALUE) { required binary key (STRING); optional int32 value; }
            }
        }";
        assert_eq!(rebuilt_of(others), None);
    }
}
