//! The schemas of the records that are compacted. Files of several releases of Hudi are in one slice; all records of
//! the new base file have one schema, and none loses a field.

use std::borrow::Cow;

use mortice_avro::{Field, Record, Schema, Type, Value, decode_value};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_commit::metadata_upkeep::RecordSchema;

/// The schema of the records of a new base file.
#[derive(Debug, Clone)]
pub(super) struct TargetSchema {
    /// Its text, as files have it.
    pub(super) text: &'static str,
    pub(super) schema: Schema,
}

impl TargetSchema {
    /// The oldest schema from that of the metadata table's version on that has all fields of the records.
    pub(super) fn of_sources<'a>(
        table: &'static RecordSchema,
        sources: impl Iterator<Item = &'a Schema> + Clone,
    ) -> Result<Self> {
        let candidates = RecordSchema::ALL.into_iter().skip_while(|one| *one != table);
        for candidate in candidates {
            let schema = Schema::parse(candidate.block)?;
            if sources.clone().all(|source| has_all(schema.root(), source.root())) {
                return Ok(Self { text: candidate.block, schema });
            }
        }
        let message = "records of the metadata table have fields that this release does not know: compact the metadata table with \
                       Hudi, or drop it by a write with hoodie.metadata.enable=false";
        Err(Error::unsupported(message))
    }
}

/// Whether values of `source` have a place in `target`.
fn has_all(target: &Type, source: &Type) -> bool {
    match (target, source) {
        (Type::Union(_), Type::Union(branches)) => branches.iter().all(|branch| branch_of(target, branch).is_some()),
        (Type::Union(_), source) => branch_of(target, source).is_some(),
        (target, Type::Union(branches)) => matches!(&branches[..], [one] if has_all(target, one)),
        (Type::Record(target), Type::Record(source)) => source
            .fields
            .iter()
            .all(|field| target.field(&field.name).is_some_and(|found| has_all(&found.ty, &field.ty))),
        (Type::Map(target), Type::Map(source)) | (Type::Array(target), Type::Array(source)) => has_all(target, source),
        (target, source) => target == source,
    }
}

/// The branch of a union that takes values of a type: records by their name.
fn branch_of(union: &Type, ty: &Type) -> Option<usize> {
    let Type::Union(branches) = union else { return None };
    let is_same_name = |branch: &Type| match (branch, ty) {
        (Type::Record(one), Type::Record(other)) => last_name(&one.name) == last_name(&other.name),
        _ => true,
    };
    branches.iter().position(|branch| is_same_name(branch) && has_all(branch, ty))
}

fn last_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Reads records of one source.
#[derive(Debug, Clone)]
pub(super) struct RecordReader {
    schema: Schema,
    /// Whether the bytes of its records are those of the target's.
    is_target: bool,
    /// How many meta columns, which are null or strings, are before the key and the type; none if the record has
    /// another form.
    meta_columns: Option<usize>,
}

impl RecordReader {
    pub(super) fn new(schema: &Schema, target: &TargetSchema) -> Self {
        let is_meta = |field: &&Field| meta_columns::ALL.contains(&field.name.as_str());
        let count = schema.fields().iter().take_while(is_meta).count();
        let rest: Vec<(&str, &Type)> = schema
            .fields()
            .iter()
            .skip(count)
            .take(2)
            .map(|field| (field.name.as_str(), field.ty.non_null()))
            .collect();
        let is_usual = matches!(rest[..], [("key", Type::String), ("type", Type::Int)])
            && schema.fields().iter().take(count + 2).enumerate().all(|(at, field)| is_nullable(field) == (at < count));
        let is_target = *schema == target.schema;
        Self { schema: schema.clone(), is_target, meta_columns: is_usual.then_some(count) }
    }

