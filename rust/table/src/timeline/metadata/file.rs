//! Metadata in its two formats: JSON and Avro object container files.
//!
//! | format | kinds | table versions |
//! |---|---|---|
//! | JSON | commit metadata, replace commit metadata, inflight ones included | up to 7 |
//! | Avro | the same | from 8 |
//! | Avro | plans, clean, rollback, restore, savepoint and index metadata | all |

use md5::{Digest as _, Md5};

use super::field::MetadataField;
use super::json;
use mortice_avro::{Container, ContainerHeader, Schema, UnknownMembers, Value, decode_value, encode_value};
use mortice_base::error::{Error, Result};

/// The first bytes of an Avro container. JSON begins with a brace.
const AVRO_MAGIC: &[u8] = b"Obj\x01";

/// A kind of metadata of the timeline.
pub trait TimelineMetadata: MetadataField {
    /// The name of Hudi's class, for messages.
    const NAME: &'static str;

    /// The Avro schema of Hudi 1.2, as its files contain it. Those of 1.0 and 1.1 are the same. Hudi 0.x resolves it
    /// against its own by field names.
    const SCHEMA: &'static str;

    /// Reads the JSON format.
    fn from_json(bytes: &[u8]) -> Result<Self> {
        typed(json::parse(bytes)?)
    }

    /// Writes the JSON format, laid out as Hudi does. A record that was read keeps the order of its fields.
    fn to_json(&self) -> Vec<u8> {
        json::write(&self.to_value())
    }

    /// Reads the Avro format with the schema that the file contains.
    fn from_avro(bytes: &[u8]) -> Result<Self> {
        MetadataFile::from_avro(bytes).map(|file| file.value)
    }

    /// Writes the Avro format with [`TimelineMetadata::SCHEMA`]. Fields without a value get the default of the schema.
    /// Unknown fields, which only files of other releases have, are left out, as Hudi does when it upgrades a table.
    /// [`MetadataFile::to_bytes`] keeps them.
    fn to_avro(&self) -> Result<Vec<u8>> {
        let schema = Schema::parse(Self::SCHEMA)?;
        let mut datum = Vec::new();
        encode_value(&self.to_value(), schema.root(), UnknownMembers::Drop, &mut datum)?;
        let sync = Md5::digest(&datum).into();
        ContainerHeader::new(schema, sync).write(&datum)
    }

    /// Reads either format, which the first bytes show; `None` if the file is empty, as many files of pending instants
    /// are.
    fn from_bytes(bytes: &[u8]) -> Result<Option<Self>> {
        Ok(MetadataFile::parse(bytes)?.map(|file| file.value))
    }
}

fn typed<T: TimelineMetadata>(value: Value<'_>) -> Result<T> {
    T::from_value(value).map_err(|error| error.within(T::NAME).into_error())
}

/// The format of a file.
#[derive(Debug, Clone)]
enum FileFormat {
    Json,
    Avro(ContainerHeader),
}

/// A metadata file: its contents, and what is needed to write the same file again. Unknown fields, the order of fields,
/// and in the Avro format the schema, the codec and the sync marker are kept.
#[derive(Debug, Clone)]
pub struct MetadataFile<T> {
    /// The contents of the file.
    pub value: T,
    form: FileFormat,
}

impl<T: TimelineMetadata> MetadataFile<T> {
    /// Reads a file of either format; `None` if it is empty.
    ///
    /// # Errors
    /// As for [`TimelineMetadata::from_json`] and [`TimelineMetadata::from_avro`].
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.starts_with(AVRO_MAGIC) {
            return Self::from_avro(bytes).map(Some);
        }
        T::from_json(bytes).map(|value| Some(Self { value, form: FileFormat::Json }))
    }

    fn from_avro(bytes: &[u8]) -> Result<Self> {
        let container = Container::open(bytes)?;
        let found = &container.schema().as_record()?.name;
        if found.rsplit('.').next() != Some(T::NAME) {
            return Err(Error::invalid_table(format!("expected metadata of the type {}, found {found}", T::NAME)));
        }
        let datum = container.only_datum()?;
        let value = typed(decode_value(container.schema().root(), &datum)?)?;
        Ok(Self { value, form: FileFormat::Avro(container.header()) })
    }

    /// Returns true if the file is JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        matches!(self.form, FileFormat::Json)
    }

    /// Writes the file in the format that it was read in. If the value is unchanged, the bytes are those that were
    /// read, except for JSON that was not laid out by Hudi and for the blocks of compressed Avro files.
    ///
    /// # Errors
    /// `InvalidArgument` if a field has a value that the schema of the file has no field for, which an older release
    /// wrote: use [`TimelineMetadata::to_avro`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match &self.form {
            FileFormat::Json => Ok(self.value.to_json()),
            FileFormat::Avro(header) => {
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
        impl $crate::timeline::metadata::TimelineMetadata for $record {
            const NAME: &'static str = stringify!($record);
            const SCHEMA: &'static str = include_str!(concat!("schemas/", stringify!($record), ".avsc"));
        }
    };
}

