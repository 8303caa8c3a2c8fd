//! The table of decisions.

use std::collections::HashMap;
use std::sync::LazyLock;

use mortice_base::error::{Error, Result};

/// Options of Hudi 1.2.0, with their decisions.
const TABLE: &str = include_str!("decisions.tsv");

/// What is done with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionHandling {
    /// It is followed.
    Taken,
    /// It concerns how Hudi works, not what is written: any value is accepted.
    NoEffect,
    /// Other values than the listed ones are refused.
    Only(&'static str),
    /// As `NoEffect`, but a user who sets another value than the listed one gets a warning.
    Warn(&'static str),
    /// The table's property of this name decides; another value is refused.
    Property(&'static str),
    /// It names the operation, which is an argument.
    Operation,
}

/// The decision for one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionDecision {
    /// The option.
    pub name: &'static str,
    /// What is done with it.
    pub decision: OptionHandling,
    /// Why it has no effect, or what to do instead.
    pub reason: &'static str,
    /// Older names, separated by commas.
    pub other_names: &'static str,
}

/// All decisions, ordered by name.
///
/// # Errors
/// `Internal` if the table is not well formed.
pub fn decisions() -> Result<&'static [OptionDecision]> {
    static DECISIONS: LazyLock<Option<Vec<OptionDecision>>> = LazyLock::new(read_table);
    DECISIONS.as_deref().ok_or_else(|| Error::internal("the table of write options is not well formed"))
}

/// The decision for an option, by any of its names.
pub(super) fn decision_for(name: &str) -> Result<Option<&'static OptionDecision>> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static OptionDecision>> = LazyLock::new(|| {
        let all = decisions().unwrap_or_default();
        let others = all.iter().flat_map(|one| one.other_names.split(',').map(move |name| (name, one)));
        // An option's own name comes before another's older name.
        others.chain(all.iter().map(|one| (one.name, one))).collect()
    });
    decisions()?;
    Ok(BY_NAME.get(name).copied().filter(|_| !name.is_empty()))
}

fn read_table() -> Option<Vec<OptionDecision>> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(read_line).collect()
}

fn read_line(line: &'static str) -> Option<OptionDecision> {
    let mut cells = line.split('\t');
    let [name, word, value, reason, other_names] = std::array::from_fn(|_| cells.next());
    let value = value?;
    let decision = match word? {
        "taken" => OptionHandling::Taken,
        "no_effect" => OptionHandling::NoEffect,
        "only" => OptionHandling::Only(value),
        "warn" => OptionHandling::Warn(value),
        "property" => OptionHandling::Property(value),
        "operation" => OptionHandling::Operation,
        _ => return None,
    };
    Some(OptionDecision { name: name?, decision, reason: reason?, other_names: other_names? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed_and_ordered() {
        let all = decisions().unwrap();
        assert!(all.len() > 600);
        assert!(all.is_sorted_by(|one, next| one.name < next.name));
    }

    /// Options of the classes of configuration in Hudi's 1.2.0 bundle for Spark 3.5.
    #[test]
    fn every_option_of_hudi_is_decided() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/options/hudi_1.2.0_all.tsv");
        let listed = std::fs::read_to_string(path).unwrap();
        let mut count = 0;
        for line in listed.lines().filter(|line| !line.starts_with('#')) {
            for name in line.split('\t').skip(1) {
                assert!(decision_for(name).unwrap().is_some(), "{name}");
                count += 1;
            }
        }
        assert!(count > 700, "{count}");
    }

    #[test]
    fn every_option_of_the_documentation_is_decided() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let pages = ["creating-tables", "rows", "several-writers", "services", "updating", "write-options", "writing"];
        let read = |page: &str| std::fs::read_to_string(format!("{folder}/{page}.md")).unwrap();
        let text: Vec<String> = pages.into_iter().map(read).collect();
        let code = text.iter().flat_map(|text| text.split('`').skip(1).step_by(2));
        let code = code.filter_map(|code| code.split('=').next());
        let names: Vec<&str> = code.filter(|name| name.starts_with("hoodie.") && !name.ends_with('*')).collect();
        assert!(names.len() > 70, "{}", names.len());
        for name in names {
            assert!(decision_for(name).unwrap().is_some(), "{name}");
        }
    }

    #[test]
    fn options_are_found_by_older_names() {
        let name = |name: &str| decision_for(name).unwrap().map(|found| found.name);
        assert_eq!(name("hoodie.compaction.record.merger.strategy"), Some("hoodie.record.merge.strategy.id"));
        assert_eq!(name("hoodie.index.type"), Some("hoodie.index.type"));
        assert_eq!(name("hoodie.nothing"), None);
        assert_eq!(name(""), None);
    }
}
