//! What each table service would do now, and whether it is due.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::archival::Archival;
use crate::cleaning::cleaning_of;
use crate::clustering::{check_order, commits_since_clustering, plans_of};
use crate::compaction::Compaction;
use crate::open::of_opened;
use crate::request::ServiceRequest;
use mortice_base::error::{Error, Result};
use mortice_commit::writable_table::{TableLocation, WritableTable, read_options};
use mortice_merge::config::{TableType, WriteOption, default_of, option_names};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;

const DELTA_COMMITS: WriteOption<option_names::Integer> = option_names::COMPACT_INLINE_MAX_DELTA_COMMITS;
const CLUSTERING_COMMITS: WriteOption<option_names::Integer> = option_names::CLUSTERING_INLINE_MAX_COMMITS;

/// A service that maintenance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintainedService {
    /// Merges logs into base files.
    Compaction,
    /// Rewrites small file groups.
    Clustering,
    /// Deletes files of old slices.
    Cleaning,
    /// Moves old instants to the archive.
    Archival,
}

impl MaintainedService {
    /// In the order in which they are run: a clean deletes what the others have replaced.
    pub const IN_ORDER: [Self; 4] = [Self::Compaction, Self::Clustering, Self::Cleaning, Self::Archival];

    /// The name of the command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compact",
            Self::Clustering => "cluster",
            Self::Cleaning => "clean",
            Self::Archival => "archive",
        }
    }

    /// The service of a command.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::IN_ORDER.into_iter().find(|service| service.name() == name);
        found.ok_or_else(|| Error::invalid_argument(format!("unknown service {name:?}")))
    }
}

/// What a table service would do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceNeed {
    /// Whether it is due by Hudi's usual options, or a plan of it is pending.
    pub is_due: bool,
    /// What it would gain, in words.
    pub gain: String,
    /// The files that it would read, delete or move.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Its plans that are pending.
    pub pending: usize,
}

/// What services would do, and sentences on options that have no effect.
#[derive(Debug)]
pub struct ServiceNeeds {
    /// The services, and what they would do, or why they cannot run.
    pub needs: Vec<(MaintainedService, Result<ServiceNeed>)>,
    /// The sentences.
    pub warnings: Vec<String>,
}

/// Returns what services of a table would do, which is opened once for all of them.
///
/// # Arguments
/// * `location` - The table.
/// * `options` - Options of the services, by Hudi's names.
/// * `services` - Which of them.
#[must_use]
pub fn service_needs(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    services: &[MaintainedService],
) -> ServiceNeeds {
    let mut finder = Needs { location, options, table: None, warnings: Vec::new() };
    let needs = services.iter().map(|service| (*service, finder.of_service(*service))).collect();
    ServiceNeeds { needs, warnings: finder.warnings }
}

struct Needs<'a> {
    location: &'a TableLocation,
    options: &'a BTreeMap<String, String>,
    /// As it was opened for the first service.
    table: Option<Arc<OpenTable>>,
    warnings: Vec<String>,
}