pub(super) use metadata;

#[cfg(test)]
mod tests {
    use super::super::*;
    use mortice_avro::{ContainerHeader, Schema, UnknownMembers, Value, decode_value, encode_value};
    use mortice_base::error::ErrorKind;

    const COMMIT: &str = r#"{
  "newest" : [ 1.5, { } ],
  "operationType" : "UPSERT",
  "partitionToWriteStats" : {
    "p" : [ {
      "path" : "p/f",
      "future" : null,
      "fileId" : "f",
      "numWrites" : 3,
      "runtimeStats" : {
        "more" : "x",
        "totalScanTime" : 0
      }
    } ],
    "gone" : null
  },
  "extraMetadata" : {
    "schema" : "{\"type\":\"é\"}",
    "nothing" : null
  }
}"#;

    #[test]
    fn json_keeps_unknown_fields_nulls_and_order() {
        let mut file = MetadataFile::<HoodieCommitMetadata>::parse(COMMIT.as_bytes()).unwrap().unwrap();
        assert_eq!(String::from_utf8(file.to_bytes().unwrap()).unwrap(), COMMIT);
        let stats = file.value.partition_to_write_stats.as_mut().unwrap();
        assert_eq!(stats.iter().map(|(partition, _)| partition).collect::<Vec<_>>(), ["p"]);
        let stat = &mut stats.get_mut("p").unwrap()[0];
        assert_eq!((stat.num_writes, stat.extra.get("future")), (Some(3), Some(&Value::Null)));
        stat.num_deletes = Some(1);
        stat.path = None;
        let changed = COMMIT
            .replace("\"path\" : \"p/f\"", "\"path\" : null")
            .replace("\"totalScanTime\" : 0\n      }", "\"totalScanTime\" : 0\n      },\n      \"numDeletes\" : 1");
        assert_eq!(String::from_utf8(file.value.to_json()).unwrap(), changed);
    }

    #[test]
    fn errors_have_the_path_to_the_field() {
        let wrong = COMMIT.replace("\"numWrites\" : 3", "\"numWrites\" : \"3\"");
        let error = HoodieCommitMetadata::from_json(wrong.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTable);
        let path =
            "HoodieCommitMetadata.partitionToWriteStats[\"p\"][0].numWrites: expected an integer, found a string";
        assert!(error.to_string().contains(path), "{error}");
        let error = HoodieCommitMetadata::from_json(b"[]").unwrap_err();
        assert!(error.to_string().contains("expected an object, found an array"), "{error}");
    }

    fn container(schema: &str, value: &Value<'_>) -> Vec<u8> {
        let schema = Schema::parse(schema).unwrap();
        let mut datum = Vec::new();
        encode_value(value, schema.root(), UnknownMembers::Refuse, &mut datum).unwrap();
        ContainerHeader::new(schema, [9; 16]).write(&datum).unwrap()
    }

    fn savepoint() -> HoodieSavepointMetadata {
        let partition = HoodieSavepointPartitionMetadata {
            partition_path: "p".into(),
            savepoint_data_file: vec!["f".into()],
            ..Default::default()
        };
        let partition_metadata = OrderedMap::from_iter([("p", partition)]);
        HoodieSavepointMetadata {
            savepointed_by: "me".into(),
            savepointed_at: 5,
            partition_metadata,
            ..Default::default()
        }
    }

    #[test]
    fn avro_keeps_unknown_fields_and_the_schema() {
        let more = r#""fields":[{"name":"newer","type":["null","int","long","bytes"]},"#;
        let schema = HoodieSavepointMetadata::SCHEMA.replacen(r#""fields":["#, more, 1);
        let mut newer = savepoint();
        newer.extra.insert("newer", Value::Branch(2, Box::new(Value::Int(7))));
        let bytes = container(&schema, &MetadataField::to_value(&newer));
        let mut file = MetadataFile::<HoodieSavepointMetadata>::parse(&bytes).unwrap().unwrap();
        assert!(!file.is_json());
        assert_eq!(file.value.extra.iter().count(), 1);
        assert_eq!(file.to_bytes().unwrap(), bytes);
        file.value.comments = "changed".into();
        let again = MetadataFile::<HoodieSavepointMetadata>::parse(&file.to_bytes().unwrap()).unwrap().unwrap();
        assert_eq!(again.value, file.value);
        // The schema of Hudi 1.2 has no such field.
        let plain = HoodieSavepointMetadata::from_avro(&file.value.to_avro().unwrap()).unwrap();
        assert_eq!((plain.comments.as_str(), plain.extra.get("newer")), ("changed", None));
    }

    #[test]
    fn a_field_that_the_schema_of_the_file_lacks_is_not_lost() {
        let start = HoodieSavepointMetadata::SCHEMA.find(r#",{"name":"version""#).unwrap();
        let older = format!("{}]}}", &HoodieSavepointMetadata::SCHEMA[..start]);
        let bytes = container(&older, &MetadataField::to_value(&savepoint()));
        let mut file = MetadataFile::<HoodieSavepointMetadata>::parse(&bytes).unwrap().unwrap();
        assert_eq!(file.to_bytes().unwrap(), bytes);
        file.value.version = Some(1);
        let error = file.to_bytes().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("no field version"), "{error}");
        assert_eq!(HoodieSavepointMetadata::from_avro(&file.value.to_avro().unwrap()).unwrap().version, Some(1));
    }

    #[test]
    fn a_null_that_hudi_does_not_write_is_read_and_kept() {
        let schema = r#"{"type":"record","name":"HoodieCleanMetadata","fields":[
            {"name":"earliestCommitToRetain","type":["null","string"]},{"name":"version","type":["null","int"]}]}"#;
        let members = vec![("earliestCommitToRetain".into(), Value::Null), ("version".into(), Value::Int(2))];
        let bytes = container(schema, &Value::Object(members));
        let mut file = MetadataFile::<HoodieCleanMetadata>::parse(&bytes).unwrap().unwrap();
        assert_eq!((file.value.earliest_commit_to_retain.as_str(), file.to_bytes().unwrap()), ("", bytes));
        file.value.earliest_commit_to_retain = "5".into();
        let again = HoodieCleanMetadata::from_avro(&file.to_bytes().unwrap()).unwrap();
        assert_eq!(again.earliest_commit_to_retain, "5");
    }

    #[test]
    fn what_has_no_value_gets_the_default_of_the_schema() {
        let commit = HoodieCommitMetadata::from_avro(&HoodieCommitMetadata::default().to_avro().unwrap()).unwrap();
        assert_eq!((commit.version, commit.partition_to_write_stats), (Some(1), None));
        assert_eq!(HoodieCommitMetadata::default().to_json(), b"{ }");
        let clean = HoodieCleanMetadata::from_avro(&HoodieCleanMetadata::default().to_avro().unwrap()).unwrap();
        assert_eq!((clean.version, clean.earliest_commit_to_retain.as_str()), (Some(1), ""));
        assert_eq!(
            HoodieRestorePlan::from_avro(&HoodieRestorePlan::default().to_avro().unwrap()).unwrap().version,
            Some(2)
        );
    }

    #[test]
    fn index_plans_and_commits() {
        let info = HoodieIndexPartitionInfo {
            metadata_partition_path: Some("column_stats".into()),
            index_upto_instant: Some("20240101000000000".into()),
            version: Some(1),
            ..Default::default()
        };
        let plan =
            HoodieIndexPlan { version: Some(1), index_partition_infos: Some(vec![info.clone()]), ..Default::default() };
        assert_eq!(HoodieIndexPlan::from_avro(&plan.to_avro().unwrap()).unwrap(), plan);
        let commit = HoodieIndexCommitMetadata {
            version: Some(1),
            operation_type: Some("INDEX".into()),
            index_partition_infos: Some(vec![info]),
            ..Default::default()
        };
        assert_eq!(HoodieIndexCommitMetadata::from_avro(&commit.to_avro().unwrap()).unwrap(), commit);
    }

    #[test]
    fn a_null_in_an_avro_map_is_an_error() {
        let file = HoodieCommitMetadata::from_json(COMMIT.as_bytes()).unwrap();
        let error = file.to_avro().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("partitionToWriteStats"), "{error}");
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        let whole = savepoint().to_avro().unwrap();
        for at in 0..whole.len() {
            assert!(HoodieSavepointMetadata::from_avro(&whole[..at]).is_err(), "{at} of {}", whole.len());
            for byte in [0, 2, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                let _ = HoodieSavepointMetadata::from_avro(&damaged);
            }
        }
        assert_eq!(HoodieSavepointMetadata::from_bytes(b"").unwrap(), None);
        let other = HoodieRestorePlan::default().to_avro().unwrap();
        assert_eq!(HoodieSavepointMetadata::from_avro(&other).unwrap_err().kind(), ErrorKind::InvalidTable);
        let two = [whole.as_slice(), &whole[whole.len() - 60..]].concat();
        assert!(HoodieSavepointMetadata::from_avro(&two).is_err());
        let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
        assert_eq!(decode_value(schema.root(), b"x").unwrap_err().kind(), ErrorKind::CorruptLog);
    }
}
