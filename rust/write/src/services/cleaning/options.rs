//! Which files a clean keeps, by Hudi's options (`HoodieCleanConfig`).

use mortice_base::error::{Error, Result};
use mortice_merge::config::WriteOptions;

const POLICY: &str = "hoodie.clean.policy";
const COMMITS: &str = "hoodie.clean.commits.retained";
const VERSIONS: &str = "hoodie.clean.fileversions.retained";
const HOURS: &str = "hoodie.clean.hours.retained";
const TRIGGER: &str = "hoodie.clean.trigger.strategy";
const TRIGGER_COMMITS: &str = "hoodie.clean.trigger.max.commits";
const INCREMENTAL: &str = "hoodie.clean.incremental.enabled";
/// Options that a clean does not follow: what they ask for is refused.
const FILTERS: [&str; 2] = ["hoodie.clean.partition.filter.regex", "hoodie.clean.partition.filter.selected"];
const BOOTSTRAP: &str = "hoodie.clean.delete.bootstrap.base.file";

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
    let is_given = |name: &str| options.is_given(name);
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
            (FILTERS[0], "2024.*"),
            (BOOTSTRAP, "true"),
            (TRIGGER, "TIME"),
        ] {
            assert!(parsed(&[(name, value)]).unwrap_err().to_string().contains(name), "{name}");
        }
    }
}
