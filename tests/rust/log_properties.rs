//! Framing against a slow, obvious reader of the format's description: log files of our own writer, damaged at random, come
//! apart into the same blocks, forwards and backwards, mapped and by windows, in memory bounded by the file.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, clippy::indexing_slicing, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use mortice::avro::Schema;
use mortice::log::writer::{
    BlockBytes, BlockHeader, DeleteColumns, PartitionPath, avro_blocks, delete_block, rollback_block,
};
use mortice::log::{Block, Forward, backward};
use mortice::storage::Source;
use proptest::prelude::*;
use proptest::sample::Index;

const MAGIC: &[u8] = b"#HUDI#";
const NAMES: [&str; 7] = [
    "COMMAND_BLOCK",
    "DELETE_BLOCK",
    "CORRUPT_BLOCK",
    "AVRO_DATA_BLOCK",
    "HFILE_DATA_BLOCK",
    "PARQUET_DATA_BLOCK",
    "CDC_DATA_BLOCK",
];

/// What this thread has allocated now, and at most.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's own promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's own promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Type, begin, end, content.
type Found = (String, usize, usize, Range<usize>);

/// The blocks of a file, or none where it is no log file.
fn reference(file: &[u8]) -> Option<Vec<Found>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while file.len() - at >= 6 {
        if &file[at..at + 6] != MAGIC {
            // Only the first bytes can be foreign: elsewhere a block ends before a magic, or at the end.
            let end = next_magic(file, at)?;
            blocks.push(("CORRUPT_BLOCK".to_owned(), at, end, at..end));
            at = end;
            continue;
        }
        let found = match frame(file, at) {
            Some(end) => inside(file, at, end).unwrap_or(("CORRUPT_BLOCK".to_owned(), at, end, at + 6..end)),
            None => {
                let end = next_magic(file, at + 6).unwrap_or(file.len());
                ("CORRUPT_BLOCK".to_owned(), at, end, at + 6..end)
            }
        };
        at = found.2;
        blocks.push(found);
    }
    Some(blocks)
}

fn next_magic(file: &[u8], from: usize) -> Option<usize> {
    (from..file.len()).find(|at| file[*at..].starts_with(MAGIC))
}

fn number<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Where the block that begins at `at` ends, if size, trailing length and what follows agree.
fn frame(file: &[u8], at: usize) -> Option<usize> {
    let size_at = at + 6;
    // Readers use the low 32 bits.
    let size = i64::from_be_bytes(number(file, size_at)?) as i32;
    let trailing_at = usize::try_from(i64::try_from(size_at).ok()? + i64::from(size)).ok()?;
    let trailing = i64::from_be_bytes(number(file, trailing_at)?);
    if trailing.checked_sub(6)? != i64::from(size) {
        return None;
    }
    let end = trailing_at + 8;
    let follows = file.get(end..end + 6);
    (follows.is_none() || follows == Some(MAGIC)).then_some(end)
}

/// The fields of a framed block; none where they do not fill the frame, or are of a format that is never written.
fn inside(file: &[u8], at: usize, end: usize) -> Option<Found> {
    let block = &file[..end - 8];
    let version = i32::from_be_bytes(number(block, at + 14)?);
    let kind = i32::from_be_bytes(number(block, at + 18)?);
    if version != 1 || kind == 2 {
        return None;
    }
    let length_at = skip_map(block, at + 22)?;
    let content_at = length_at + 8;
    let length = u64::from_be_bytes(number(block, length_at)?) as u32 as usize;
    let content = content_at..content_at.checked_add(length)?;
    if skip_map(block, content.end)? != end - 8 {
        return None;
    }
    let name = usize::try_from(kind).ok().and_then(|kind| NAMES.get(kind)).map(|name| (*name).to_owned());
    Some((name.unwrap_or(format!("UNKNOWN_{kind}")), at, end, content))
}

