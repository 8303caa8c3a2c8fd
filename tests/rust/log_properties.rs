//! Framing compared with a slow, simple reader of the format's description: log files of the crate's writer, damaged at
//! random, have the same blocks, forwards and backwards, mapped and in windows, in memory bounded by the file.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use mortice::avro::Schema;
use mortice::log::writer::{
    BlockBytes, BlockHeader, DeleteColumns, PartitionPath, avro_blocks, delete_block, rollback_block,
};
use mortice::log::{Block, DamageEffect, ForwardScan, Header, backward};
use mortice::storage::{FileSource, MemoryFile};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::allocations::peak_of;

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

/// A block, as the description tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundBlocks {
    kind: String,
    verdict: Option<DamageEffect>,
    place: Range<usize>,
    content: Range<usize>,
    header: Entries,
    footer: Entries,
}

type Entries = Vec<(i32, String)>;

impl FoundBlocks {
    fn corrupt(verdict: DamageEffect, place: Range<usize>, content: Range<usize>) -> Self {
        let (header, footer) = (Vec::new(), Vec::new());
        Self { kind: "CORRUPT_BLOCK".to_owned(), verdict: Some(verdict), place, content, header, footer }
    }
}

/// The blocks of a file, or none where it is no log file.
fn reference(file: &[u8]) -> Option<Vec<FoundBlocks>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while file.len() - at >= 6 {
        let found = if &file[at..at + 6] != MAGIC {
            // Only the first bytes can be foreign: elsewhere a block ends before a magic, or at the end.
            let end = next_magic(file, at)?;
            FoundBlocks::corrupt(DamageEffect::Lost, at..end, at..end)
        } else if let Some(end) = frame(file, at) {
            inside(file, at, end).unwrap_or_else(|verdict| FoundBlocks::corrupt(verdict, at..end, at + 6..end))
        } else {
            let end = next_magic(file, at + 6).unwrap_or(file.len());
            FoundBlocks::corrupt(DamageEffect::Skipped, at..end, at + 6..end)
        };
        at = found.place.end;
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

/// The fields of a framed block, or what it means that they do not fill the frame, or are of a format that is never
/// written.
fn inside(file: &[u8], at: usize, end: usize) -> Result<FoundBlocks, DamageEffect> {
    // The least block has no header, content or footer entries.
    if end - at < 46 {
        return Err(DamageEffect::Lost);
    }
    let block = &file[..end - 8];
    let int = |at| number(block, at).map(i32::from_be_bytes).ok_or(DamageEffect::Lost);
    let (version, kind) = (int(at + 14)?, int(at + 18)?);
    if version != 1 || kind == 2 {
        return Err(DamageEffect::Foreign);
    }
    let fields = || {
        let (header, length_at) = map(block, at + 22)?;
        let content_at = length_at + 8;
        let length = u64::from_be_bytes(number(block, length_at)?) as u32 as usize;
        let content = content_at..content_at.checked_add(length)?;
        let (footer, footer_end) = map(block, content.end)?;
        (footer_end == end - 8).then_some((header, content, footer))
    };
    let (header, content, footer) = fields().ok_or(DamageEffect::Lost)?;
    let name = usize::try_from(kind).ok().and_then(|kind| NAMES.get(kind)).map(|name| (*name).to_owned());
    let kind = name.unwrap_or(format!("UNKNOWN_{kind}"));
    Ok(FoundBlocks { kind, verdict: None, place: at..end, content, header, footer })
}

fn map(block: &[u8], at: usize) -> Option<(Entries, usize)> {
    let count = u32::try_from(i32::from_be_bytes(number(block, at)?)).ok()?;
    let mut at = at + 4;
    let mut entries = Vec::new();
    for _ in 0..count {
        let key = i32::from_be_bytes(number(block, at)?);
        let len = usize::try_from(i32::from_be_bytes(number(block, at + 4)?)).ok()?;
        let value = block.get(at + 8..(at + 8).checked_add(len)?)?;
        entries.push((key, String::from_utf8_lossy(value).into_owned()));
        at += 8 + len;
    }
    Some((entries, at))
}

/// A file that is fetched, not mapped: each range is a copy.
struct CopyingSource(MemoryFile);

impl FileSource for CopyingSource {
    fn path(&self) -> &str {
        self.0.path()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn window(&self) -> Option<u64> {
        self.0.window()
    }

    fn read(&self, range: Range<u64>) -> mortice::Result<Bytes> {
        self.0.read(range).map(|bytes| Bytes::copy_from_slice(&bytes))
    }
}

/// Mapped where the window is 0.
fn source(file: &[u8], window: u64) -> Arc<dyn FileSource> {
    let file = MemoryFile::new("memory", file.to_vec()).by_windows(window);
    if window == 0 { Arc::new(file) } else { Arc::new(CopyingSource(file)) }
}

fn found(blocks: impl Iterator<Item = mortice::Result<Block>>) -> Option<Vec<FoundBlocks>> {
    let place = |range: Range<u64>| usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
    let entries =
        |map: &Header| map.keys().zip(map.named()).map(|(key, (_, value))| (key, value.into_owned())).collect();
    blocks
        .map(|block| {
            let block = block.ok()?;
            Some(FoundBlocks {
                kind: block.type_name().into_owned(),
                verdict: block.damage().map(|damage| damage.verdict),
                place: place(block.offset..block.end),
                content: place(block.content.clone()),
                header: entries(&block.header),
                footer: entries(&block.footer),
            })
        })
        .collect()
}

/// Of our writer: data, deletes or a rollback. Keys may hold the magic.
fn written() -> impl Strategy<Value = Vec<u8>> {
    let key = prop_oneof![4 => "[a-z]{0,6}", 1 => Just("x#HUDI#y".to_owned())];
    let rows = prop::collection::vec((key, any::<i64>()), 0..5);
    (0..3_u8, rows, "2024010[1-9]00000000[0-9]").prop_map(|(kind, rows, instant)| {
        let header = BlockHeader::new(&instant.parse().unwrap());
        let keys: ArrayRef = Arc::new(rows.iter().map(|(key, _)| Some(key.as_str())).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(rows.iter().map(|(_, number)| *number).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("k", keys), ("n", numbers)]).unwrap();
        let schema = batch.schema();
        let mut batches = std::iter::once(Ok(batch));
        let block: BlockBytes = match kind {
            0 => rollback_block(&instant.parse().unwrap(), &"20240101000000000".parse().unwrap()).unwrap(),
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
        };
        block.bytes().to_vec()
    })
}

/// What our writer does not write: every type, known or not, any header, any footer, any content, garbage above the
/// size's and the content length's low halves.
fn any_block() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![8 => 0..7_i32, 1 => 7..9_i32, 1 => Just(-1)];
    let key = prop_oneof![6 => 0..9_i32, 1 => any::<i32>()];
    let value = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..12),
        1 => Just(MAGIC.to_vec()),
        1 => prop::collection::vec(any::<u8>(), 600..700),
    ];
    let entries = |most| prop::collection::vec((key.clone(), value.clone()), 0..most);
    let upper = prop_oneof![4 => Just(0_u32), 1 => any::<u32>()];
    (kind, entries(4), value.clone(), prop_oneof![4 => Just(Vec::new()), 1 => entries(2)], upper.clone(), upper)
        .prop_map(|(kind, header, content, footer, above_size, above_length)| {
            raw_block(kind, &header, &content, &footer, [above_size, above_length])
        })
}

