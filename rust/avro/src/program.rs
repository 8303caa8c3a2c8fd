//! A writer's schema, a reader's schema and the columns wanted, compiled once into what a decoder does with each
//! record.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema as ArrowSchema, SchemaRef};

use super::arrow_types::{ArrowMapping, field};
use super::plan::{ColumnPlan, FieldStep, NumberPlan, ValuePlan};
use super::resolve::{StepBuilder, missing, refused, resolve, tags_of};
use super::schema::Schema;
use super::types::{Record, Type};
use mortice_base::error::{Error, Result};

/// One column of a decoder's batches: a top-level field of the reader's schema, by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestedColumn {
    /// The field's value.
    Value(String),
    /// The position of the field's bytes in the content, as `offset << 32 | length` (`UInt64`, null where the field
    /// is), for a field that was written as string or bytes: record keys are indexed so without being copied.
    Position(String),
}

impl RequestedColumn {
    /// The field's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Value(name) | Self::Position(name) => name,
        }
    }
}

/// What to do with each record. Immutable; any number of decoders share one, on any threads.
#[derive(Debug)]
pub struct DecodeProgram {
    schema: SchemaRef,
    pub(super) columns: Vec<ColumnPlan>,
    pub(super) steps: Vec<FieldStep>,
}

impl DecodeProgram {
    /// Compiles a program that gives the wanted columns, in that order. Fields of the writer that nobody wants are
    /// stepped over, those behind the last wanted one not even that.
    ///
    /// # Errors
    /// `InvalidArgument` where the reader's schema has no field of a wanted name; `InvalidTable` where a schema is no
    /// record, or the writer lacks a field that has neither default nor null; `Unsupported` where no rule leads from
    /// the writer's type of a field to the reader's. Fields that nobody wants are not looked at.
    pub fn compile(writer: &Schema, reader: &Schema, columns: &[RequestedColumn], types: ArrowMapping) -> Result<Self> {
        let (written, read) = (writer.as_record()?, reader.as_record()?);
        let mut plans: Vec<ColumnPlan> = Vec::with_capacity(columns.len());
        let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, want) in columns.iter().enumerate() {
            plans.push(plan(written, read, want, types)?);
            wanted.entry(want.name()).or_default().push(index);
        }
        let mut steps = StepBuilder::default();
        for field in &written.fields {
            match wanted.remove(field.name.as_str()).as_deref() {
                Some([others @ .., last]) => {
                    others.iter().for_each(|column| steps.peek(*column));
                    steps.read(*last);
                }
                _ => steps.skip(&field.ty),
            }
        }
        let mut absent: Vec<usize> = wanted.into_values().flatten().collect();
        absent.sort_unstable();
        absent.into_iter().for_each(|column| steps.absent(column));
        let fields = columns.iter().zip(&plans).map(|(want, plan)| column(read, want, plan, types));
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Result<Vec<_>>>()?));
        Ok(Self { schema, columns: plans, steps: steps.until_last_wanted() })
    }

    /// A program that gives every field of the reader's schema.
    ///
    /// # Errors
    /// As [`DecodeProgram::compile`].
    pub fn compile_all(writer: &Schema, reader: &Schema, types: ArrowMapping) -> Result<Self> {
        let all: Vec<RequestedColumn> =
            reader.as_record()?.fields.iter().map(|field| RequestedColumn::Value(field.name.clone())).collect();
        Self::compile(writer, reader, &all, types)
    }

    /// The Arrow schema of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

fn plan(writer: &Record, reader: &Record, want: &RequestedColumn, types: ArrowMapping) -> Result<ColumnPlan> {
    let name = want.name();
    let Some(target) = reader.field(name) else {
        return Err(Error::invalid_argument(format!("the reader's schema {} has no field {name}", reader.name)));
    };
    match (writer.field(name), want) {
        (Some(source), RequestedColumn::Value(_)) => resolve(&source.ty, &target.ty, types, name),
        (None, RequestedColumn::Value(_)) => missing(target, types, name),
        (Some(source), RequestedColumn::Position(_)) => place(&source.ty, name),
        (None, RequestedColumn::Position(_)) => {
            let data_type = DataType::UInt64;
            match missing(target, types, name)?.kind {
                ValuePlan::Null => Ok(ColumnPlan::null(data_type)),
                _ => Err(refused("a default has no place in the content", &Type::Null, &target.ty, name)),
            }
        }
    }
}

fn column(reader: &Record, want: &RequestedColumn, plan: &ColumnPlan, types: ArrowMapping) -> Result<FieldRef> {
    match (want, reader.field(want.name())) {
        (RequestedColumn::Value(name), Some(target)) => field(name, &target.ty, types, name),
        _ => Ok(Arc::new(Field::new(want.name(), plan.data_type.clone(), true))),
    }
}

fn place(writer: &Type, name: &str) -> Result<ColumnPlan> {
    match tags_of(writer) {
        (tags, Type::String | Type::Uuid | Type::Bytes) => {
            Ok(ColumnPlan { tags, kind: ValuePlan::Number(NumberPlan::Position), data_type: DataType::UInt64 })
        }
        _ => Err(refused("only string and bytes have a place in the content", writer, writer, name)),
    }
}