    /// The bytes of a record as they are written, with null meta columns: compacted base files of Hudi have their own
    /// name in them. None if the record must be decoded.
    pub(super) fn as_target<'a>(&self, record: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let count = self.meta_columns.filter(|_| self.is_target)?;
        let rest = self.after_meta_columns(record)?;
        if record.len() == rest.len().checked_add(count)? {
            return Some(Cow::Borrowed(record));
        }
        let mut bytes = vec![0; count];
        bytes.extend_from_slice(rest);
        Some(Cow::Owned(bytes))
    }

    /// The type of a record; none if it must be decoded to be known.
    pub(super) fn record_type(&self, record: &[u8]) -> Option<i64> {
        let mut rest = self.after_meta_columns(record)?;
        let key = usize::try_from(varint(&mut rest)?).ok()?;
        rest = rest.get(key..)?;
        varint(&mut rest)
    }

    fn after_meta_columns<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = record;
        for _ in 0..self.meta_columns? {
            match varint(&mut rest)? {
                0 => {}
                1 => {
                    let len = usize::try_from(varint(&mut rest)?).ok()?;
                    rest = rest.get(len..)?;
                }
                _ => return None,
            }
        }
        Some(rest)
    }

    /// Decodes a record as one of the target schema.
    pub(super) fn decode<'a>(&'a self, record: &'a [u8], target: &TargetSchema) -> Result<Value<'a>> {
        let value = decode_value(self.schema.root(), record)?;
        if self.is_target { Ok(value) } else { adapted(value, self.schema.root(), target.schema.root()) }
    }
}

/// Whether the field is a union of null, which comes first, and one type.
fn is_nullable(field: &Field) -> bool {
    matches!(&field.ty, Type::Union(branches) if matches!(&branches[..], [Type::Null, _]))
}

/// An Avro long.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let (mut value, mut shift) = (0_u64, 0_u32);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
        shift = shift.checked_add(7).filter(|shift| *shift < 64)?;
    }
}

/// A value with the branches of the target's unions. [`has_all`] holds for the types.
fn adapted<'a>(value: Value<'a>, from: &Type, to: &Type) -> Result<Value<'a>> {
    let lost = || Error::internal("a record of the metadata table has no storage in the schema that was chosen for it");
    match (value, from, to) {
        (Value::Null, ..) => Ok(Value::Null),
        (Value::Branch(at, value), Type::Union(branches), _) => adapted(*value, branches.get(at).ok_or_else(lost)?, to),
        (value, Type::Union(branches), _) => {
            let from = branches.iter().find(|branch| **branch != Type::Null).ok_or_else(lost)?;
            adapted(value, from, to)
        }
        (value, from, Type::Union(branches)) => {
            let at = branch_of(to, from).ok_or_else(lost)?;
            let value = adapted(value, from, branches.get(at).ok_or_else(lost)?)?;
            let several = branches.iter().filter(|branch| **branch != Type::Null).count() > 1;
            Ok(if several { Value::Branch(at, Box::new(value)) } else { value })
        }
        (Value::Object(members), Type::Record(from), Type::Record(to)) => {
            adapted_members(members, |name| pair(from, to, name).ok_or_else(lost)).map(Value::Object)
        }
        (Value::Object(members), Type::Map(from), Type::Map(to)) => {
            adapted_members(members, |_| Ok((&**from, &**to))).map(Value::Object)
        }
        (Value::Array(items), Type::Array(from), Type::Array(to)) => {
            let items = items.into_iter().map(|item| adapted(item, from, to));
            items.collect::<Result<_>>().map(Value::Array)
        }
        (value, ..) => Ok(value),
    }
}

type Members<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

fn adapted_members<'a, 't>(
    members: Members<'a>,
    types: impl Fn(&str) -> Result<(&'t Type, &'t Type)>,
) -> Result<Members<'a>> {
    let member = |(name, value): (Cow<'a, str>, Value<'a>)| {
        let (from, to) = types(&name)?;
        Ok((name, adapted(value, from, to)?))
    };
    members.into_iter().map(member).collect()
}

