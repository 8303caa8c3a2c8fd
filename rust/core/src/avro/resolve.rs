//! A writer's type against a reader's: the plan by which what was written becomes what is wanted.
//!
//! These are Hudi's rules, not Avro's (`HoodieAvroUtils.rewriteRecordWithNewSchema`, `HoodieSchemaRepair`): fields go by their
//! case-sensitive names, aliases and the names of nested records do not count, a field that the writer lacks is its default, or null
//! where it may be, and a null is delivered even where the reader's type has none. What single values turn into is in
//! `convert`. Unions of several types have to be the same on both sides.

use std::collections::HashMap;

use super::arrow_types::{Types, data_type, number_of_union, under};
use super::convert::convert;
use super::defaults;
use super::plan::{Fields, Items, Kind, Number, Plan, Step, Tags};
use super::schema::{Field, Record, Type};
use super::skip::{skip, skip_all};
use crate::error::{Error, Result};

/// The plan for a value; `path` is the field's name for messages.
pub(super) fn resolve(writer: &Type, reader: &Type, types: Types, path: &str) -> Result<Plan> {
    let data_type = data_type(reader, types, path)?;
    let (tags, inner) = tags_of(writer);
    let wanted = reader.non_null();
    if *inner == Type::Null {
        return Ok(Plan { tags: null_tags(writer), kind: Kind::Null, data_type });
    }
    let kind = match (inner, wanted) {
        (Type::Union(branches), Type::Union(_)) if inner == wanted => union(branches, types, path)?,
        (Type::Union(_), _) | (_, Type::Union(_)) => {
            return Err(refused("a union of several types that differs is not supported", writer, reader, path));
        }
        (Type::Array(items), Type::Array(wanted)) => {
            Kind::List(self::items(items, wanted, types, &under(path, "element"), 0)?)
        }
        (Type::Map(values), Type::Map(wanted)) => {
            Kind::Map(self::items(values, wanted, types, &under(path, "value"), 1)?)
        }
        (Type::Record(record), Type::Record(wanted)) => Kind::Struct(fields(record, wanted, types, path)?),
        _ => convert(inner, wanted, types).ok_or_else(|| refused("no rule leads there", writer, reader, path))?,
    };
    Ok(Plan { tags, kind, data_type })
}

/// The union around a type, and the type in it.
pub(super) fn tags_of(ty: &Type) -> (Tags, &Type) {
    let Type::Union(branches) = ty else { return (Tags::Bare, ty) };
    let tag = |wanted: &dyn Fn(&Type) -> bool| {
        branches.iter().position(wanted).and_then(|branch| u8::try_from(branch * 2).ok()).filter(|tag| *tag < 0x80)
    };
    let null = tag(&|branch| *branch == Type::Null);
    let inner = ty.non_null();
    let nulls = branches.iter().filter(|branch| **branch == Type::Null).count();
    match (inner, tag(&|branch| branch == inner)) {
        (Type::Union(_), _) | (_, None) => (Tags::Several { null }, ty),
        // A second null would need a second tag for it; Avro does not allow it.
        _ if nulls > 1 => (Tags::Several { null }, ty),
        (_, Some(value)) => (Tags::Nullable { null, value }, inner),
    }
}

/// The tags of a writer's type that has no value but null. No tag reads 0xff: its high bit would want another byte.
fn null_tags(writer: &Type) -> Tags {
    match writer {
        Type::Union(_) => Tags::Nullable { null: Some(0), value: 0xff },
        _ => Tags::Bare,
    }
}

fn items(writer: &Type, reader: &Type, types: Types, path: &str, least_beside: usize) -> Result<Items> {
    let plan = Box::new(resolve(writer, reader, types, path)?);
    Ok(Items { plan, least: writer.least_bytes().saturating_add(least_beside) })
}

