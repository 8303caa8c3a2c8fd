//! Rules of the upkeep of the metadata table, by commits that are put together by hand: readers find of each what its
//! files say.
//!
//! | file | rules of |
//! |---|---|
//! | `by_hand` | the commits |
//! | `key_rules` | the record index |
//! | `delta_commits` | the delta commit: its files, their order, and what it is refused for |
//! | `roll_backs` | a rollback, wherever the write and the rollback were stopped |
//! | `late_writers` | writers that go on after they were rolled back, and what they leave |
//! | `undoable` | which instants can be undone, and which are in base files |
//! | `defects` | what makes a metadata table one that cannot be maintained |
//! | `changes` | which partitions there are after a write, as options say |
//! | `listings` | records that are built from a listing |
//! | `cleans` | a clean, and one that is repeated |

pub(super) mod by_hand;
mod changes;
mod cleans;
mod defects;
mod delta_commits;
mod key_rules;
mod late_writers;
mod listings;
mod roll_backs;
mod undoable;
