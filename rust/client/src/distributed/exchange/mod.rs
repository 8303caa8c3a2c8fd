//! What stages send each other, and what the driver and the tasks exchange.
//!
//! | file | job |
//! |---|---|
//! | `chunk`, `sent_rows` | rows as bytes that are sent, and as batches with what is known of each |
//! | `slots` | which rows come together in one process |
//! | `specs`, `state`, `reports` | what the driver sends to tasks, and what they report |
//! | `stage`, `distributor`, `task_numbers` | input and output of a stage |
//! | `closing_store` | files of attempts that run on after the commit |
//! | `sent_keys`, `received_keys` | record keys with their places, sent to the slots of the keys |
//! | `split_stage` | rows and keys sent to their slots |
//! | `packing` | tasks that one process runs one after the other |
//! | `own_mark` | the open mark of what is under way |
//! | `table_work` | work on a table as it is |
//! | `task_runner` | the engine, for services that do all of their work in one call, and those after a write |

mod chunk;
mod closing_store;
mod distributor;
mod own_mark;
mod packing;
mod received_keys;
mod reports;
mod sent_keys;
pub(crate) mod sent_rows;
mod slots;
mod specs;
mod split_stage;
mod stage;
mod state;
mod table_work;
mod task_numbers;
mod task_runner;

pub(crate) use chunk::{Chunk, ChunkKind, encoded, of_batch as chunks_of_batch, to_batch as chunks_to_batch};
pub(crate) use closing_store::ClosingStore;
pub(crate) use distributor::{Address, Distributor, taken};
pub(crate) use own_mark::mark_of;
pub(crate) use packing::{bin_count, bins_of, tasks_by_cost};
pub(crate) use received_keys::Received;
pub(crate) use reports::{
    ClassCount, GroupCount, IndexFileReport, IndexPartReport, KeysReport, PartReport, PlacedReport, PreparedReport,
    ReadReport, TaggedReport, WrittenReport,
};
pub(crate) use sent_keys::{KeySender, SentPlace, SlotRule, receive_keys};
pub(crate) use sent_rows::SentRows;
pub(crate) use slots::{KeyHasher, RowSum, numbers_for_partitions};
pub(crate) use specs::{
    CompareKeysSpec, IndexPart, IndexPartsSpec, InsertSpec, PrepareSpec, ReadIndexKeysSpec, ReadKeysSpec,
    ReadPlacesSpec, ReadRowsSpec, RouteSpec, ServiceParts, ServiceSpec, Slots, SourceRoutes, StageSpec, TagBy, TagSpec,
    TaskSpec, WriteIndexSpec, WriteSpec,
};
pub(crate) use split_stage::{SlotAddresses, SplitStage};
pub(crate) use stage::{Chunks, Output, StageStep};
pub use stage::{Input, StageBatches, TaskAttempt};
pub(crate) use state::{OpenWrite, Work, WriteState, work_of};
pub(crate) use table_work::{TableStage, TableWork};
pub(crate) use task_numbers::AssignedSlices;
pub use task_runner::{Exchange, TaskRunner};