/// A union that writer and reader have alike.
fn union(branches: &[Type], types: Types, path: &str) -> Result<Kind> {
    if number_of_union(branches).is_some() {
        let float = branches.iter().position(|branch| *branch == Type::Float);
        let branches = branches.len();
        return Ok(Kind::Number(match float {
            Some(float) => Number::FloatOrDouble { branches, float },
            None => Number::IntOrLong { branches },
        }));
    }
    let mut members = Vec::new();
    let mut member_of = Vec::with_capacity(branches.len());
    for branch in branches {
        if *branch == Type::Null {
            member_of.push(None);
            continue;
        }
        let name = format!("member{}", members.len());
        member_of.push(Some(members.len()));
        members.push(resolve(branch, branch, types, &under(path, &name))?);
    }
    Ok(Kind::Union { branches: member_of, members })
}

fn fields(writer: &Record, reader: &Record, types: Types, path: &str) -> Result<Fields> {
    let wanted: HashMap<&str, usize> = reader.fields.iter().map(|field| field.name.as_str()).zip(0..).collect();
    let mut columns: Vec<Option<Plan>> = vec![None; reader.fields.len()];
    let mut walk = Walk::default();
    for field in &writer.fields {
        let index = wanted.get(field.name.as_str()).copied();
        let pair = index.and_then(|index| Some((index, reader.fields.get(index)?, columns.get_mut(index)?)));
        match pair {
            Some((index, target, slot)) => {
                *slot = Some(resolve(&field.ty, &target.ty, types, &under(path, &field.name))?);
                walk.read(index);
            }
            None => walk.skip(&field.ty),
        }
    }
    let mut all = Vec::with_capacity(columns.len());
    for (index, (plan, field)) in columns.into_iter().zip(&reader.fields).enumerate() {
        all.push(match plan {
            Some(plan) => plan,
            None => {
                walk.absent.push(Step::Read(index));
                missing(field, types, &under(path, &field.name))?
            }
        });
    }
    Ok(Fields { columns: all, steps: walk.until_end() })
}

/// The plan for a field that the writer does not have.
pub(super) fn missing(field: &Field, types: Types, path: &str) -> Result<Plan> {
    let data_type = data_type(&field.ty, types, path)?;
    match &field.default {
        None | Some(serde_json::Value::Null) if field.ty.is_nullable() => Ok(Plan::null(data_type)),
        Some(default) => {
            let mut bytes = Vec::new();
            defaults::write(default, &field.ty, &mut bytes, path)?;
            let plan = Box::new(resolve(&field.ty, &field.ty, types, path)?);
            Ok(Plan { tags: Tags::Bare, kind: Kind::Default { bytes: bytes.into(), plan }, data_type })
        }
        None => Err(Error::invalid_table(format!(
            "field {path}: the writer's schema lacks it, and {} has neither default nor null",
            field.ty.describe()
        ))),
    }
}

/// Steps through a record as written, with neighbours that nobody wants gathered.
#[derive(Default)]
pub(super) struct Walk<'a> {
    steps: Vec<Step>,
    unwanted: Vec<&'a Type>,
    absent: Vec<Step>,
}

impl<'a> Walk<'a> {
    pub(super) fn skip(&mut self, ty: &'a Type) {
        self.unwanted.push(ty);
    }

    pub(super) fn read(&mut self, column: usize) {
        self.flush();
        self.steps.push(Step::Read(column));
    }

    pub(super) fn peek(&mut self, column: usize) {
        self.flush();
        self.steps.push(Step::Peek(column));
    }

    /// A column that takes no bytes.
    pub(super) fn absent(&mut self, column: usize) {
        self.absent.push(Step::Read(column));
    }

    /// All steps to the record's end: where something follows it.
    pub(super) fn until_end(mut self) -> Vec<Step> {
        self.flush();
        self.until_last_wanted()
    }

    /// The steps to the last field that is wanted.
    pub(super) fn until_last_wanted(mut self) -> Vec<Step> {
        self.steps.append(&mut self.absent);
        self.steps
    }

    fn flush(&mut self) {
        let steps = match self.unwanted.as_slice() {
            [only] => skip(only),
            several => skip_all(several.iter().copied()),
        };
        self.unwanted.clear();
        if !steps.is_empty() {
            self.steps.push(Step::Skip(steps));
        }
    }
}

#[cold]
pub(super) fn refused(why: &str, writer: &Type, reader: &Type, path: &str) -> Error {
    let (writer, reader) = (writer.describe(), reader.describe());
    Error::unsupported(format!("field {path}: written as {writer}, read as {reader}: {why}"))
}
