//! A cache of the schema that was last read from the timeline.

use arrow_schema::SchemaRef;

use crate::schema::table_schema::TableSchema;
use mortice_base::names::RequestedTime;

/// A table's schema at an instant, cached: a query needs it more than once.
#[derive(Clone)]
pub(super) struct KnownSchema {
    pub(super) as_of: Option<RequestedTime>,
    pub(super) found: TableSchema,
    pub(super) types: SchemaRef,
}