fn raw_block(
    kind: i32,
    header: &[(i32, Vec<u8>)],
    content: &[u8],
    footer: &[(i32, Vec<u8>)],
    [above_size, above_length]: [u32; 2],
) -> Vec<u8> {
    let map = |entries: &[(i32, Vec<u8>)]| {
        let mut bytes = u32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        for (key, value) in entries {
            bytes.extend(key.to_be_bytes());
            bytes.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
            bytes.extend(value);
        }
        bytes
    };
    let mut inside = [1_i32.to_be_bytes(), kind.to_be_bytes()].concat();
    inside.extend(map(header));
    inside.extend((u64::from(above_length) << 32 | content.len() as u64).to_be_bytes());
    inside.extend(content);
    inside.extend(map(footer));
    let size = inside.len() as u64 + 8;
    [MAGIC, &(u64::from(above_size) << 32 | size).to_be_bytes(), &inside, &(size + 6).to_be_bytes()].concat()
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![written(), any_block()]
}

#[derive(Debug, Clone)]
enum LogDamage {
    Set(Index, u8),
    Cut(Index),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    /// A stretch once more, elsewhere.
    Copy(Index, usize, Index),
    /// Two stretches, each in the other's place.
    Swap(Index, Index, usize),
    Int(Index, i32),
    /// The upper half of a block's size, which readers pass over.
    SizeBits(Index, u8),
    /// A field at a known place of some block: (which block, offset in it, value).
    Field(Index, usize, i32),
    /// The last int of some block's trailing length: (which block, what is added).
    Trailing(Index, i8),
}

