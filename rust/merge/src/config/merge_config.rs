//! How records of one key become one row: the merge mode and what belongs to it (`HoodieTableConfig`,
//! `RecordMergeMode`, `PartialUpdateMode`).

use serde::{Deserialize, Serialize};

use super::table_config::{ordering_fields, payload_class};
use super::{MergeSemantics, PayloadClass, Properties, TableVersion, merge_inference, payload};
use mortice_base::error::{Error, Result};

const PROPERTY: &str = "hoodie.record.merge.property.";

/// The merge mode.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MergeMode {
    /// `COMMIT_TIME_ORDERING`: the newer record wins.
    CommitTime,
    /// `EVENT_TIME_ORDERING`: the greater ordering value wins, the newer on a tie.
    EventTime,
    /// `CUSTOM`: a class of the table's own.
    Custom(CustomMerge),
}

impl MergeMode {
    /// Hudi's name of the mode.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CommitTime => "COMMIT_TIME_ORDERING",
            Self::EventTime => "EVENT_TIME_ORDERING",
            Self::Custom(_) => "CUSTOM",
        }
    }
}

/// Whose rules a `CUSTOM` table goes by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CustomMerge {
    /// A payload class, by its full name.
    Payload(String),
    /// A record merger, by its strategy id.
    Merger(String),
}

/// How a newer record is filled up from the older one (`hoodie.table.partial.update.mode`, table version 9).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PartialUpdateMode {
    /// `IGNORE_DEFAULTS`: a field that holds its default takes the other record's value.
    IgnoreDefaults,
    /// `FILL_UNAVAILABLE`: a field that holds this marker does.
    FillUnavailable(String),
}

/// A column and the text in it that makes a row a delete.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeleteMarker {
    /// `hoodie.payload.delete.field`.
    pub field: String,
    /// `hoodie.payload.delete.marker`.
    pub marker: String,
    /// Whether capitals make no difference, as to the payload classes that know their marker themselves.
    pub any_case: bool,
}

/// How records of one key become one row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MergeConfig {
    /// The mode.
    pub mode: MergeMode,
    /// The ordering fields in force: none in [`MergeMode::CommitTime`], even if the table stores some.
    pub ordering_fields: Vec<String>,
    /// How records are filled up, if at all.
    pub partial_update: Option<PartialUpdateMode>,
    /// Which rows of logs are deletes beside those that `_hoodie_is_deleted` and `_hoodie_operation` mark.
    pub delete_marker: Option<DeleteMarker>,
}

impl MergeConfig {
    /// What a table's properties amount to.
    pub(super) fn from_properties(version: TableVersion, properties: &Properties) -> Result<Self> {
        let mode = merge_inference::mode(version, properties)?;
        let ordering_fields = match mode {
            MergeMode::CommitTime => Vec::new(),
            MergeMode::EventTime | MergeMode::Custom(_) => ordering_fields(properties),
        };
        let partial_update = if version.number() < 9 { None } else { partial_update(properties)? };
        let delete_marker = delete_marker(&mode, properties)?;
        Ok(Self { mode, ordering_fields, partial_update, delete_marker })
    }

    /// The payload class that merges, if it is one of Hudi's.
    #[must_use]
    pub fn hudis_payload(&self) -> Option<PayloadClass> {
        match &self.mode {
            MergeMode::Custom(CustomMerge::Payload(class)) => PayloadClass::parse(class),
            _ => None,
        }
    }

    /// What the properties of a table amount to for Hudi 0.x, which goes by the payload class alone and always by the
    /// stored ordering fields.
    pub(super) fn from_properties_0_x(properties: &Properties) -> Result<Self> {
        let class = payload_class(properties).unwrap_or_else(|| payload::DEFAULT_0_X.to_owned());
        let mode = MergeMode::Custom(CustomMerge::Payload(class));
        let delete_marker = delete_marker(&mode, properties)?;
        Ok(Self { mode, ordering_fields: ordering_fields(properties), partial_update: None, delete_marker })
    }

