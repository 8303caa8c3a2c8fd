//! The schema in a Parquet footer, changed before the file is read: of the same leaves in the same order, since the
//! pages stay as they are.

use std::sync::Arc;

use parquet::basic::Repetition;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

type Result<T> = std::result::Result<T, ParquetError>;

/// The metadata of a file with another root of its schema.
pub(super) fn with_root(metadata: &ParquetMetaData, root: TypePtr) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(root)),
        file.column_orders().cloned(),
    );
    ParquetMetaData::new(file, metadata.row_groups().to_vec())
}

/// A group like another, with other fields.
pub(super) fn group_like(like: &Type, fields: Vec<TypePtr>) -> Result<TypePtr> {
    renamed_group_like(like, like.name(), repetition(like), fields)
}

/// A group like another, of that name, repetition and fields.
pub(super) fn renamed_group_like(
    like: &Type,
    name: &str,
    repetition: Option<Repetition>,
    fields: Vec<TypePtr>,
) -> Result<TypePtr> {
    let info = like.get_basic_info();
    let group = Type::group_type_builder(name)
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields);
    // The root has none.
    let group = match repetition {
        Some(repetition) => group.with_repetition(repetition),
        None => group,
    };
    Ok(Arc::new(group.build()?))
}

/// The repetition of a type; `None` for the root.
pub(super) fn repetition(kind: &Type) -> Option<Repetition> {
    let info = kind.get_basic_info();
    info.has_repetition().then(|| info.repetition())
}