fn damage() -> impl Strategy<Value = LogDamage> {
    let junk = prop_oneof![prop::collection::vec(any::<u8>(), 1..20), Just(MAGIC.to_vec()), Just(MAGIC[..4].to_vec())];
    let int = prop_oneof![-40_i32..400, Just(i32::MAX), Just(i32::MIN), any::<i32>()];
    // Size (low half), version, type, header count, first key, first length.
    let place = prop::sample::select(vec![10_usize, 14, 18, 22, 26, 30]);
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| LogDamage::Set(at, byte)),
        any::<Index>().prop_map(LogDamage::Cut),
        (any::<Index>(), junk).prop_map(|(at, junk)| LogDamage::Insert(at, junk)),
        (any::<Index>(), 1..60_usize).prop_map(|(at, len)| LogDamage::Remove(at, len)),
        (any::<Index>(), 1..200_usize, any::<Index>()).prop_map(|(from, len, to)| LogDamage::Copy(from, len, to)),
        (any::<Index>(), any::<Index>(), 1..60_usize).prop_map(|(one, other, len)| LogDamage::Swap(one, other, len)),
        (any::<Index>(), int.clone()).prop_map(|(at, value)| LogDamage::Int(at, value)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, bits)| LogDamage::SizeBits(at, bits)),
        (any::<Index>(), place, int).prop_map(|(block, at, value)| LogDamage::Field(block, at, value)),
        (any::<Index>(), any::<i8>()).prop_map(|(block, add)| LogDamage::Trailing(block, add)),
    ]
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file.iter_mut().skip(at).zip(bytes).for_each(|(old, new)| *old = *new);
}

fn damaged(mut file: Vec<u8>, damages: &[LogDamage]) -> Vec<u8> {
    for damage in damages {
        let starts: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(MAGIC)).collect();
        if file.is_empty() || starts.is_empty() {
            break;
        }
        let len = file.len();
        match damage {
            LogDamage::Set(at, byte) => file[at.index(len)] = *byte,
            LogDamage::Cut(at) => file.truncate(at.index(len)),
            LogDamage::Insert(at, junk) => {
                let at = at.index(len + 1);
                file.splice(at..at, junk.iter().copied());
            }
            LogDamage::Remove(at, count) => {
                let at = at.index(len);
                file.drain(at..(at + count).min(len));
            }
            LogDamage::Copy(from, count, to) => {
                let from = from.index(len);
                let again = file[from..(from + count).min(len)].to_vec();
                let to = to.index(len + 1);
                file.splice(to..to, again);
            }
            LogDamage::Swap(one, other, count) => {
                let (one, other) = (one.index(len), other.index(len));
                let count = (*count).min(len - one.max(other)).min(one.abs_diff(other));
                (0..count).for_each(|at| file.swap(one + at, other + at));
            }
            LogDamage::Int(at, value) => put(&mut file, at.index(len), &value.to_be_bytes()),
            LogDamage::SizeBits(block, bits) => {
                let at = starts[block.index(starts.len())] + 6;
                put(&mut file, at, &[*bits]);
            }
            LogDamage::Field(block, at, value) => {
                let at = starts[block.index(starts.len())] + at;
                put(&mut file, at, &value.to_be_bytes());
            }
            LogDamage::Trailing(block, add) => {
                let block = block.index(starts.len());
                let end = starts.get(block + 1).copied().unwrap_or(len);
                let last = file[end - 1];
                file[end - 1] = last.wrapping_add_signed(*add);
            }
        }
    }
    file
}

