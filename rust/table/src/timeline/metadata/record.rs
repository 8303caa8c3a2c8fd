//! Typed records that keep unknown fields and the order of all fields.

use std::borrow::Cow;

use mortice_avro::Value;

/// The fields of a record that its type does not name, and the order of all its fields in the file that it was read
/// from.
///
/// Two records are equal if their fields are, in any order.
#[derive(Debug, Clone, Default)]
pub struct ExtraFields {
    /// Fields of the file in their order; `None` for the next unknown one. No list for a record that was not read.
    order: Option<Vec<Option<&'static str>>>,
    unknown: Vec<(String, Value<'static>)>,
    /// Fields that were read as null, although Hudi's schema has no null for them.
    nulls: Vec<&'static str>,
}

impl PartialEq for ExtraFields {
    fn eq(&self, other: &Self) -> bool {
        self.unknown == other.unknown
    }
}

impl ExtraFields {
    /// Returns the unknown field of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value<'static>> {
        self.unknown.iter().find(|(one, _)| one == name).map(|(_, value)| value)
    }

    /// Sets a field that the record's type does not name. A new one comes last.
    pub fn insert(&mut self, name: impl Into<String>, value: Value<'static>) {
        let name = name.into();
        match self.unknown.iter_mut().find(|(one, _)| *one == name) {
            Some((_, old)) => *old = value,
            None => {
                if let Some(order) = &mut self.order {
                    order.push(None);
                }
                self.unknown.push((name, value));
            }
        }
    }

    /// Returns the unknown fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'static>)> {
        self.unknown.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Creates the list of a record before it is read.
    pub(super) fn for_reading(fields: usize) -> Self {
        Self { order: Some(Vec::with_capacity(fields)), ..Self::default() }
    }

    /// Notes that a known field is the next one. Of a field that occurs several times the last value counts, as in
    /// Java.
    pub(super) fn note(&mut self, name: &'static str) {
        if let Some(order) = &mut self.order
            && !order.contains(&Some(name))
        {
            order.push(Some(name));
        }
    }

    /// Notes that a field whose type has no null was read as null. It has the default of its type.
    pub(super) fn note_null(&mut self, name: &'static str) {
        self.nulls.push(name);
    }

    /// Returns the members of the record: `known` returns the value of a known field, and whether it may be left out.
    pub(super) fn members<'a>(
        &'a self,
        names: &[&'static str],
        known: impl Fn(&'static str) -> (Value<'a>, bool),
    ) -> Value<'a> {
        let order = self.order.as_deref().unwrap_or_default();
        let mut members = Vec::with_capacity(names.len().saturating_add(self.unknown.len()));
        let mut unknown = self.unknown.iter().map(|(name, value)| (Cow::Borrowed(name.as_str()), value.borrowed()));
        for field in order {
            match field {
                Some(name) => {
                    let (value, is_absent) = known(name);
                    let is_null = is_absent && self.nulls.contains(name);
                    members.push((Cow::Borrowed(*name), if is_null { Value::Null } else { value }));
                }
                None => members.extend(unknown.next()),
            }
        }
        if members.len() < names.len().saturating_add(self.unknown.len()) {
            for name in names.iter().filter(|name| !order.contains(&Some(**name))) {
                // A record that was read has no other fields; a new record has all fields with a value.
                let (value, is_absent) = known(name);
                if !(if self.order.is_some() { is_absent } else { value == Value::Null }) {
                    members.push((Cow::Borrowed(*name), value));
                }
            }
        }
        members.extend(unknown);
        Value::Object(members)
    }
}

/// Declares a record: fields with their types, and their names in Hudi's files. Adds the member `extra`.
macro_rules! record {
    (
        $(#[$about:meta])*
        pub struct $record:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty = $name:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $record {
            $($(#[$doc])* pub $field: $type,)*
            /// Fields that this type does not name.
            pub extra: $crate::timeline::metadata::ExtraFields,
        }

        impl $crate::timeline::metadata::MetadataField for $record {
            fn from_value(
                value: mortice_avro::Value<'_>,
            ) -> std::result::Result<Self, $crate::timeline::metadata::FieldMismatch> {
                use $crate::timeline::metadata::{ExtraFields, MetadataField, FieldMismatch};
                let members = match value {
                    mortice_avro::Value::Object(members) => members,
                    mortice_avro::Value::Branch(_, value) => return Self::from_value(*value),
                    other => return Err(FieldMismatch::new("an object", &other)),
                };
                let mut record = Self { extra: ExtraFields::for_reading(members.len()), ..Self::default() };
                for (name, value) in members {
                    match &*name {
                        $($name => {
                            record.extra.note($name);
                            if value == mortice_avro::Value::Null {
                                record.$field = Default::default();
                                if MetadataField::to_value(&record.$field) != value {
                                    record.extra.note_null($name);
                                }
                            } else {
                                record.$field =
                                    MetadataField::from_value(value).map_err(|error| error.within(concat!(".", $name)))?;
                            }
                        })*
                        _ => record.extra.insert(name, value.into_owned()),
                    }
                }
                Ok(record)
            }

            fn to_value(&self) -> mortice_avro::Value<'_> {
                use $crate::timeline::metadata::MetadataField;
                self.extra.members(&[$($name),*], |name| match name {
                    $($name => (MetadataField::to_value(&self.$field), MetadataField::is_absent(&self.$field)),)*
                    _ => (mortice_avro::Value::Null, true),
                })
            }

            fn is_absent(&self) -> bool {
                false
            }
        }
    };
}

pub(super) use record;
