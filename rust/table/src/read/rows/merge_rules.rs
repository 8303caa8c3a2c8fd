//! The rules of a merge without a table, as a caller says them: the properties of a table that merges by them.

use std::collections::BTreeMap;

use mortice_base::error::{Error, Result};
use mortice_merge::config::{
    CustomMerge, MergeConfig, MergeMode, MergeSemantics, PayloadClass, Properties, TableConfig,
};

/// How rows merge, as a caller says it. Constants are Hudi's, in any case.
#[derive(Debug, Clone, Default)]
pub struct RowsMergeRules {
    /// The release whose semantics are used.
    pub semantics: MergeSemantics,
    /// The ordering fields.
    pub ordering: Vec<String>,
    /// The merge mode; none: event time if there are ordering fields, else commit time.
    pub mode: Option<String>,
    /// Instead of a mode: a payload class of Hudi, with or without its package, or a registered one.
    pub payload: Option<String>,
    /// Whether a merger of the caller is registered for the payload class.
    pub is_registered: bool,
    /// How rows are filled from each other.
    pub partial_update: Option<String>,
    /// The string that marks an unavailable value.
    pub unavailable: Option<String>,
    /// A column that marks deletes.
    pub delete_field: Option<String>,
    /// The string in it that does.
    pub delete_marker: Option<String>,
}

const EVENT_TIME: &str = MergeMode::EventTime.name();
const COMMIT_TIME: &str = MergeMode::CommitTime.name();
const CUSTOM: &str = "CUSTOM";
const MODES: [&str; 3] = [EVENT_TIME, COMMIT_TIME, CUSTOM];
const FILL_UNAVAILABLE: &str = "FILL_UNAVAILABLE";
const PARTIAL_UPDATES: [&str; 2] = ["IGNORE_DEFAULTS", FILL_UNAVAILABLE];

impl RowsMergeRules {
    /// Returns the properties of a table that merges by these rules, and the full name of the payload class.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the argument of `mortice.merge`, for rules that contradict each other.
    pub fn resolve(&self) -> Result<(Properties, Option<String>)> {
        let mode = constant("mode", self.mode.as_deref(), &MODES)?;
        let partial_update = constant("partial_update", self.partial_update.as_deref(), &PARTIAL_UPDATES)?;
        let fields = self.ordering.join(",");
        let mut properties = BTreeMap::new();
        let mut set = |name: &str, value: &str| properties.insert(name.to_owned(), value.to_owned());
        set("hoodie.table.ordering.fields", &fields);
        set("hoodie.table.precombine.field", &fields);
        match (&self.delete_field, &self.delete_marker) {
            (None, None) => {}
            (Some(field), Some(marker)) => {
                set("hoodie.payload.delete.field", field);
                set("hoodie.payload.delete.marker", marker);
            }
            _ => return Err(Error::invalid_argument("delete_field and delete_marker must be given together")),
        }
        if self.payload.is_some() || mode == Some(CUSTOM) || self.semantics != MergeSemantics::V1x {
            let payload = self.payload_class(mode, partial_update)?;
            let version = if self.semantics == MergeSemantics::V1x { "8" } else { "6" };
            set("hoodie.table.version", version);
            set("hoodie.compaction.payload.class", &payload);
            return Ok((properties.into_iter().collect(), Some(payload)));
        }
        let mode = mode.unwrap_or(if self.ordering.is_empty() { COMMIT_TIME } else { EVENT_TIME });
        if mode == EVENT_TIME && self.ordering.is_empty() {
            return Err(Error::invalid_argument(
                "ordering is missing: event_time_ordering compares the values of one or more columns",
            ));
        }
        set("hoodie.table.version", "9");
        set("hoodie.record.merge.mode", mode);
        if (partial_update == Some(FILL_UNAVAILABLE)) != self.unavailable.is_some() {
            return Err(Error::invalid_argument(
                "unavailable must be given if partial_update is fill_unavailable, and only then",
            ));
        }
        if let Some(partial_update) = partial_update {
            set("hoodie.table.partial.update.mode", partial_update);
        }
        if let Some(marker) = &self.unavailable {
            set("hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value", marker);
        }
        Ok((properties.into_iter().collect(), None))
    }

