//! The open mark of a write or a service whose files tasks add.

use std::sync::Arc;

use mortice_commit::commit::OpenMark;
use mortice_services::transaction::Transaction;

pub(crate) fn mark_of(transaction: &Transaction) -> OpenMark {
    OpenMark::new(Arc::clone(transaction.store()), transaction.instant())
}
