//! Entries of archives of layout 1 (`HoodieArchivedMetaEntry`, `MetadataConversionUtils.createMetaWrapper`): one for
//! each state of an instant, with its metadata as a member.

use std::borrow::Cow;

use super::{
    HoodieCleanMetadata, HoodieCleanerPlan, HoodieCommitMetadata, HoodieCompactionPlan, HoodieIndexCommitMetadata,
    HoodieReplaceCommitMetadata, HoodieRequestedReplaceMetadata, HoodieRollbackMetadata, HoodieSavepointMetadata,
    TimelineMetadata,
};
use crate::timeline::{Action, Instant, InstantState};
use mortice_avro::{Schema, UnknownMembers, Value, encode_value};
use mortice_base::error::Result;

/// The schema of entries.
pub const ARCHIVED_ENTRY_SCHEMA: &str = include_str!("schemas/HoodieArchivedMetaEntry.avsc");
/// The schema of rows of the history of layout 2.
pub const HISTORY_SCHEMA: &str = include_str!("schemas/HoodieLSMTimelineInstant.avsc");

/// Encodes entries.
pub struct ArchivedEntryEncoder {
    schema: Schema,
}

impl ArchivedEntryEncoder {
    /// # Errors
    /// `Internal` if the schema cannot be parsed.
    pub fn new() -> Result<Self> {
        Ok(Self { schema: Schema::parse(ARCHIVED_ENTRY_SCHEMA)? })
    }

    /// The Avro bytes of the entry of one state of an instant.
    ///
    /// Args:
    ///     instant: The instant in that state.
    ///     content: The bytes of its file.
    ///     entered: When it entered the state, as a time of the timeline.
    ///
    /// # Errors
    /// As for [`TimelineMetadata::from_bytes`].
    pub fn encode(&self, instant: &Instant, content: &[u8], entered: &str) -> Result<Vec<u8>> {
        let text = |text: &str| Value::String(Cow::Owned(text.to_owned()));
        let mut members = vec![
            (Cow::Borrowed("commitTime"), text(instant.requested_time.as_str())),
            (Cow::Borrowed("actionType"), text(instant.action.name())),
            (Cow::Borrowed("version"), Value::Int(1)),
            (Cow::Borrowed("actionState"), text(&instant.state.name().to_ascii_uppercase())),
            (Cow::Borrowed("stateTransitionTime"), text(entered)),
        ];
        let found = member(instant, content).map_err(|error| error.at_instant(&instant.requested_time))?;
        members.extend(found.map(|(name, value)| (Cow::Borrowed(name), value)));
        let mut datum = Vec::new();
        encode_value(&Value::Object(members), self.schema.root(), UnknownMembers::Drop, &mut datum)?;
        Ok(datum)
    }
}

/// The member that has the metadata of a file; none for an empty one.
fn member(instant: &Instant, content: &[u8]) -> Result<Option<(&'static str, Value<'static>)>> {
    let is_completed = instant.state == InstantState::Completed;
    Ok(match instant.action {
        Action::Clean if is_completed => named::<HoodieCleanMetadata>("hoodieCleanMetadata", content)?,
        Action::Clean => named::<HoodieCleanerPlan>("hoodieCleanerPlan", content)?,
        Action::Commit | Action::DeltaCommit => named::<HoodieCommitMetadata>("hoodieCommitMetadata", content)?,
        Action::ReplaceCommit | Action::Clustering => match instant.state {
            InstantState::Completed => named::<HoodieReplaceCommitMetadata>("hoodieReplaceCommitMetadata", content)?,
            InstantState::Inflight => named::<HoodieCommitMetadata>("HoodieInflightReplaceMetadata", content)?,
            InstantState::Requested => {
                named::<HoodieRequestedReplaceMetadata>("hoodieRequestedReplaceMetadata", content)?
            }
        },
        Action::Compaction | Action::LogCompaction => named::<HoodieCompactionPlan>("hoodieCompactionPlan", content)?,
        Action::Rollback if is_completed => named::<HoodieRollbackMetadata>("hoodieRollbackMetadata", content)?,
        _ => None,
    })
}

fn named<T: TimelineMetadata>(name: &'static str, content: &[u8]) -> Result<Option<(&'static str, Value<'static>)>> {
    Ok(T::from_bytes(content)?.map(|metadata| (name, metadata.to_value().into_owned())))
}

/// The content of a file in the Avro format, of the member of an entry that has its metadata; none for a member of
/// another name (`LegacyArchivedMetaEntryReader`).
///
/// # Errors
/// `InvalidTable` if the member is not of the type of its name.
pub(in crate::timeline) fn content_of_member(name: &str, value: Value<'_>) -> Result<Option<Vec<u8>>> {
    match name {
        "hoodieCommitMetadata" | "HoodieInflightReplaceMetadata" => content::<HoodieCommitMetadata>(value),
        "hoodieReplaceCommitMetadata" => content::<HoodieReplaceCommitMetadata>(value),
        "hoodieRequestedReplaceMetadata" => content::<HoodieRequestedReplaceMetadata>(value),
        "hoodieCleanMetadata" => content::<HoodieCleanMetadata>(value),
        "hoodieCleanerPlan" => content::<HoodieCleanerPlan>(value),
        "hoodieCompactionPlan" => content::<HoodieCompactionPlan>(value),
        "hoodieRollbackMetadata" => content::<HoodieRollbackMetadata>(value),
        "hoodieSavePointMetadata" => content::<HoodieSavepointMetadata>(value),
        "hoodieIndexCommitMetadata" => content::<HoodieIndexCommitMetadata>(value),
        _ => Ok(None),
    }
}

fn content<T: TimelineMetadata>(value: Value<'_>) -> Result<Option<Vec<u8>>> {
    let metadata = match value {
        // Before 0.8 a string of JSON.
        Value::String(text) => T::from_bytes(text.as_bytes())?,
        value => Some(T::from_value(value).map_err(|error| error.within(T::NAME).into_error())?),
    };
    metadata.map(|metadata| metadata.to_avro()).transpose()
}