    fn payload_class(&self, mode: Option<&str>, partial_update: Option<&str>) -> Result<String> {
        let Some(payload) = &self.payload else {
            return Err(Error::invalid_argument(
                "payload is missing: the mode custom, and the semantics 0.x, require a payload class \
                 (OverwriteWithLatestAvroPayload, DefaultHoodieRecordPayload)",
            ));
        };
        if let Some(given) = self.mode.as_deref().filter(|_| mode != Some(CUSTOM)) {
            let message = format!("mode='{given}' must not be given with payload, which defines the merge");
            return Err(Error::invalid_argument(message));
        }
        if partial_update.is_some() {
            return Err(Error::invalid_argument(
                "partial_update must not be given with payload, which defines what is filled",
            ));
        }
        let is_whole = payload.contains('.') || self.is_registered;
        Ok(if is_whole { payload.clone() } else { format!("org.apache.hudi.common.model.{payload}") })
    }
}

/// Returns Hudi's constant, which may be given in any case.
fn constant<'a>(argument: &str, given: Option<&str>, constants: &[&'a str]) -> Result<Option<&'a str>> {
    let Some(given) = given else { return Ok(None) };
    let found = constants.iter().find(|constant| constant.eq_ignore_ascii_case(given)).copied();
    found.map(Some).ok_or_else(|| {
        let known: Vec<_> = constants.iter().map(|constant| format!("'{}'", constant.to_ascii_lowercase())).collect();
        let known = match known.split_last() {
            Some((last, first)) => format!("{} or {last}", first.join(", ")),
            None => String::new(),
        };
        Error::invalid_argument(format!("{argument} must be {known}, got '{given}'"))
    })
}

/// Returns true if the result of a merge depends on the order of newer rows even if their ordering values differ.
///
/// If one row wins as a whole, the order decides only between equal ordering values. If the winning row is filled from
/// the others, each fills the values that the preceding ones have left.
///
/// # Errors
/// `InvalidArgument` for properties that contradict each other.
pub fn needs_commit_order(properties: &Properties, semantics: MergeSemantics, partial: bool) -> Result<bool> {
    let merge: MergeConfig = TableConfig::from_properties(properties.clone())?.merge_by(semantics)?;
    let by_ordering =
        [PayloadClass::Default, PayloadClass::EventTime, PayloadClass::FirstValue, PayloadClass::MySqlDebezium];
    Ok(partial
        || merge.partial_update.is_some()
        || match &merge.mode {
            MergeMode::CommitTime | MergeMode::Custom(CustomMerge::Merger(_)) => true,
            MergeMode::EventTime => false,
            MergeMode::Custom(CustomMerge::Payload(_)) => {
                merge.hudis_payload().is_none_or(|class| !by_ordering.contains(&class))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_ts() -> RowsMergeRules {
        RowsMergeRules { ordering: vec!["ts".to_owned()], ..RowsMergeRules::default() }
    }

    fn needs_order(rules: &RowsMergeRules) -> bool {
        needs_commit_order(&rules.resolve().unwrap().0, rules.semantics, false).unwrap()
    }

    #[test]
    fn the_order_of_commits_matters_unless_one_row_wins_by_its_ordering_value() {
        let text = |text: &str| Some(text.to_owned());
        assert!(!needs_order(&by_ts()));
        assert!(needs_order(&RowsMergeRules::default()));
        assert!(needs_order(&RowsMergeRules { mode: text("commit_time_ordering"), ..by_ts() }));
        assert!(needs_order(&RowsMergeRules { partial_update: text("ignore_defaults"), ..by_ts() }));
        for (payload, needed) in [
            ("DefaultHoodieRecordPayload", false),
            ("MySqlDebeziumAvroPayload", false),
            ("PartialUpdateAvroPayload", true),
            ("com.acme.Sum", true),
        ] {
            assert_eq!(needs_order(&RowsMergeRules { payload: text(payload), ..by_ts() }), needed, "{payload}");
        }
        let properties = by_ts().resolve().unwrap().0;
        assert!(needs_commit_order(&properties, MergeSemantics::V1x, true).unwrap());
    }

    #[test]
    fn registered_classes_keep_their_names() {
        let rules = RowsMergeRules { payload: Some("Sum".to_owned()), is_registered: true, ..by_ts() };
        assert_eq!(rules.resolve().unwrap().1.as_deref(), Some("Sum"));
        let rules = RowsMergeRules { is_registered: false, ..rules };
        assert_eq!(rules.resolve().unwrap().1.as_deref(), Some("org.apache.hudi.common.model.Sum"));
    }
}
