//! Which files a clean keeps, by Hudi's options (`HoodieCleanConfig`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::option_names::{
    CLEAN_COMMITS_RETAINED, CLEAN_DELETE_BOOTSTRAP_BASE_FILE, CLEAN_FILEVERSIONS_RETAINED, CLEAN_HOURS_RETAINED,
    CLEAN_INCREMENTAL_ENABLED, CLEAN_POLICY, CLEAN_TRIGGER_MAX_COMMITS, CLEAN_TRIGGER_STRATEGY,
};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

/// Options that a clean does not follow: what they ask for is refused.
const FILTERS: [WriteOption<option_names::Text>; 2] =
    [option_names::CLEAN_PARTITION_FILTER_REGEX, option_names::CLEAN_PARTITION_FILTER_SELECTED];

/// What decides which slices a clean keeps (`HoodieCleaningPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleaningPolicy {
    /// What the last commits need: so many.
    LatestCommits(u64),
    /// So many slices of each file group.
    LatestFileVersions(u64),
    /// What the commits of the last hours need: so many.
    LatestByHours(u64),
}

impl CleaningPolicy {
    /// The name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LatestCommits(_) => "KEEP_LATEST_COMMITS",
            Self::LatestFileVersions(_) => "KEEP_LATEST_FILE_VERSIONS",
            Self::LatestByHours(_) => "KEEP_LATEST_BY_HOURS",
        }
    }
}

/// Options of a clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleaningOptions {
    /// What is kept.
    pub policy: CleaningPolicy,
    /// A new clean is planned after so many commits since the last one.
    pub trigger_commits: u64,
    /// Whether only the partitions are looked at that have changed since the last clean.
    pub is_incremental: bool,
}

impl CleaningOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that cannot be read; `Unsupported` for filters of partitions.
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        for name in FILTERS {
            if options.text(name).is_some() {
                return Err(Error::unsupported(format!("option {name}; leave it out")));
            }
        }
        if options.boolean(CLEAN_DELETE_BOOTSTRAP_BASE_FILE)? {
            return Err(Error::unsupported(format!(
                "option {CLEAN_DELETE_BOOTSTRAP_BASE_FILE}=true: mortice deletes no files outside of the table"
            )));
        }
        let trigger = options.word(CLEAN_TRIGGER_STRATEGY)?;
        if !trigger.eq_ignore_ascii_case("NUM_COMMITS") {
            return Err(Error::invalid_argument(format!(
                "option {CLEAN_TRIGGER_STRATEGY} must be NUM_COMMITS, got {trigger:?}"
            )));
        }
        Ok(Self {
            policy: policy(options)?,
            trigger_commits: options.integer(CLEAN_TRIGGER_MAX_COMMITS)?,
            is_incremental: options.boolean(CLEAN_INCREMENTAL_ENABLED)?,
        })
    }
}

fn policy(options: &WriteOptions) -> Result<CleaningPolicy> {
    // Without a policy, Hudi derives it from the number that is given.
    let given = options.given_text(CLEAN_POLICY).map(|value| value.trim().to_ascii_uppercase());
    let is_given = |name: WriteOption<option_names::Integer>| options.is_given(name);
    let name = match given.as_deref() {
        Some(name) => name,
        None if is_given(CLEAN_COMMITS_RETAINED) => "KEEP_LATEST_COMMITS",
        None if is_given(CLEAN_HOURS_RETAINED) => "KEEP_LATEST_BY_HOURS",
        None if is_given(CLEAN_FILEVERSIONS_RETAINED) => "KEEP_LATEST_FILE_VERSIONS",
        None => "KEEP_LATEST_COMMITS",
    };
    match name {
        "KEEP_LATEST_COMMITS" => options.integer(CLEAN_COMMITS_RETAINED).map(CleaningPolicy::LatestCommits),
        "KEEP_LATEST_FILE_VERSIONS" => {
            options.integer(CLEAN_FILEVERSIONS_RETAINED).map(CleaningPolicy::LatestFileVersions)
        }
        "KEEP_LATEST_BY_HOURS" => options.integer(CLEAN_HOURS_RETAINED).map(CleaningPolicy::LatestByHours),
        other => Err(Error::invalid_argument(format!(
            "option {CLEAN_POLICY} must be KEEP_LATEST_COMMITS, KEEP_LATEST_FILE_VERSIONS or KEEP_LATEST_BY_HOURS, got {other:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = option_names::CLEAN_POLICY.name();
    const COMMITS: &str = option_names::CLEAN_COMMITS_RETAINED.name();
    const VERSIONS: &str = option_names::CLEAN_FILEVERSIONS_RETAINED.name();
    const HOURS: &str = option_names::CLEAN_HOURS_RETAINED.name();
    const TRIGGER: &str = option_names::CLEAN_TRIGGER_STRATEGY.name();
    const BOOTSTRAP: &str = option_names::CLEAN_DELETE_BOOTSTRAP_BASE_FILE.name();

    fn parsed(options: &[(&str, &str)]) -> Result<CleaningPolicy> {
        let options = WriteOptions::resolve(options.iter().copied())?;
        CleaningOptions::resolve(&options).map(|options| options.policy)
    }

    #[test]
    fn policies_by_name_or_by_their_number() {
        for (options, policy) in [
            (&[][..], CleaningPolicy::LatestCommits(10)),
            (&[(COMMITS, "3")][..], CleaningPolicy::LatestCommits(3)),
            (&[(VERSIONS, "2")][..], CleaningPolicy::LatestFileVersions(2)),
            (&[(HOURS, "5")][..], CleaningPolicy::LatestByHours(5)),
            (&[(POLICY, "keep_latest_by_hours")][..], CleaningPolicy::LatestByHours(24)),
            (&[(POLICY, "KEEP_LATEST_FILE_VERSIONS"), (COMMITS, "4")][..], CleaningPolicy::LatestFileVersions(3)),
        ] {
            assert_eq!(parsed(options).unwrap(), policy, "{options:?}");
        }
    }

    #[test]
    fn what_is_not_followed_is_refused() {
        for (name, value) in [
            (POLICY, "KEEP_ALL"),
            (COMMITS, "0"),
            (COMMITS, "many"),
            (FILTERS[0].name(), "2024.*"),
            (BOOTSTRAP, "true"),
            (TRIGGER, "TIME"),
        ] {
            assert!(parsed(&[(name, value)]).unwrap_err().to_string().contains(name), "{name}");
        }
    }
}
