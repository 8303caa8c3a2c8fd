//! The open mark of a write or a service whose files tasks add.

use std::sync::Arc;

use crate::commit::OpenMark;
use crate::transaction::Transaction;

pub(super) fn mark_of(transaction: &Transaction) -> OpenMark {
    OpenMark::new(Arc::clone(transaction.store()), transaction.instant())
}