impl Needs<'_> {
    fn of_service(&mut self, service: MaintainedService) -> Result<ServiceNeed> {
        let table = match &self.table {
            Some(table) => Arc::clone(table),
            None => self.location.open_table(read_options(self.options)?)?,
        };
        self.table = Some(Arc::clone(&table));
        match service {
            MaintainedService::Compaction => self.compaction(&table),
            MaintainedService::Clustering => self.clustering(&table),
            MaintainedService::Cleaning => self.cleaning(&table),
            MaintainedService::Archival => self.archival(&table),
        }
    }

    fn target(&self, table: &Arc<OpenTable>, options: &BTreeMap<String, String>, name: &str) -> Result<WritableTable> {
        of_opened(self.location, Arc::clone(table), options, name)
    }

    fn compaction(&self, table: &Arc<OpenTable>) -> Result<ServiceNeed> {
        if table.config.table_type != TableType::MergeOnRead {
            return Ok(ServiceNeed::none("a copy-on-write table has no logs"));
        }
        let mut options = self.options.clone();
        let planned = |options: &BTreeMap<String, String>| {
            ServiceRequest::BOTH.plan_compactions(&self.target(table, options, "compact")?, Compaction::REQUESTED)
        };
        options.entry(DELTA_COMMITS.name().to_owned()).or_insert(default_of(DELTA_COMMITS.name())?.to_owned());
        let due = planned(&options)?;
        let is_due = !due.is_empty();
        // Without the option, one is planned after any number of delta commits.
        options.remove(DELTA_COMMITS.name());
        let plans = if is_due { due } else { planned(&options)? };
        let slices: Vec<_> = plans.iter().flat_map(|plan| &plan.slices).collect();
        let files = slices.iter().map(|slice| slice.log_files.len()).fold(0, usize::saturating_add);
        let gain = if slices.is_empty() {
            "nothing to merge".to_owned()
        } else {
            format!("merges {} log files of {} file groups", grouped(files), grouped(slices.len()))
        };
        Ok(ServiceNeed {
            is_due,
            gain,
            files,
            bytes: slices.iter().fold(0, |sum, slice| sum.saturating_add(merged_bytes(slice))),
            pending: plans.iter().filter(|plan| plan.instant.is_some()).count(),
        })
    }

    fn clustering(&self, table: &Arc<OpenTable>) -> Result<ServiceNeed> {
        let target = self.target(table, self.options, "cluster")?;
        check_order(&target)?;
        let plans = plans_of(&target, ServiceRequest::BOTH)?;
        let pending = plans.iter().filter(|(instant, _)| instant.is_some()).count();
        let groups = plans.iter().flat_map(|(instant, plan)| plan.groups.iter().map(move |group| (instant, group)));
        // A new group of a single file group only sorts it again: that is not due by itself.
        let fewer: Vec<_> = groups
            .filter(|(instant, group)| instant.is_some() || group.slices.len() > group.outputs)
            .map(|(_, group)| group)
            .collect();
        let (inputs, outputs) = fewer.iter().fold((0_usize, 0_usize), |(inputs, outputs), group| {
            (inputs.saturating_add(group.slices.len()), outputs.saturating_add(group.outputs))
        });
        let less = inputs.saturating_sub(outputs);
        let limit: usize = target.options().integer(CLUSTERING_COMMITS)?;
        let is_due = pending > 0 || (less > 0 && commits_since_clustering(&table.timeline)? >= limit);
        let slices = fewer.iter().flat_map(|group| &group.slices);
        let files = slices.map(|slice| slice.log_files.len().saturating_add(usize::from(slice.base_file.is_some())));
        Ok(ServiceNeed {
            is_due,
            gain: match less {
                0 => "no file groups fewer".to_owned(),
                less => format!("makes {} file groups fewer", grouped(less)),
            },
            files: files.fold(0, usize::saturating_add),
            bytes: fewer.iter().fold(0, |sum, group| sum.saturating_add(group.bytes())),
            pending,
        })
    }

    fn cleaning(&mut self, table: &Arc<OpenTable>) -> Result<ServiceNeed> {
        let target = WritableTable::of_table(self.location, Arc::clone(table), self.options, "clean")?;
        let planned = cleaning_of(&target, |cleaning| cleaning.plan())?;
        self.warn(planned.warnings);
        let files: Vec<_> = planned.cleans.iter().flat_map(|clean| &clean.files).collect();
        let pending = planned.cleans.iter().filter(|clean| clean.instant.is_some()).count();
        Ok(ServiceNeed {
            is_due: !files.is_empty() || pending > 0,
            gain: match (files.len(), planned.reason) {
                (0, reason) => reason.unwrap_or_else(|| "nothing to delete".to_owned()),
                (count, _) => format!("deletes {} files", grouped(count)),
            },
            files: files.len(),
            bytes: files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes)),
            pending,
        })
    }

    fn archival(&mut self, table: &Arc<OpenTable>) -> Result<ServiceNeed> {
        let target = WritableTable::of_table(self.location, Arc::clone(table), self.options, "archive")?;
        let archived = Archival::new(&target)?.plan()?;
        self.warn(target.warnings());
        let files: Vec<_> = archived.iter().flat_map(|instant| &instant.files).collect();
        Ok(ServiceNeed {
            is_due: !archived.is_empty(),
            gain: match archived.len() {
                0 => "nothing to move".to_owned(),
                count => format!("moves {} instants", grouped(count)),
            },
            files: files.len(),
            bytes: files.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes)),
            pending: 0,
        })
    }

    fn warn(&mut self, warnings: Vec<String>) {
        let new = warnings.into_iter().filter(|one| !self.warnings.contains(one)).collect::<Vec<_>>();
        self.warnings.extend(new);
    }
}

impl ServiceNeed {
    fn none(reason: &str) -> Self {
        Self { is_due: false, gain: reason.to_owned(), files: 0, bytes: 0, pending: 0 }
    }
}

/// The bytes that a compaction of a slice reads.
fn merged_bytes(slice: &FileSlice) -> u64 {
    let base = slice.base_file.as_ref().map_or(0, |base| base.len);
    slice.log_files.iter().fold(base, |sum, log| sum.saturating_add(log.len))
}

/// Returns a whole number with its digits in groups of three.
#[must_use]
pub fn grouped(number: impl fmt::Display) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = digits.get(..first).filter(|first| !first.is_empty()).into_iter().collect();
    groups.extend((first..digits.len()).step_by(3).filter_map(|at| digits.get(at..at + 3)));
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_by_their_names() {
        for service in MaintainedService::IN_ORDER {
            assert_eq!(MaintainedService::parse(service.name()).unwrap(), service);
        }
        assert!(MaintainedService::parse("vacuum").is_err());
    }

    #[test]
    fn digits_are_grouped() {
        let numbers = [0, 12, 999, 1_000, 123_456, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "12", "999", "1,000", "123,456", "1,234,567"]);
    }
}
