//! Kryo's primitives, classes and references.
//!
//! | | bytes |
//! |---|---|
//! | number | 7 bits a byte, low ones first; the fifth byte of an int, the ninth of a long, is the last |
//! | class | 0 null; 1 by name: the ordinal of a name, followed by the name if it is new; more: 2 + the id of a registered class |
//! | reference | 0 null; 1 a new object, which takes the next ordinal before its fields are read; more: 2 + an object's ordinal |
//! | string | ASCII, the last byte marked by its top bit; or a length, with top bit set, and UTF-16 units of 1 to 3 bytes each |

use std::ops::Range;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// A class, as written before an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Null,
    /// By name, see [`Input::name`].
    Named(u32),
    Registered(u32),
}

/// A reference, as written before an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    Null,
    /// A new object, followed by its value; its ordinal.
    New(usize),
    /// An earlier object, by ordinal.
    Earlier(usize),
}

/// An object that may be referred to later. Large blocks have millions of them: the objects of a delete are identified
/// by its ordinal among the deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Object {
    /// An object that is never referred to, or not completely read.
    Other,
    /// A string, as a range of the arena.
    Text(Range<u32>),
    /// The key of a delete.
    Key(usize),
    /// A whole delete record.
    Record(usize),
    /// The ordering value of a delete, and its class.
    Value(Class, usize),
}