fn agrees(file: &[u8]) -> Result<(), TestCaseError> {
    let expected = reference(file);
    for window in [0, 16, 1 << 16] {
        prop_assert_eq!(&found(ForwardScan::new(source(file, window))), &expected, "window {}", window);
        let mut reversed = found(backward(source(file, window)));
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
        let file = blocks.concat();
        if damages.is_empty() {
            prop_assert_eq!(reference(&file).unwrap().len(), blocks.len());
        }
        agrees(&damaged(file, &damages))?;
    }

    /// For all lengths that a file claims, framing takes no more memory than the file itself and a constant. In windows
    /// there are two at a time, the old and the new. Backwards, a damaged file's blocks are held until the first is
    /// known.
    #[test]
    fn memory_is_bounded_by_the_file(
        blocks in prop::collection::vec(block(), 1..6),
        damages in prop::collection::vec(damage(), 0..4),
    ) {
        let file = damaged(blocks.concat(), &damages);
        let most = file.len() + 32 * 1024;
        for (window, most) in [(0, most), (1 << 16, 2 * file.len() + most)] {
            let source = source(&file, window);
            let mut count = 0;
            let ((), forward) = peak_of(|| count = ForwardScan::new(Arc::clone(&source)).map(drop).count());
            prop_assert!(forward <= most, "{forward} bytes for a file of {}", file.len());
            let ((), reverse) = peak_of(|| backward(source).for_each(drop));
            prop_assert!(reverse <= most + 1024 * count, "{reverse} bytes for a file of {}", file.len());
        }
    }
}

/// Trailing lengths that lead somewhere by chance must not be believed: junk that ends like a block.
#[test]
fn a_trailing_length_that_leads_to_a_magic_by_chance() {
    let block = rollback_block(&"20240102000000000".parse().unwrap(), &"20240101000000000".parse().unwrap()).unwrap();
    let inner = block.bytes();
    let mut file = inner.to_vec();
    file.extend(b"junk between");
    file.extend(inner);
    agrees(&file).unwrap();
    file.extend(b"tail");
    agrees(&file).unwrap();
}

/// Each length of a block, one by one, claims the most it can.
#[test]
fn lengths_that_lie_take_no_memory() {
    let sound = raw_block(3, &[(0, b"001".to_vec())], b"content", &[], [0, 0]);
    for at in [6, 10, 22, 30, 37, 41, sound.len() - 12, sound.len() - 8, sound.len() - 4] {
        for claim in [i32::MAX, i32::MIN, -1, 1 << 30] {
            let mut file = sound.clone();
            put(&mut file, at, &claim.to_be_bytes());
            agrees(&file).unwrap();
            for window in [0, 1 << 16] {
                let source = source(&file, window);
                let ((), held) = peak_of(|| ForwardScan::new(source).for_each(drop));
                assert!(held <= 16 * 1024, "{held} bytes for {claim} at {at}");
            }
        }
    }
}

/// Framing looks at what stands around a content, not at the content: that of a sound file is never fetched.
#[test]
fn contents_are_not_fetched() {
    let large = raw_block(3, &[(0, b"001".to_vec())], &vec![7; 8 << 20], &[], [0, 0]);
    let file = [large.clone(), raw_block(1, &[], b"", &[], [0, 0]), large].concat();
    for backwards in [false, true] {
        let source = source(&file, 1 << 16);
        let blocks = || if backwards { backward(source) } else { Box::new(ForwardScan::new(source)) };
        let ((), held) = peak_of(|| assert_eq!(blocks().filter(Result::is_ok).count(), 3));
        assert!(held <= 512 * 1024, "{held} bytes");
    }
}
