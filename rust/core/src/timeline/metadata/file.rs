//! Metadata in its two forms: JSON and Avro object container files.
//!
//! | form | kinds | table versions |
//! |---|---|---|
//! | JSON | commit metadata, replace commit metadata, inflight ones included | up to 7 |
//! | Avro | the same | from 8 |
//! | Avro | plans, clean, rollback, restore, savepoint and index metadata | all |

use md5::{Digest as _, Md5};

use super::field::Field;
use super::json;
use crate::avro::{Container, ContainerHeader, Schema, UnknownMembers, Value, decode_value, encode_value};
use crate::error::Result;

/// What an Avro container begins with; JSON begins with a brace.
const AVRO_MAGIC: &[u8] = b"Obj\x01";

/// A kind of metadata of the timeline.
pub trait Metadata: Field {
    /// The name of Hudi's class, for messages.
    const NAME: &'static str;

    /// The Avro schema of Hudi 1.2, as its files contain it. Those of 1.0 and 1.1 are the same. Hudi 0.x resolves it
    /// against its own by field names.
    const SCHEMA: &'static str;

    /// Reads the JSON form.
    ///
    /// # Errors
    /// `InvalidTable` if the bytes are not JSON or a field has another type, with the path to the field.
    fn from_json(bytes: &[u8]) -> Result<Self> {
        typed(json::parse(bytes)?)
    }

    /// Writes the JSON form, laid out as Hudi does. A record that was read keeps the order of its fields.
    fn to_json(&self) -> Vec<u8> {
        json::write(&self.to_value())
    }

    /// Reads the Avro form with the schema that the file contains.
    ///
    /// # Errors
    /// `CorruptLog` or `InvalidTable` if the file is damaged or a field has another type; `Unsupported` for a codec other
    /// than `null` and `deflate`.
    fn from_avro(bytes: &[u8]) -> Result<Self> {
        MetadataFile::from_avro(bytes).map(|file| file.value)
    }

    /// Writes the Avro form with [`Metadata::SCHEMA`]. Fields without a value get the default of the schema. Unknown fields,
    /// which only files of other releases have, are left out, as Hudi does when it upgrades a table. [`MetadataFile::to_bytes`]
    /// keeps them.
    ///
    /// # Errors
    /// `InvalidArgument` if a null is in an array or map of the record.
    fn to_avro(&self) -> Result<Vec<u8>> {
        let schema = Schema::parse(Self::SCHEMA)?;
        let mut datum = Vec::new();
        encode_value(&self.to_value(), schema.root(), UnknownMembers::Drop, &mut datum)?;
        let sync = Md5::digest(&datum).into();
        ContainerHeader::new(schema, sync).write(&datum)
    }

    /// Reads either form, which the first bytes tell; `None` if the file is empty, as many files of pending instants are.
    ///
    /// # Errors
    /// As for [`Metadata::from_json`] and [`Metadata::from_avro`].
    fn from_bytes(bytes: &[u8]) -> Result<Option<Self>> {
        Ok(MetadataFile::parse(bytes)?.map(|file| file.value))
    }
}

fn typed<T: Metadata>(value: Value<'_>) -> Result<T> {
    T::from_value(value).map_err(|error| error.within(T::NAME).into_error())
}

/// The form of a file.
#[derive(Debug, Clone)]
enum Form {
    Json,
    Avro(ContainerHeader),
}

/// A metadata file: what it holds, and what is needed to write the same file again. Unknown fields, the order of fields, and
/// in the Avro form the schema, the codec and the sync marker are kept.
#[derive(Debug, Clone)]
pub struct MetadataFile<T> {
    /// What the file holds.
    pub value: T,
    form: Form,
}

impl<T: Metadata> MetadataFile<T> {
    /// Reads a file of either form; `None` if it is empty.
    ///
    /// # Errors
    /// As for [`Metadata::from_json`] and [`Metadata::from_avro`].
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.starts_with(AVRO_MAGIC) {
            return Self::from_avro(bytes).map(Some);
        }
        T::from_json(bytes).map(|value| Some(Self { value, form: Form::Json }))
    }

    fn from_avro(bytes: &[u8]) -> Result<Self> {
        let container = Container::open(bytes)?;
        let datum = container.only_datum()?;
        let value = typed(decode_value(container.schema().root(), &datum)?)?;
        Ok(Self { value, form: Form::Avro(container.header()) })
    }

    /// Returns true if the file is JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        matches!(self.form, Form::Json)
    }

    /// Writes the file in the form that it was read in. If the value is unchanged, the bytes are those that were read,
    /// except for JSON that was not laid out by Hudi and for the blocks of compressed Avro files.
    ///
    /// # Errors
    /// `InvalidArgument` if a field has a value that the schema of the file has no field for, which an older release wrote:
    /// use [`Metadata::to_avro`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match &self.form {
            Form::Json => Ok(self.value.to_json()),
            Form::Avro(header) => {
                let mut datum = Vec::new();
                encode_value(&self.value.to_value(), header.schema().root(), UnknownMembers::Refuse, &mut datum)?;
                header.write(&datum)
            }
        }
    }
}

/// Makes a record a kind of metadata, with the schema of its name.
macro_rules! metadata {
    ($record:ident) => {
        impl $crate::timeline::metadata::Metadata for $record {
            const NAME: &'static str = stringify!($record);
            const SCHEMA: &'static str = include_str!(concat!("schemas/", stringify!($record), ".avsc"));
        }
    };
}

pub(super) use metadata;
