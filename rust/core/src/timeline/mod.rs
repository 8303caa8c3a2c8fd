//! Timeline: what has happened to a table and what is under way.
//!
//! | file | job |
//! |---|---|
//! | `instant` | an action with its times and its state |
//! | `layout_v1`, `layout_v2` | file names of the two layouts |
//! | `load` | lists the active timeline; the highest state of each instant counts |
//! | `timeline` | what is completed, visible, first and last |
//! | `metadata_files` | reads of instants' files: commit metadata, plans, replaced file groups |
//! | `commit_metadata`, `service_plans`, `avro_value` | the parts of those files that planning needs, read fast |
//! | `metadata` | all of those files, typed: read and written |
//! | `archived_v1` | the archive of layout 1 |
//! | `history_v2` | the archive of layout 2 |
//! | `archived` | archived instants and what any instant's files hold, in either layout |
//! | `compacted_logs` | which logs compactions passed by |
//! | `span` | the stretch of time that an incremental query asks for |
//! | `bounds` | positions between the writes of a timeline |
//! | `holes` | writes under way in such a stretch that later ones have overtaken |
//! | `writes_in_span` | the writes of such a stretch, active and archived |
//! | `time_travel` | which instants may still be asked for |
//! | `savepoint` | the files that a savepoint keeps |
//! | `taken_since` | what cleaners and rollbacks have taken since a timeline was listed |
//! | `instant_filter` | which log blocks count |

mod archived;
mod archived_v1;
mod avro_value;
mod bounds;
mod commit_metadata;
mod compacted_logs;
mod history_v2;
mod holes;
mod instant;
mod instant_filter;
mod layout_v1;
mod layout_v2;
mod load;
#[cfg(test)]
pub(crate) mod memory_place;
pub mod metadata;
mod metadata_files;
mod savepoint;
mod service_plans;
mod span;
mod taken_since;
mod time_travel;
#[expect(clippy::module_inception, reason = "the module's main type has its name")]
mod timeline;
mod writes_in_span;

pub use commit_metadata::{CommitMetadata, Part, WriteStat};
pub use holes::Holes;
pub use instant::{Action, Instant, State};
pub use instant_filter::InstantFilter;
pub use metadata_files::{PendingCompaction, ReplacedFileGroup};
pub use service_plans::CompactionOperation;
pub use span::{Span, Visit};
pub use taken_since::Taken;
pub use timeline::{Completion, Timeline};

#[cfg(test)]
pub(crate) use timeline::tests;