fn pair<'t>(from: &'t Record, to: &'t Record, name: &str) -> Option<(&'t Type, &'t Type)> {
    Some((&from.field(name)?.ty, &to.field(name)?.ty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_avro::{UnknownMembers, encode_value};

    fn schema(index: usize) -> Schema {
        Schema::parse(RecordSchema::ALL[index].block).unwrap()
    }

    fn target(sources: &[Schema]) -> Result<TargetSchema> {
        TargetSchema::of_sources(RecordSchema::ALL[0], sources.iter())
    }

    #[test]
    fn the_schema_of_a_base_file_has_all_fields_of_its_sources() {
        assert_eq!(target(&[schema(0), schema(0)]).unwrap().text, RecordSchema::ALL[0].block);
        assert_eq!(target(&[schema(0), schema(1)]).unwrap().text, RecordSchema::ALL[1].block);
        let of_table = TargetSchema::of_sources(RecordSchema::ALL[1], [schema(0)].iter()).unwrap();
        assert_eq!(of_table.text, RecordSchema::ALL[1].block);
        let later = RecordSchema::ALL[1].block.replacen(r#""name":"type""#, r#""name":"newer""#, 1);
        let error = target(&[Schema::parse(&later).unwrap()]).unwrap_err();
        assert_eq!(error.kind(), mortice_base::ErrorKind::Unsupported);
    }

    /// A record of statistics, whose bounds are in a union of many wrappers.
    fn statistics() -> Value<'static> {
        let bound = |value: i64| Value::Branch(3, Box::new(Value::Object(vec![("value".into(), Value::Int(value))])));
        let statistics = vec![
            ("fileName".into(), Value::String("f".into())),
            ("columnName".into(), Value::String("c".into())),
            ("minValue".into(), bound(1)),
            ("maxValue".into(), bound(2)),
            ("valueCount".into(), Value::Int(5)),
            ("isDeleted".into(), Value::Boolean(false)),
        ];
        Value::Object(vec![
            ("_hoodie_file_name".into(), Value::String("old.hfile".into())),
            ("key".into(), Value::String("".into())),
            ("type".into(), Value::Int(3)),
            ("ColumnStatsMetadata".into(), Value::Object(statistics)),
        ])
    }

    fn encoded(value: &Value<'_>, schema: &Schema) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_value(value, schema.root(), UnknownMembers::Refuse, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn records_of_an_older_schema_are_adapted() {
        let (old, target) = (schema(0), target(&[schema(1)]).unwrap());
        let bytes = encoded(&statistics(), &old);
        let reader = RecordReader::new(&old, &target);
        assert_eq!((reader.as_target(&bytes), reader.record_type(&bytes)), (None, Some(3)));
        let adapted = reader.decode(&bytes, &target).unwrap();
        let again = encoded(&adapted, &target.schema);
        let own = RecordReader::new(&target.schema, &target);
        let Value::Object(members) = own.decode(&again, &target).unwrap() else { panic!() };
        let found = |name: &str| members.iter().find(|(one, _)| one == name).unwrap().1.clone();
        let Value::Object(statistics) = found("ColumnStatsMetadata") else { panic!() };
        let least = statistics.iter().find(|(name, _)| name == "minValue").unwrap().1.clone();
        assert_eq!(least, Value::Branch(3, Box::new(Value::Object(vec![("value".into(), Value::Int(1))]))));
    }

    #[test]
    fn the_name_of_the_file_that_had_a_record_is_not_kept() {
        let target = target(&[schema(0)]).unwrap();
        let reader = RecordReader::new(&target.schema, &target);
        let bytes = encoded(&statistics(), &target.schema);
        let written = reader.as_target(&bytes).unwrap();
        assert!(written.len() < bytes.len() && written.starts_with(&[0; 5]));
        assert_eq!(reader.as_target(&written).unwrap(), Cow::Borrowed(&written[..]));
        assert_eq!(reader.record_type(&written), Some(3));
        for end in 0..bytes.len().min(12) {
            assert!(reader.as_target(&bytes[..end]).is_none() || end > 10, "{end}");
        }
    }
}
