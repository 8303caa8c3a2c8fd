//! Writes HFiles for the tests, like either writer and with any number of index levels. It is independent of the
//! reader.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Keys and values, sorted by key.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// The format of a file.
#[derive(Debug, Clone)]
pub struct HFileForm {
    pub gz: bool,
    /// HBase's keys (with made-up midpoints), checksums, minor version 3; otherwise Hudi's.
    pub hbase: bool,
    /// Cells of a data block.
    pub cells: usize,
    /// Entries of an index block; if the root would have more, another level is inserted.
    pub index_entries: usize,
    /// Whether each cell ends in a sequence number. HBase can leave them out.
    pub sequence: bool,
    /// The cells and the file info of builds of Hudi 1.1: keys end with their rows, and sequence numbers are written
    /// that the file info does not have.
    pub short_keys: bool,
    /// The difference between the trailer's number of entries and the actual number.
    pub more_entries: i64,
    /// The Avro schema of the values, as JSON.
    pub schema: &'static str,
}

impl Default for HFileForm {
    fn default() -> Self {
        Self {
            gz: false,
            hbase: false,
            cells: 4,
            index_entries: usize::MAX,
            sequence: true,
            short_keys: false,
            more_entries: 0,
            schema: "\"bytes\"",
        }
    }
}

/// Bytes in the making, and what the trailer is to say of them.
struct File<'a> {
    form: &'a HFileForm,
    bytes: Vec<u8>,
}

#[derive(Clone)]
struct BlockExtent {
    offset: usize,
    len: usize,
    key: Vec<u8>,
}

/// The bytes of an HFile with these entries.
pub fn hfile(entries: &[(Vec<u8>, Vec<u8>)], form: &HFileForm) -> Vec<u8> {
    let mut file = File { form, bytes: Vec::new() };
    let (mut leaves, mut leaf) = (Vec::new(), Vec::new());
    let blocks = entries.chunks(form.cells).count();
    let deep = blocks > form.index_entries;
    let (mut first, mut last) = (None, None);
    let mut before: Option<&[u8]> = None;
    for cells in entries.chunks(form.cells) {
        let key = file.index_key(before, &cells[0].0);
        let payload: Vec<u8> = cells.iter().flat_map(|(key, value)| file.cell(key, value)).collect();
        let place = file.block(b"DATABLK*", &payload, key);
        first.get_or_insert(place.offset);
        last = Some(place.offset);
        leaf.push(place);
        before = cells.last().map(|(key, _)| key.as_slice());
        if deep && leaf.len() == form.index_entries {
            leaves.push(file.index_block(b"IDXLEAF2", &std::mem::take(&mut leaf)));
        }
    }
    let mut levels = 1;
    let mut top = leaf;
    if deep {
        if !top.is_empty() {
            leaves.push(file.index_block(b"IDXLEAF2", &top));
        }
        (top, levels) = (leaves, 2);
        while top.len() > form.index_entries {
            top = top.chunks(form.index_entries).map(|chunk| file.index_block(b"IDXINTE2", chunk)).collect();
            levels += 1;
        }
    }
    file.finish(&top, levels, first, last, entries.len())
}