    /// The payload class, or the strategy of a record merger, that records are merged by, where that is no mode of its
    /// own.
    #[must_use]
    pub fn custom(&self) -> Option<&str> {
        match &self.mode {
            MergeMode::Custom(CustomMerge::Payload(name) | CustomMerge::Merger(name)) => Some(name),
            MergeMode::CommitTime | MergeMode::EventTime => None,
        }
    }

    /// Refuses the modes that this release does not merge under `semantics`: for snapshots and what is built on them.
    ///
    /// # Errors
    /// `Unsupported`, with the class, strategy or mode and the way out.
    pub fn check_supported(&self, semantics: MergeSemantics) -> Result<()> {
        self.check_with_remedy(semantics, payload::ALTERNATIVES)
    }

    /// The same, for writes that merge rows with stored ones.
    ///
    /// # Errors
    /// As for [`MergeConfig::check_supported`].
    pub fn check_written(&self, semantics: MergeSemantics) -> Result<()> {
        self.check_with_remedy(semantics, payload::WRITE_WITH_HUDI)
    }

    fn check_with_remedy(&self, semantics: MergeSemantics, way_out: &str) -> Result<()> {
        match &self.mode {
            MergeMode::Custom(CustomMerge::Payload(class)) if !payload::is_known(class, semantics) => {
                let why = payload::refusal(class);
                Err(Error::unsupported(format!("the payload class {class} is not supported{why}{way_out}")))
            }
            MergeMode::Custom(CustomMerge::Merger(id)) => {
                Err(Error::unsupported(format!("the custom record merger of strategy {id} is not supported{way_out}")))
            }
            MergeMode::CommitTime | MergeMode::EventTime | MergeMode::Custom(CustomMerge::Payload(_)) => Ok(()),
        }
    }
}

fn partial_update(properties: &Properties) -> Result<Option<PartialUpdateMode>> {
    let key = "hoodie.table.partial.update.mode";
    match properties.first_of(&[key]) {
        None => Ok(None),
        Some("IGNORE_DEFAULTS") => Ok(Some(PartialUpdateMode::IgnoreDefaults)),
        Some("FILL_UNAVAILABLE") => {
            let marker = merge_property(properties, "hoodie.write.partial.update.unavailable.value");
            let marker = marker.ok_or_else(|| {
                Error::invalid_table(format!(
                    "{key} is FILL_UNAVAILABLE, but {PROPERTY}hoodie.write.partial.update.unavailable.value is missing"
                ))
            })?;
            Ok(Some(PartialUpdateMode::FillUnavailable(marker.to_owned())))
        }
        Some(other) => {
            Err(Error::unsupported(format!("unsupported {key}={other} (supported: IGNORE_DEFAULTS, FILL_UNAVAILABLE)")))
        }
    }
}

/// A merge property, or the same key without the prefix.
fn merge_property<'a>(properties: &'a Properties, key: &str) -> Option<&'a str> {
    properties.get(&format!("{PROPERTY}{key}")).or_else(|| properties.get(key)).filter(|value| !value.is_empty())
}

fn delete_marker(mode: &MergeMode, properties: &Properties) -> Result<Option<DeleteMarker>> {
    let (field_key, marker_key) = ("hoodie.payload.delete.field", "hoodie.payload.delete.marker");
    match (merge_property(properties, field_key), merge_property(properties, marker_key)) {
        (Some(field), Some(marker)) => {
            // A class that knows its marker itself goes by its own way of comparing.
            let of_class = payload_delete_marker(mode).filter(|own| own.field == field);
            let configured = || DeleteMarker { field: field.to_owned(), marker: marker.to_owned(), any_case: false };
            Ok(Some(of_class.unwrap_or_else(configured)))
        }
        (None, None) => Ok(payload_delete_marker(mode)),
        _ => Err(Error::invalid_table(format!("only one of {field_key} and {marker_key} is set: set both or neither"))),
    }
}

