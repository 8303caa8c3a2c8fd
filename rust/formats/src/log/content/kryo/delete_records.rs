//! Delete blocks of version 1, an array of `HoodieKey` (Hudi 0.9, 0.10), and of version 2, an array of `DeleteRecord`
//! (0.11 to 0.13). Fields are in the order of their names, and each string is a reference: a partition path is written
//! once and then referred to.
//!
//! | object | fields |
//! |---|---|
//! | `HoodieKey` | partitionPath, recordKey |
//! | `DeleteRecord` | hoodieKey (class, reference, fields), orderingVal (class, value) |

use bytes::Bytes;

use super::super::deleted::{DeletedKey, DeletedKeys, StoredOrdering};
use super::input::{Class, Input, Object, Reference};
use super::ordering::{self, Utf8Fields};
use mortice_base::error::{Error, Result};

/// The keys of version 1. Hudi gives such deletes the ordering value `Integer` 0, which means none.
pub(in super::super) fn keys(data: &[u8]) -> Result<DeletedKeys> {
    let mut records = Records::new(data, Utf8Fields::default());
    records.array("[Lorg.apache.hudi.common.model.HoodieKey;", |records| {
        Ok(records.key()?.map(|key| DeletedKey { ordering: StoredOrdering::Int(0), ..key }))
    })?;
    records.finish()
}

/// The records of version 2.
///
/// Hudi 0.11 writes Avro's `Utf8` with its fields, which depend on the Avro version at runtime, and nothing records
/// that version: a block that is invalid without the field of newer versions is read again with it.
pub(in super::super) fn delete_records(data: &[u8]) -> Result<DeletedKeys> {
    let (plain, found) = delete_records_with(data, Utf8Fields::default());
    match plain {
        Err(first) if found => {
            let (hashed, _) = delete_records_with(data, Utf8Fields { hashed: true, ..Utf8Fields::default() });
            hashed.map_err(|second| further(first, second))
        }
        plain => plain,
    }
}

/// Returns the records, and whether there was a `Utf8` written with its fields.
fn delete_records_with(data: &[u8], utf8: Utf8Fields) -> (Result<DeletedKeys>, bool) {
    let mut records = Records::new(data, utf8);
    let all = records.array("[Lorg.apache.hudi.common.model.DeleteRecord;", Records::record);
    let found = records.utf8.found;
    (all.and_then(|()| records.finish()), found)
}

/// Returns the error with the larger offset: of two attempts, that one parsed more.
fn further(one: Error, two: Error) -> Error {
    if one.location().offset > two.location().offset { one } else { two }
}

struct Records<'a> {
    input: Input<'a>,
    deleted: Vec<DeletedKey>,
    utf8: Utf8Fields,
}

impl<'a> Records<'a> {
    fn new(data: &'a [u8], utf8: Utf8Fields) -> Self {
        Self { input: Input::new(data), deleted: Vec::new(), utf8 }
    }

    fn finish(self) -> Result<DeletedKeys> {
        Ok(DeletedKeys { text: Bytes::from(self.input.finish()?), deleted: self.deleted })
    }

    /// Reads an array of objects. A null array is empty, null elements are ignored.
    fn array(&mut self, class: &str, one: impl Fn(&mut Self) -> Result<Option<DeletedKey>>) -> Result<()> {
        let found = self.input.class()?;
        if found == Class::Null {
            return Ok(());
        }
        if !matches!(found, Class::Named(_)) || self.input.name(found) != class {
            let found = self.input.name(found);
            return Err(self.input.fault(format!("expected an array {class}, found {found}")));
        }
        match self.input.reference()? {
            Reference::Null => return Ok(()),
            Reference::Earlier(_) => return Err(self.input.fault("invalid reference: no object has been read")),
            Reference::New(_) => {}
        }
        let count = self.input.uint()?.saturating_sub(1) as usize;
        let left = self.input.remaining();
        // Each element takes at least one byte.
        if count > left {
            return Err(self
                .input
                .fault(format!("unexpected end of data: array has {count} deleted keys, only {left} bytes remain")));
        }
        for _ in 0..count {
            let deleted = one(self)?;
            self.deleted.extend(deleted);
        }
        Ok(())
    }

    /// Reads the class and the reference of an object; `None` if it is null. Shaded bundles relocate classes, so only
    /// the end of the name is compared.
    fn object(&mut self, class: &str) -> Result<Option<Reference>> {
        match self.input.class()? {
            Class::Null => Ok(None),
            found if self.input.name(found).rsplit('.').next() == Some(class) => self.input.reference().map(Some),
            found => {
                let found = self.input.name(found);
                Err(self.input.fault(format!("expected a {class}, found {found}")))
            }
        }
    }

    fn record(&mut self) -> Result<Option<DeletedKey>> {
        let ordinal = match self.object("DeleteRecord")? {
            None | Some(Reference::Null) => return Ok(None),
            Some(Reference::Earlier(ordinal)) => match *self.input.earlier(ordinal) {
                Object::Record(of) => return self.past(of, ordinal).cloned().map(Some),
                _ => return Err(self.no_such("delete record", ordinal)),
            },
            Some(Reference::New(ordinal)) => ordinal,
        };
        let Some(key) = self.key()? else { return Err(self.input.fault("invalid delete record: its key is null")) };
        let ordering = ordering::read(&mut self.input, &self.deleted, &mut self.utf8)?;
        self.input.keep(ordinal, Object::Record(self.deleted.len()));
        Ok(Some(DeletedKey { ordering, ..key }))
    }

    fn key(&mut self) -> Result<Option<DeletedKey>> {
        let ordinal = match self.object("HoodieKey")? {
            None | Some(Reference::Null) => return Ok(None),
            Some(Reference::Earlier(ordinal)) => match *self.input.earlier(ordinal) {
                Object::Key(of) => {
                    let DeletedKey { key, partition, .. } = self.past(of, ordinal)?.clone();
                    return Ok(Some(DeletedKey { key, partition, ordering: StoredOrdering::None }));
                }
                _ => return Err(self.no_such("key", ordinal)),
            },
            Some(Reference::New(ordinal)) => ordinal,
        };
        let partition = self.input.shared_text()?;
        let key = self.input.shared_text()?;
        self.input.keep(ordinal, Object::Key(self.deleted.len()));
        Ok(Some(DeletedKey { key, partition, ordering: StoredOrdering::None }))
    }

    /// Returns a delete that has been read.
    fn past(&self, of: usize, ordinal: usize) -> Result<&DeletedKey> {
        self.deleted.get(of).ok_or_else(|| self.no_such("finished object", ordinal))
    }

    fn no_such(&self, what: &str, ordinal: usize) -> Error {
        self.input.fault(format!("invalid reference to object {ordinal}: it is not a {what}"))
    }
}