impl File<'_> {
    fn index_key(&self, before: Option<&[u8]>, first: &[u8]) -> Vec<u8> {
        if !self.form.hbase {
            return short_key(first);
        }
        // The shortest row that tells the two apart, as HBase has it: the first key's own, cut where it differs.
        let row = match before {
            Some(before) => {
                let same = before.iter().zip(first).take_while(|(a, b)| a == b).count();
                &first[..(same + 1).min(first.len())]
            }
            None => first,
        };
        full_key(row, if before.is_some() { 0xff } else { 4 })
    }

    fn cell(&self, row: &[u8], value: &[u8]) -> Vec<u8> {
        let key = if self.form.short_keys { short_key(row) } else { full_key(row, 4) };
        let mut cell = (key.len() as u32).to_be_bytes().to_vec();
        cell.extend((value.len() as u32).to_be_bytes());
        cell.extend(key);
        cell.extend(value);
        cell.extend(self.form.sequence.then_some(0));
        cell
    }

    fn block(&mut self, magic: &[u8; 8], payload: &[u8], key: Vec<u8>) -> BlockExtent {
        let offset = self.bytes.len();
        let packed = if self.form.gz { gz(payload) } else { payload.to_vec() };
        let with_header = packed.len() + 33;
        let checksums = if self.form.hbase { 4 * with_header.div_ceil(16_384) } else { 0 };
        self.bytes.extend(magic);
        self.bytes.extend(((packed.len() + checksums) as u32).to_be_bytes());
        self.bytes.extend((payload.len() as u32).to_be_bytes());
        self.bytes.extend((-1_i64).to_be_bytes());
        self.bytes.push(if self.form.hbase { 2 } else { 0 });
        self.bytes.extend(16_384_u32.to_be_bytes());
        self.bytes.extend((with_header as u32).to_be_bytes());
        self.bytes.extend(packed);
        self.bytes.resize(self.bytes.len() + checksums, 0xcc);
        BlockExtent { offset, len: self.bytes.len() - offset, key }
    }

    fn index_block(&mut self, magic: &[u8; 8], places: &[BlockExtent]) -> BlockExtent {
        let mut payload = (places.len() as u32).to_be_bytes().to_vec();
        let entries: Vec<Vec<u8>> = places.iter().map(|place| [extent(place), place.key.clone()].concat()).collect();
        let mut at = 0_u32;
        payload.extend(at.to_be_bytes());
        for entry in &entries {
            at += entry.len() as u32;
            payload.extend(at.to_be_bytes());
        }
        payload.extend(entries.concat());
        self.block(magic, &payload, places[0].key.clone())
    }

    fn finish(
        mut self,
        root: &[BlockExtent],
        levels: u64,
        first: Option<usize>,
        last: Option<usize>,
        count: usize,
    ) -> Vec<u8> {
        let load_on_open = self.bytes.len();
        let mut payload: Vec<u8> =
            root.iter().flat_map(|place| [extent(place), vint(place.key.len()), place.key.clone()].concat()).collect();
        if levels > 1 {
            payload.extend([0; 16]);
        }
        self.block(b"IDXROOT2", &payload, Vec::new());
        self.block(b"IDXROOT2", &[], Vec::new());
        let mut info = Vec::new();
        let version = u32::from(self.form.sequence).to_be_bytes();
        let schema = self.form.schema.as_bytes();
        let version = (!self.form.short_keys).then_some(("KEY_VALUE_VERSION", &version[..]));
        let others = [("MAX_MEMSTORE_TS_KEY", &[0; 8][..]), ("schema", schema)];
        for (key, value) in version.into_iter().chain(others) {
            let pair = [delimited(1, key.as_bytes()), delimited(2, value)].concat();
            info.extend(delimited(1, &pair));
        }
        let file_info = self.bytes.len();
        self.block(b"FILEINF2", &[b"PBUF".to_vec(), uvarint(info.len() as u64), info].concat(), Vec::new());
        let offset = |at: Option<usize>, none: u64| at.map_or(none, |at| at as u64);
        let entry_count = (count as i64 + self.form.more_entries) as u64;
        let mut message = Vec::new();
        for (field, value) in [
            (1, file_info as u64),
            (2, load_on_open as u64),
            (5, root.len() as u64),
            (7, entry_count),
            (8, levels),
            (9, offset(first, u64::MAX)),
            (10, offset(last, 0)),
            (12, if self.form.gz { 1 } else { 2 }),
        ] {
            message.extend([uvarint(field << 3), uvarint(value)].concat());
        }
        let mut trailer = [b"TRABLK\"$".to_vec(), uvarint(message.len() as u64), message].concat();
        trailer.resize(4092, 0);
        trailer.extend([if self.form.hbase { 3 } else { 0 }, 0, 0, 3]);
        self.bytes.extend(trailer);
        self.bytes
    }
}

fn short_key(row: &[u8]) -> Vec<u8> {
    [&(row.len() as u16).to_be_bytes()[..], row].concat()
}

fn full_key(row: &[u8], kind: u8) -> Vec<u8> {
    let mut key = short_key(row);
    key.push(0);
    key.extend(i64::MAX.to_be_bytes());
    key.push(kind);
    key
}

fn extent(place: &BlockExtent) -> Vec<u8> {
    [&(place.offset as u64).to_be_bytes()[..], &(place.len as u32).to_be_bytes()].concat()
}

/// Hadoop's number of variable length.
fn vint(number: usize) -> Vec<u8> {
    if number < 128 {
        return vec![number as u8];
    }
    let bytes: Vec<u8> = (number as u64).to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    [vec![(-112 - bytes.len() as i8) as u8], bytes].concat()
}

fn uvarint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn delimited(field: u64, bytes: &[u8]) -> Vec<u8> {
    [uvarint(field << 3 | 2), uvarint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