fn skip_map(block: &[u8], at: usize) -> Option<usize> {
    let entries = i32::from_be_bytes(number(block, at)?);
    let mut at = at + 4;
    for _ in 0..u32::try_from(entries).ok()? {
        let len = usize::try_from(i32::from_be_bytes(number(block, at + 4)?)).ok()?;
        at = at.checked_add(8 + len)?;
        block.get(..at)?;
    }
    Some(at)
}

struct Memory {
    bytes: Bytes,
    window: u64,
}

impl Source for Memory {
    fn path(&self) -> &'static str {
        "memory"
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn read(&self, range: Range<u64>) -> mortice::Result<Bytes> {
        Ok(self.bytes.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()))
    }
}

fn found(blocks: impl Iterator<Item = mortice::Result<Block>>) -> Option<Vec<Found>> {
    let place = |at: u64| usize::try_from(at).unwrap();
    blocks
        .map(|block| {
            let block = block.ok()?;
            let content = place(block.content.start)..place(block.content.end);
            Some((block.type_name().into_owned(), place(block.offset), place(block.end), content))
        })
        .collect()
}

/// Data, deletes or a rollback. Keys may hold the magic.
fn block() -> impl Strategy<Value = BlockBytes> {
    let key = prop_oneof![4 => "[a-z]{0,6}", 1 => Just("x#HUDI#y".to_owned())];
    let rows = prop::collection::vec((key, any::<i64>()), 0..5);
    (0..3_u8, rows, "2024010[1-9]00000000[0-9]").prop_map(|(kind, rows, instant)| {
        let header = BlockHeader::new(&instant).unwrap();
        let keys: ArrayRef = Arc::new(rows.iter().map(|(key, _)| Some(key.as_str())).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(rows.iter().map(|(_, number)| *number).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("k", keys), ("n", numbers)]).unwrap();
        let schema = batch.schema();
        let mut batches = std::iter::once(Ok(batch));
        match kind {
            0 => rollback_block(&instant, "20240101000000000").unwrap(),
            1 => {
                let partition_path = PartitionPath::Constant("p".to_owned());
                let columns =
                    DeleteColumns { record_key: "k".to_owned(), partition_path, ordering: vec!["n".to_owned()] };
                delete_block(&schema, &mut batches, &columns, &header).unwrap()
            }
            _ => {
                let text = r#"{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"n","type":["null","long"]}]}"#;
                let avro = Schema::parse(text).unwrap();
                avro_blocks(&schema, &mut batches, &avro, &header, 1 << 20).unwrap().remove(0)
            }
        }
    })
}

#[derive(Debug, Clone)]
enum Damage {
    Set(Index, u8),
    Cut(Index),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Twice(Index, usize),
    Int(Index, i32),
    /// The upper half of a block's size, which readers pass over.
    SizeBits(Index, u8),
    /// A field at a known place of some block: (which block, offset in it, value).
    Field(Index, usize, i32),
}

fn damage() -> impl Strategy<Value = Damage> {
    let junk = prop_oneof![prop::collection::vec(any::<u8>(), 1..20), Just(MAGIC.to_vec()), Just(MAGIC[..4].to_vec())];
    let int = prop_oneof![-40_i32..400, Just(i32::MAX), Just(i32::MIN), any::<i32>()];
    // Size (low half), version, type, header count, first key, first length.
    let place = prop::sample::select(vec![10_usize, 14, 18, 22, 26, 30]);
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        any::<Index>().prop_map(Damage::Cut),
        (any::<Index>(), junk).prop_map(|(at, junk)| Damage::Insert(at, junk)),
        (any::<Index>(), 1..60_usize).prop_map(|(at, len)| Damage::Remove(at, len)),
        (any::<Index>(), 1..60_usize).prop_map(|(at, len)| Damage::Twice(at, len)),
        (any::<Index>(), int.clone()).prop_map(|(at, value)| Damage::Int(at, value)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, bits)| Damage::SizeBits(at, bits)),
        (any::<Index>(), place, int).prop_map(|(block, at, value)| Damage::Field(block, at, value)),
    ]
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file.iter_mut().skip(at).zip(bytes).for_each(|(old, new)| *old = *new);
}

