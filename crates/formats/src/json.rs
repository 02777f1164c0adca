//! Lists and objects of JSON that may be large: they are read item by item, and only used parts are
//! kept.

use std::fmt;
use std::marker::PhantomData;

use drivelab_core::Invalid;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// The beginning of a list.
#[derive(Debug)]
pub(crate) struct First<T> {
    pub(crate) kept: Vec<T>,
    /// Number of items beyond it.
    pub(crate) more: usize,
}

impl<T> Default for First<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), more: 0 }
    }
}

/// Reads a list of which `MAX` items are kept.
pub(crate) fn first<'de, const MAX: usize, D, T>(input: D) -> Result<First<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    input.deserialize_seq(Items::<MAX, T>(PhantomData))
}

struct Items<const MAX: usize, T>(PhantomData<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for Items<MAX, T> {
    type Value = First<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = First::default();
        while first.kept.len() < MAX {
            let Some(item) = list.next_element()? else { return Ok(first) };
            first.kept.push(item);
        }
        // Items beyond the limit are parsed, not stored: damage in them is an error all the same.
        while list.next_element::<IgnoredAny>()?.is_some() {
            first.more += 1;
        }
        Ok(first)
    }
}

/// Passes each pair of an object to `take`, without keeping the object.
pub(crate) fn pairs<'de, D, V, F>(input: D, take: F) -> Result<(), D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
    F: FnMut(&str, V) -> Result<(), Invalid>,
{
    input.deserialize_map(Pairs { take, value: PhantomData })
}

struct Pairs<V, F> {
    take: F,
    value: PhantomData<V>,
}

impl<'de, V, F> Visitor<'de> for Pairs<V, F>
where
    V: Deserialize<'de>,
    F: FnMut(&str, V) -> Result<(), Invalid>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut pairs: A) -> Result<(), A::Error> {
        let mut name = String::new();
        while pairs.next_key_seed(Name(&mut name))?.is_some() {
            (self.take)(&name, pairs.next_value()?).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// Reads a key into memory that the next one uses again.
struct Name<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.clear();
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_list_is_counted() {
        let check = |text: &str, expected: (&[u8], usize)| {
            let mut input = serde_json::Deserializer::from_str(text);
            let found: First<u8> = first::<3, _, _>(&mut input).unwrap();
            assert_eq!((found.kept.as_slice(), found.more), expected, "{text}");
        };
        check("[]", (&[], 0));
        check("[1, 2, 3]", (&[1, 2, 3], 0));
        check("[1, 2, 3, [4], 5]", (&[1, 2, 3], 2));
    }
}
