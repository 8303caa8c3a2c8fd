//! Plans of cleans, made and read.
//!
//! A plan may come from another writer, or be damaged, and what it names is deleted. So only those of its files are
//! accepted that are in a partition of the table, have the name of a data file, and are not in a slice that readers
//! need now.

use std::collections::{BTreeMap, BTreeSet};

use super::options::CleaningOptions;
use super::planner::{FilesToClean, SAVEPOINTS};
use crate::data_paths::{DataPath, plan_path};
use mortice_base::error::{Error, Result};
use mortice_base::names::{BaseFileName, LogFileName, RequestedTime};
use mortice_storage::Storage;
use mortice_table::timeline::metadata::{HoodieActionInstant, HoodieCleanFileInfo, HoodieCleanerPlan, OrderedMap};
use mortice_table::timeline::{Instant, Timeline};

/// The version of plans with paths.
const VERSION: i32 = 2;

/// A plan whose paths have been checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CheckedPlan {
    /// Names of the files to delete, by partition.
    pub(crate) partitions: BTreeMap<String, BTreeSet<String>>,
    /// Partitions to delete as a whole.
    pub(crate) empty_partitions: BTreeSet<String>,
    /// What the result repeats: the earliest instant, the last write, the policy, and strings by key.
    pub(crate) earliest: String,
    pub(crate) last_write: String,
    pub(crate) policy: String,
    pub(crate) extra: Option<OrderedMap<String>>,
}

/// The plan for the timeline.
pub(crate) fn plan_of(
    found: &FilesToClean,
    timeline: &Timeline,
    options: &CleaningOptions,
    place: &dyn Storage,
) -> HoodieCleanerPlan {
    let retained = |instant: &Instant| HoodieActionInstant {
        timestamp: instant.requested_time.to_string(),
        action: instant.action.to_string(),
        state: "COMPLETED".to_owned(),
        ..HoodieActionInstant::default()
    };
    let info = |partition: &str, name: &str| {
        let path = DataPath { partition: partition.to_owned(), name: name.to_owned() };
        HoodieCleanFileInfo {
            file_path: Some(plan_path(place, &path.path())),
            is_bootstrap_base_file: Some(false),
            ..HoodieCleanFileInfo::default()
        }
    };
    let paths = found.partitions.iter().map(|(partition, files)| {
        (partition.clone(), files.keys().map(|name| info(partition, name)).collect::<Vec<_>>())
    });
    let mut extra = OrderedMap::new();
    if !found.savepoints.is_empty() {
        extra.insert(SAVEPOINTS, found.savepoints.join(","));
    }
    HoodieCleanerPlan {
        earliest_instant_to_retain: found.earliest.as_ref().map(retained),
        last_completed_commit_timestamp: last_write(timeline),
        policy: options.policy.name().to_owned(),
        files_to_be_deleted_per_partition: Some(OrderedMap::new()),
        version: Some(VERSION),
        file_paths_to_be_deleted_per_partition: Some(paths.collect()),
        partitions_to_be_deleted: Some(found.empty_partitions.clone()),
        extra_metadata: Some(extra),
        ..HoodieCleanerPlan::default()
    }
}

fn last_write(timeline: &Timeline) -> String {
    timeline.completed_writes().next_back().map(|write| write.requested_time.to_string()).unwrap_or_default()
}

impl CheckedPlan {
    /// Reads a plan.
    pub(crate) fn parse(plan: HoodieCleanerPlan, instant: &RequestedTime) -> Result<Self> {
        let at = |error: Error| error.at_instant(instant);
        let mut checked = Self {
            earliest: plan.earliest_instant_to_retain.map(|one| one.timestamp).unwrap_or_default(),
            last_write: plan.last_completed_commit_timestamp,
            policy: plan.policy,
            extra: plan.extra_metadata,
            ..Self::default()
        };
        let names = plan.files_to_be_deleted_per_partition.into_iter().flatten();
        for (partition, names) in names {
            for name in &names {
                checked.add(&partition, name).map_err(at)?;
            }
        }
        for (partition, files) in plan.file_paths_to_be_deleted_per_partition.into_iter().flatten() {
            for file in &files {
                if file.is_bootstrap_base_file == Some(true) {
                    let message = "a clean that deletes source files of a bootstrapped table; complete it with Hudi";
                    return Err(at(Error::unsupported(message)));
                }
                let path = file.file_path.as_deref().unwrap_or_default();
                checked.add(&partition, path).map_err(at)?;
            }
        }
        for partition in plan.partitions_to_be_deleted.into_iter().flatten() {
            // The path of any file in it is checked as its own is to be.
            DataPath::of_plan(&partition, "f").map_err(at)?;
            if !partition.is_empty() {
                checked.empty_partitions.insert(partition);
            }
        }
        Ok(checked)
    }

    /// The files to delete.
    pub(crate) fn files(&self) -> impl Iterator<Item = DataPath> {
        self.partitions.iter().flat_map(|(partition, names)| {
            names.iter().map(|name| DataPath { partition: partition.clone(), name: name.clone() })
        })
    }

    fn add(&mut self, partition: &str, path: &str) -> Result<()> {
        let path = DataPath::of_plan(partition, path)?;
        if BaseFileName::parse(&path.name).is_none() && LogFileName::parse(&path.name).is_none() {
            let message = "the plan of a clean names a file that is not a data file: nothing was deleted; compare the plan in the \
                           timeline folder with the files of the table";
            return Err(Error::invalid_table(message).in_file(path.path()));
        }
        self.partitions.entry(path.partition).or_default().insert(path.name);
        Ok(())
    }
}
