//! Threads of a bulk insert: rows pass from one reader to several writers, at most so many batches at a time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::panics::{caught, panicked};
use mortice_storage::CancelToken;

/// Batches that wait for a thread.
const WAITING: usize = 2;

/// Calls `feed`, which passes items to `threads` threads, each of which runs `work` on those that it is passed. Returns the results of
/// the threads in their order.
///
/// # Errors
/// That of `feed`, unless it ended because a thread had: then that of the thread.
pub(super) fn run<T: Send, R: Send>(
    threads: usize,
    work: impl Fn(usize, Items<'_, T>) -> Result<R> + Sync,
    feed: impl FnOnce(&Feeder<T>) -> Result<()>,
) -> Result<Vec<R>> {
    let cancel = CancelToken::child();
    std::thread::scope(|scope| {
        let (mut senders, mut workers) = (Vec::new(), Vec::new());
        for thread in 0..threads.max(1) {
            let (sender, receiver) = sync_channel::<T>(WAITING);
            let (work, cancel) = (&work, &cancel);
            let worker = move || cancel.scope(|| work(thread, Items(&receiver)));
            let started = std::thread::Builder::new().spawn_scoped(scope, worker);
            workers.push(started.map_err(|error| Error::io("starting a thread", error))?);
            senders.push(sender);
        }
        let fed = caught("the reader of a bulk insert", || feed(&Feeder { senders: &senders }));
        if fed.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {
            cancel.cancel();
        }
        drop(senders);
        let mut results = Vec::new();
        let mut failed = None;
        for worker in workers {
            match worker.join() {
                Ok(Ok(result)) => results.push(result),
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(panic) => failed = failed.or_else(|| Some(panicked("a thread of a bulk insert", panic.as_ref()))),
            }
        }
        match (fed, failed) {
            (Ok(()), None) => Ok(results),
            (Err(error), Some(of_thread)) if is_ended(&error) => Err(of_thread),
            (Err(error), _) | (Ok(()), Some(error)) => Err(error),
        }
    })
}

/// Passes items to threads.
pub(super) struct Feeder<'a, T> {
    senders: &'a [SyncSender<T>],
}

/// What a feeder that cannot pass an item on says.
const ENDED: &str = "a thread of a bulk insert has ended";

fn is_ended(error: &Error) -> bool {
    error.kind() == ErrorKind::Internal && error.to_string().contains(ENDED)
}

impl<T> Feeder<'_, T> {
    /// Passes an item to a thread, counted round.
    ///
    /// # Errors
    /// `Internal` if the thread has ended: its error is that of the run.
    pub(super) fn pass(&self, thread: usize, item: T) -> Result<()> {
        let sender = thread.checked_rem(self.senders.len()).and_then(|thread| self.senders.get(thread));
        let sender = sender.ok_or_else(|| Error::internal("no threads"))?;
        sender.send(item).map_err(|_| Error::internal(ENDED))
    }

    /// The thread of a place.
    pub(super) fn thread_of(&self, place: &impl Hash) -> usize {
        let mut hasher = DefaultHasher::new();
        place.hash(&mut hasher);
        usize::try_from(hasher.finish() % (self.senders.len().max(1) as u64)).unwrap_or_default()
    }
}

/// The items that a thread is passed.
pub(super) struct Items<'a, T>(&'a Receiver<T>);

impl<T> Iterator for Items<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_reach_the_threads_they_are_passed_to() {
        let work = |thread: usize, items: Items<'_, usize>| Ok((thread, items.collect::<Vec<_>>()));
        let results = run(2, work, |feeder| (0..6).try_for_each(|item| feeder.pass(item, item))).unwrap();
        assert_eq!(results, [(0, vec![0, 2, 4]), (1, vec![1, 3, 5])]);
    }

    #[test]
    fn the_error_of_a_thread_ends_the_run() {
        let work = |_: usize, mut items: Items<'_, usize>| match items.find(|item| *item == 3) {
            Some(_) => Err(Error::invalid_argument("three")),
            None => Ok(()),
        };
        let error = run(1, work, |feeder| (0..1000).try_for_each(|item| feeder.pass(0, item))).unwrap_err();
        assert!(error.to_string().contains("three"), "{error}");
        let error = run(2, work, |_| Err(Error::not_found("feed"))).unwrap_err();
        assert!(error.to_string().contains("feed"), "{error}");
    }

    #[test]
    fn a_panic_is_an_internal_error() {
        let work = |thread: usize, items: Items<'_, usize>| match thread {
            0 => panic!("worker {thread}"),
            _ => Ok(items.count()),
        };
        let error = run(2, work, |feeder| (0..1000).try_for_each(|item| feeder.pass(item, item))).unwrap_err();
        assert!(error.kind() == ErrorKind::Internal && error.to_string().contains("worker 0"), "{error}");
        let count = |_: usize, items: Items<'_, usize>| Ok(items.count());
        let error = run(2, count, |_| panic!("reader")).unwrap_err();
        assert!(error.kind() == ErrorKind::Internal && error.to_string().contains("reader"), "{error}");
    }
}
