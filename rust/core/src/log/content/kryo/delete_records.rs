//! Delete blocks of version 1, an array of `HoodieKey` (Hudi 0.9, 0.10), and of version 2, an array of `DeleteRecord` (0.11 to
//! 0.13). Fields stand in the order of their names, each text a reference; the same partition path is written once and
//! then referred to.
//!
//! | object | fields |
//! |---|---|
//! | `HoodieKey` | partitionPath, recordKey |
//! | `DeleteRecord` | hoodieKey (class, reference, fields), orderingVal (class, value) |

use bytes::Bytes;

use super::super::deleted::{Deleted, Deletes, Ordering};
use super::input::{Class, Input, Object, Reference};
use super::ordering;
use crate::error::Result;

/// A key of version 1. Hudi gives such deletes the ordering `Integer` 0: none.
pub(in super::super) fn keys(data: &[u8]) -> Result<Deletes> {
    array(data, "[Lorg.apache.hudi.common.model.HoodieKey;", |input| {
        key(input).map(|key| key.map(|key| Deleted { ordering: Ordering::Int(0), ..key }))
    })
}

/// The records of version 2.
pub(in super::super) fn delete_records(data: &[u8]) -> Result<Deletes> {
    array(data, "[Lorg.apache.hudi.common.model.DeleteRecord;", |input| {
        let Some(reference) = object(input, "DeleteRecord")? else { return Ok(None) };
        let ordinal = match reference {
            Reference::Null => return Ok(None),
            Reference::Earlier(ordinal) => return input.earlier_record(ordinal).map(Some),
            Reference::New(ordinal) => ordinal,
        };
        let Some(key) = key(input)? else { return Err(input.fault("a delete record without a key")) };
        let record = Deleted { ordering: ordering::read(input)?, ..key };
        input.keep(ordinal, Object::Record(record.clone()));
        Ok(Some(record))
    })
}

type Records<'a> = Input<'a, Deleted>;

/// An array of objects; null elements are no deletes.
fn array(
    data: &[u8],
    class: &str,
    mut one: impl FnMut(&mut Records<'_>) -> Result<Option<Deleted>>,
) -> Result<Deletes> {
    let mut input = Input::new(data);
    match input.class()? {
        Class::Null => {}
        Class::Named(name) if name == class => {
            if let Reference::New(_) = input.reference()? {
                let count = input.uint()?.saturating_sub(1) as usize;
                let left = input.remaining();
                // Each element takes a byte at least.
                if count > left {
                    return Err(input.fault(format!("an array of {count} deleted keys where {left} bytes are left")));
                }
                let mut deleted = Vec::new();
                for _ in 0..count {
                    deleted.extend(one(&mut input)?);
                }
                return Ok(Deletes { text: Bytes::from(input.finish()?), deleted });
            }
        }
        other => return Err(input.fault(format!("an array {class} was expected, found {other:?}"))),
    }
    Ok(Deletes { text: Bytes::from(input.finish()?), deleted: Vec::new() })
}

/// The class and reference of an object; none where it is null. Shaded bundles relocate classes, so the end of the name counts.
fn object(input: &mut Records<'_>, class: &str) -> Result<Option<Reference>> {
    match input.class()? {
        Class::Null => Ok(None),
        Class::Named(name) if name.rsplit('.').next() == Some(class) => input.reference().map(Some),
        other => Err(input.fault(format!("a {class} was expected, found {other:?}"))),
    }
}

fn key(input: &mut Records<'_>) -> Result<Option<Deleted>> {
    let ordinal = match object(input, "HoodieKey")? {
        None | Some(Reference::Null) => return Ok(None),
        Some(Reference::Earlier(ordinal)) => return input.earlier_record(ordinal).map(Some),
        Some(Reference::New(ordinal)) => ordinal,
    };
    let partition = input.shared_text()?;
    let key = input.shared_text()?;
    let deleted = Deleted { key, partition, ordering: Ordering::None };
    input.keep(ordinal, Object::Record(deleted.clone()));
    Ok(Some(deleted))
}