/// The input, and the objects that have been read.
pub(super) struct Input<'a> {
    cursor: Cursor<'a>,
    names: Vec<String>,
    objects: Vec<Object>,
    /// UTF-8 bytes of all strings, each once.
    strings: Vec<u8>,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(bytes), names: Vec::new(), objects: Vec::new(), strings: Vec::new() }
    }

    /// Returns the strings that were read. Fails if there is input left.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        match self.cursor.remaining() {
            0 => Ok(self.strings),
            left => Err(self.fault(format!("expected the end of the deleted keys, found {left} more bytes"))),
        }
    }

    /// Returns an error at the current position.
    pub(super) fn fault(&self, message: impl Into<String>) -> Error {
        Error::corrupt(message).at_offset(self.cursor.position() as u64)
    }

    pub(super) fn unsupported(&self, message: impl Into<String>) -> Error {
        Error::unsupported(message).at_offset(self.cursor.position() as u64)
    }

    pub(super) fn remaining(&self) -> usize {
        self.cursor.remaining()
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.cursor.u8()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.cursor.array()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        self.cursor.take(count)
    }

    /// Reads an int written with `writeInt(value, true)`.
    pub(super) fn uint(&mut self) -> Result<u32> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.fault("invalid variable-length integer: more than 5 bytes"))
    }

    /// Reads a zig-zag int (`writeInt(value, false)`).
    pub(super) fn int(&mut self) -> Result<i32> {
        self.uint().map(|value| (value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads a long written as a positive one: negative ones take nine bytes.
    pub(super) fn ulong(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Ok(value | u64::from(self.byte()?) << 56)
    }

    /// Reads a zig-zag long.
    pub(super) fn long(&mut self) -> Result<i64> {
        self.ulong().map(|value| (value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub(super) fn class(&mut self) -> Result<Class> {
        match self.uint()? {
            0 => Ok(Class::Null),
            1 => self.named_class().map(Class::Named),
            id => Ok(Class::Registered(id - 2)),
        }
    }

    fn named_class(&mut self) -> Result<u32> {
        let ordinal = self.uint()?;
        let known = self.names.len();
        if ordinal as usize == known {
            let Some(place) = self.characters()? else { return Err(self.fault("invalid class: its name is null")) };
            let name = String::from_utf8_lossy(self.text(&place)).into_owned();
            self.strings.truncate(place.start as usize);
            self.names.push(name);
        } else if ordinal as usize > known {
            return Err(self.fault(format!("invalid reference to class name {ordinal}: {known} have been read")));
        }
        Ok(ordinal)
    }

    /// Returns the name of a class, for comparisons and messages.
    pub(super) fn name(&self, class: Class) -> &str {
        match class {
            Class::Named(ordinal) => self.names.get(ordinal as usize).map_or("", String::as_str),
            Class::Null => "null",
            Class::Registered(0) => "java.lang.Integer",
            Class::Registered(1) => "java.lang.String",
            Class::Registered(2) => "java.lang.Float",
            Class::Registered(3) => "java.lang.Boolean",
            Class::Registered(4) => "java.lang.Byte",
            Class::Registered(5) => "java.lang.Character",
            Class::Registered(6) => "java.lang.Short",
            Class::Registered(7) => "java.lang.Long",
            Class::Registered(8) => "java.lang.Double",
            Class::Registered(9) => "java.lang.Void",
            Class::Registered(_) => "a registered class",
        }
    }

    pub(super) fn reference(&mut self) -> Result<Reference> {
        match self.uint()? {
            0 => Ok(Reference::Null),
            1 => {
                self.objects.push(Object::Other);
                Ok(Reference::New(self.objects.len() - 1))
            }
            id => Ok(Reference::Earlier(id as usize - 2)),
        }
    }

    /// Stores a new object after it was read.
    pub(super) fn keep(&mut self, ordinal: usize, object: Object) {
        if let Some(slot) = self.objects.get_mut(ordinal) {
            *slot = object;
        }
    }

    /// Returns an earlier object; `Other` if there is none, or it is not completely read.
    pub(super) fn earlier(&self, ordinal: usize) -> &Object {
        self.objects.get(ordinal).unwrap_or(&Object::Other)
    }

    /// Reads a string that may be an earlier one, or null: its range in the arena.
    pub(super) fn shared_text(&mut self) -> Result<Option<Range<u32>>> {
        match self.reference()? {
            Reference::Null => Ok(None),
            Reference::Earlier(ordinal) => match self.earlier(ordinal) {
                Object::Text(place) => Ok(Some(place.clone())),
                _ => Err(self.fault(format!("invalid reference to object {ordinal}: it is not a string"))),
            },
            Reference::New(ordinal) => {
                let place = self.characters()?;
                if let Some(place) = &place {
                    self.keep(ordinal, Object::Text(place.clone()));
                }
                Ok(place)
            }
        }
    }

    /// Returns a string of the arena.
    pub(super) fn text(&self, place: &Range<u32>) -> &[u8] {
        let text = self.strings.get(place.start as usize..place.end as usize);
        // Only this arena creates ranges.
        debug_assert!(text.is_some(), "text {place:?} of an arena of {}", self.strings.len());
        text.unwrap_or_default()
    }

    /// Adds a string to the arena.
    pub(super) fn put_text(&mut self, text: &[u8]) -> Result<Range<u32>> {
        let start = self.strings.len();
        self.strings.extend_from_slice(text);
        match (u32::try_from(start), u32::try_from(self.strings.len())) {
            (Ok(start), Ok(end)) => Ok(start..end),
            _ => Err(self.fault("invalid block: its strings have 4 GiB or more")),
        }
    }

    /// Reads a string without a reference (`readString`) into the arena.
    fn characters(&mut self) -> Result<Option<Range<u32>>> {
        if self.cursor.rest().first().is_some_and(|first| first & 0x80 == 0) {
            return self.ascii().map(Some);
        }
        let first = self.byte()?;
        let mut units = u32::from(first & 0x3f);
        let mut more = first & 0x40 != 0;
        for shift in [6, 13, 20, 27] {
            if !more {
                break;
            }
            let byte = self.byte()?;
            units |= u32::from(byte & 0x7f) << shift;
            more = byte & 0x80 != 0;
        }
        match units {
            0 => Ok(None),
            units => self.utf16(units as usize - 1).map(Some),
        }
    }

    fn ascii(&mut self) -> Result<Range<u32>> {
        let Some(marked) = self.cursor.rest().iter().position(|byte| byte & 0x80 != 0) else {
            return Err(self.fault("unexpected end of data in a string"));
        };
        let text = self.cursor.take(marked + 1)?;
        let place = self.put_text(text)?;
        if let Some(last) = self.strings.last_mut() {
            *last &= 0x7f;
        }
        Ok(place)
    }

    /// Reads UTF-16 units. An unpaired surrogate becomes `?`, as Java encodes it.
    fn utf16(&mut self, count: usize) -> Result<Range<u32>> {
        // Each unit takes at least one byte.
        if count > self.remaining() {
            return Err(self.fault(format!(
                "unexpected end of data: string has {count} characters, only {} bytes remain",
                self.remaining()
            )));
        }
        let mut units = Vec::with_capacity(count);
        for _ in 0..count {
            let byte = self.byte()?;
            units.push(match byte >> 4 {
                0..=7 => u16::from(byte),
                12 | 13 => u16::from(byte & 0x1f) << 6 | u16::from(self.byte()? & 0x3f),
                14 => {
                    let [middle, last] = self.array()?;
                    u16::from(byte & 0x0f) << 12 | u16::from(middle & 0x3f) << 6 | u16::from(last & 0x3f)
                }
                _ => return Err(self.fault(format!("invalid string: a character begins with {byte:#04x}"))),
            });
        }
        let text: String = char::decode_utf16(units).map(|one| one.unwrap_or('?')).collect();
        self.put_text(text.as_bytes())
    }
}