/// Before table version 9 these payload classes know their marker themselves.
fn payload_delete_marker(mode: &MergeMode) -> Option<DeleteMarker> {
    let MergeMode::Custom(CustomMerge::Payload(class)) = mode else { return None };
    let (field, marker) = PayloadClass::parse(class)?.delete_marker()?;
    Some(DeleteMarker { field: field.to_owned(), marker: marker.to_owned(), any_case: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::ErrorKind;

    fn merge_config(version: &str, lines: &str) -> Result<MergeConfig> {
        let text = format!("hoodie.table.version={version}\n{lines}");
        let properties = Properties::parse(text.as_bytes())?;
        MergeConfig::from_properties(TableVersion::from_properties(&properties)?, &properties)
    }

    #[test]
    fn commit_time_has_no_ordering() {
        let mode = "hoodie.record.merge.mode=COMMIT_TIME_ORDERING\nhoodie.table.ordering.fields=ts\n";
        assert!(merge_config("9", mode).unwrap().ordering_fields.is_empty());
        let mode = mode.replace("COMMIT", "EVENT");
        assert_eq!(merge_config("9", &mode).unwrap().ordering_fields, ["ts"]);
    }

    #[test]
    fn postgres_debezium_at_version_9() {
        let config = merge_config(
            "9",
            "hoodie.record.merge.mode=EVENT_TIME_ORDERING\nhoodie.table.partial.update.mode=FILL_UNAVAILABLE\n\
             hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value=__debezium_unavailable_value\n\
             hoodie.record.merge.property.hoodie.payload.delete.field=_change_operation_type\n\
             hoodie.record.merge.property.hoodie.payload.delete.marker=d\nhoodie.table.ordering.fields=_event_lsn\n",
        )
        .unwrap();
        let marker = PartialUpdateMode::FillUnavailable("__debezium_unavailable_value".into());
        assert_eq!(config.partial_update, Some(marker));
        assert_eq!(config.delete_marker.as_ref().unwrap().marker, "d");
    }

    #[test]
    fn payloads_of_others_are_refused_by_name() {
        let class = "org.apache.hudi.common.model.AWSDmsAvroPayload";
        let config = merge_config("6", &format!("hoodie.compaction.payload.class={class}\n")).unwrap();
        assert_eq!(config.mode, MergeMode::Custom(CustomMerge::Payload(class.into())));
        assert_eq!(config.delete_marker, Some(DeleteMarker { field: "Op".into(), marker: "D".into(), any_case: true }));
        config.check_supported(MergeSemantics::V1x).unwrap();
        let error = merge_config("6", "hoodie.compaction.payload.class=com.acme.AWSDmsAvroPayload\n")
            .and_then(|config| config.check_supported(MergeSemantics::V1x))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("com.acme.AWSDmsAvroPayload"));
    }

    #[test]
    fn half_a_delete_marker_is_an_error() {
        let error = merge_config("9", "hoodie.payload.delete.field=op\n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTable);
        let whole = merge_config("8", "hoodie.payload.delete.field=op\nhoodie.payload.delete.marker=X\n").unwrap();
        assert_eq!(whole.delete_marker, Some(DeleteMarker { field: "op".into(), marker: "X".into(), any_case: false }));
    }

    #[test]
    fn partial_update_modes_belong_to_version_9() {
        let line = "hoodie.table.partial.update.mode=IGNORE_DEFAULTS\n";
        assert_eq!(merge_config("9", line).unwrap().partial_update, Some(PartialUpdateMode::IgnoreDefaults));
        assert_eq!(merge_config("8", line).unwrap().partial_update, None);
        let error = merge_config("9", "hoodie.table.partial.update.mode=KEEP_VALUES\n").unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("KEEP_VALUES"));
        assert_eq!(
            merge_config("9", "hoodie.table.partial.update.mode=FILL_UNAVAILABLE\n").unwrap_err().kind(),
            ErrorKind::InvalidTable
        );
    }
}
