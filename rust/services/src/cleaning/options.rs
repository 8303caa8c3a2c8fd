//! Which files a clean keeps, by Hudi's options (`HoodieCleanConfig`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::{WriteOption, WriteOptions, option_names};

const POLICY: WriteOption<option_names::Word> = option_names::CLEAN_POLICY;
pub(super) const COMMITS: WriteOption<option_names::Integer> = option_names::CLEAN_COMMITS_RETAINED;
pub(super) const VERSIONS: WriteOption<option_names::Integer> = option_names::CLEAN_FILEVERSIONS_RETAINED;
pub(super) const HOURS: WriteOption<option_names::Integer> = option_names::CLEAN_HOURS_RETAINED;
const TRIGGER: WriteOption<option_names::Word> = option_names::CLEAN_TRIGGER_STRATEGY;
const TRIGGER_COMMITS: WriteOption<option_names::Integer> = option_names::CLEAN_TRIGGER_MAX_COMMITS;
const INCREMENTAL: WriteOption<option_names::Boolean> = option_names::CLEAN_INCREMENTAL_ENABLED;
/// Options that a clean does not follow: what they ask for is refused.
const FILTERS: [WriteOption<option_names::Text>; 2] =
    [option_names::CLEAN_PARTITION_FILTER_REGEX, option_names::CLEAN_PARTITION_FILTER_SELECTED];
const BOOTSTRAP: WriteOption<option_names::Boolean> = option_names::CLEAN_DELETE_BOOTSTRAP_BASE_FILE;

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
    /// # Errors
    /// `InvalidArgument`, naming the option, for values that cannot be read; `Unsupported` for filters of partitions.
    pub fn from_options(options: &WriteOptions) -> Result<Self> {
        for name in FILTERS {
            if options.text(name).is_some() {
                return Err(Error::unsupported(format!("option {name}; leave it out")));
            }
        }
        if options.boolean(BOOTSTRAP)? {
            return Err(Error::unsupported(format!(
                "option {BOOTSTRAP}=true: mortice deletes no files outside of the table"
            )));
        }
        let trigger = options.word(TRIGGER)?;
        if !trigger.eq_ignore_ascii_case("NUM_COMMITS") {
            return Err(Error::invalid_argument(format!("option {TRIGGER} must be NUM_COMMITS, got {trigger:?}")));
        }
        Ok(Self {
            policy: policy(options)?,
            trigger_commits: options.integer(TRIGGER_COMMITS)?,
            is_incremental: options.boolean(INCREMENTAL)?,
        })
    }
}

fn policy(options: &WriteOptions) -> Result<CleaningPolicy> {
    // Without a policy, Hudi derives it from the number that is given.
    let given = options.given_text(POLICY).map(|value| value.trim().to_ascii_uppercase());
    let is_given = |name: WriteOption<option_names::Integer>| options.is_given(name);
    let name = match given.as_deref() {
        Some(name) => name,
        None if is_given(COMMITS) => "KEEP_LATEST_COMMITS",
        None if is_given(HOURS) => "KEEP_LATEST_BY_HOURS",
        None if is_given(VERSIONS) => "KEEP_LATEST_FILE_VERSIONS",
        None => "KEEP_LATEST_COMMITS",
    };
    match name {
        "KEEP_LATEST_COMMITS" => options.integer(COMMITS).map(CleaningPolicy::LatestCommits),
        "KEEP_LATEST_FILE_VERSIONS" => options.integer(VERSIONS).map(CleaningPolicy::LatestFileVersions),
        "KEEP_LATEST_BY_HOURS" => options.integer(HOURS).map(CleaningPolicy::LatestByHours),
        other => Err(Error::invalid_argument(format!(
            "option {POLICY} must be KEEP_LATEST_COMMITS, KEEP_LATEST_FILE_VERSIONS or KEEP_LATEST_BY_HOURS, got {other:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(options: &[(&str, &str)]) -> Result<CleaningPolicy> {
        let options = WriteOptions::resolve(options.iter().copied())?;
        CleaningOptions::from_options(&options).map(|options| options.policy)
    }

    #[test]
    fn policies_by_name_or_by_their_number() {
        for (options, policy) in [
            (&[][..], CleaningPolicy::LatestCommits(10)),
            (&[(COMMITS.name(), "3")][..], CleaningPolicy::LatestCommits(3)),
            (&[(VERSIONS.name(), "2")][..], CleaningPolicy::LatestFileVersions(2)),
            (&[(HOURS.name(), "5")][..], CleaningPolicy::LatestByHours(5)),
            (&[(POLICY.name(), "keep_latest_by_hours")][..], CleaningPolicy::LatestByHours(24)),
            (
                &[(POLICY.name(), "KEEP_LATEST_FILE_VERSIONS"), (COMMITS.name(), "4")][..],
                CleaningPolicy::LatestFileVersions(3),
            ),
        ] {
            assert_eq!(parsed(options).unwrap(), policy, "{options:?}");
        }
    }

    #[test]
    fn what_is_not_followed_is_refused() {
        for (name, value) in [
            (POLICY.name(), "KEEP_ALL"),
            (COMMITS.name(), "0"),
            (COMMITS.name(), "many"),
            (FILTERS[0].name(), "2024.*"),
            (BOOTSTRAP.name(), "true"),
            (TRIGGER.name(), "TIME"),
        ] {
            assert!(parsed(&[(name, value)]).unwrap_err().to_string().contains(name), "{name}");
        }
    }
}