fn damaged(mut file: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let starts: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(MAGIC)).collect();
        if file.is_empty() || starts.is_empty() {
            break;
        }
        let len = file.len();
        match damage {
            Damage::Set(at, byte) => file[at.index(len)] = *byte,
            Damage::Cut(at) => file.truncate(at.index(len)),
            Damage::Insert(at, junk) => {
                let at = at.index(len + 1);
                file.splice(at..at, junk.iter().copied());
            }
            Damage::Remove(at, count) => {
                let at = at.index(len);
                file.drain(at..(at + count).min(len));
            }
            Damage::Twice(at, count) => {
                let at = at.index(len);
                let again = file[at..(at + count).min(len)].to_vec();
                file.splice(at..at, again);
            }
            Damage::Int(at, value) => put(&mut file, at.index(len), &value.to_be_bytes()),
            Damage::SizeBits(block, bits) => {
                let at = starts[block.index(starts.len())] + 6;
                put(&mut file, at, &[*bits]);
            }
            Damage::Field(block, at, value) => {
                let at = starts[block.index(starts.len())] + at;
                put(&mut file, at, &value.to_be_bytes());
            }
        }
    }
    file
}

fn agrees(file: &[u8]) -> Result<(), TestCaseError> {
    let expected = reference(file);
    let source = |window| Arc::new(Memory { bytes: Bytes::copy_from_slice(file), window }) as Arc<dyn Source>;
    for window in [0, 16, 1 << 16] {
        prop_assert_eq!(&found(Forward::new(source(window))), &expected, "window {}", window);
        let mut reversed = found(backward(source(window)));
        reversed.iter_mut().for_each(|blocks| blocks.reverse());
        prop_assert_eq!(&reversed, &expected, "backwards, window {}", window);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_come_apart_as_the_description_says(
        blocks in prop::collection::vec(block(), 0..6),
        damages in prop::collection::vec(damage(), 0..4),
    ) {
        let file: Vec<u8> = blocks.iter().flat_map(|block| block.bytes().to_vec()).collect();
        if damages.is_empty() {
            prop_assert_eq!(reference(&file).unwrap().len(), blocks.len());
        }
        agrees(&damaged(file, &damages))?;
    }

    /// Whatever lengths a file claims, framing it takes no more memory than the file itself and some more.
    #[test]
    fn memory_is_bounded_by_the_file(
        blocks in prop::collection::vec(block(), 1..6),
        damages in prop::collection::vec(damage(), 0..4),
    ) {
        let whole: Vec<u8> = blocks.iter().flat_map(|block| block.bytes().to_vec()).collect();
        let file = damaged(whole, &damages);
        for window in [0, 1 << 16] {
            let source: Arc<dyn Source> = Arc::new(Memory { bytes: Bytes::copy_from_slice(&file), window });
            let before = NOW.get();
            MOST.set(before);
            Forward::new(Arc::clone(&source)).for_each(drop);
            backward(source).for_each(drop);
            let most = usize::try_from(MOST.get() - before).unwrap();
            prop_assert!(most <= 4 * file.len() + 64 * 1024, "{} bytes for a file of {}", most, file.len());
        }
    }
}

/// Trailing lengths that lead somewhere by chance must not be believed: junk that ends like a block.
#[test]
fn a_trailing_length_that_leads_to_a_magic_by_chance() {
    let block = rollback_block("20240102000000000", "20240101000000000").unwrap();
    let inner = block.bytes();
    let mut file = inner.to_vec();
    file.extend(b"junk between");
    file.extend(inner);
    agrees(&file).unwrap();
    file.extend(b"tail");
    agrees(&file).unwrap();
}
