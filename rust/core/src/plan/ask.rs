//! What queries ask for.

use super::written_files::Skip;
use crate::filter::Filter;
use crate::split::MergerHandle;
use crate::timeline::Holes;

/// What a query asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Top-level columns in the order wanted; `None` is all, meta columns first.
    pub columns: Option<Vec<String>>,
    /// Rows.
    pub filter: Filter,
    /// The instant to look from, in any form that Hudi takes; `None` is the latest.
    pub as_of: Option<String>,
    /// Whether base and log rows of a key become one.
    pub merge: bool,
    /// Whether deleted keys are delivered, too.
    pub emit_deletes: bool,
    /// What merges records where the table asks for a payload class or a merger that is not Hudi's own.
    pub merger: Option<MergerHandle>,
}

impl Default for Ask {
    fn default() -> Self {
        Self { columns: None, filter: Filter::default(), as_of: None, merge: true, emit_deletes: false, merger: None }
    }
}

/// Which commits an incremental query is about, and what of them counts.
#[derive(Debug, Clone, Default)]
pub struct Between {
    /// An instant in any form that Hudi takes, or `earliest`. Itself outside.
    pub begin: String,
    /// Itself inside; `None` is the latest.
    pub end: Option<String>,
    /// What is done about pending commits that later ones have overtaken, below table version 8.
    pub holes: Holes,
    /// Table services to leave out.
    pub skip: Skip,
    /// Whether, where a commit of the range has been archived or one of its files cleaned away, the rows of the range are sought
    /// in all files. `None`: as with Hudi 1.x, from table version 8 on, unless nothing is merged.
    pub fall_back_to_full_scan: Option<bool>,
    /// Whether the schema is that of the range's last commit, and not the table's.
    pub schema_at_end: bool,
    /// Whether nothing is merged: each log record is a row, deletes too, and of base files those that their commit wrote.
    pub changelog: bool,
}

impl Between {
    /// Which table services an incremental query leaves out: a change log has what commits wrote themselves.
    pub fn skipped(&self) -> Skip {
        if self.changelog { Skip { compaction: true, clustering: true, ..self.skip } } else { self.skip }
    }

    /// What an incremental query asks for: its merging and its deletes are those of the range.
    pub fn of_rows(&self, ask: &Ask) -> Ask {
        Ask { merge: !self.changelog, emit_deletes: ask.emit_deletes || self.changelog, ..ask.clone() }
    }
}
