//! Options with a fixed set of names.

use super::nearest;
use crate::{Invalid, invalid};

/// A type whose values have names that users write: `randread`, `ahci`, `deadline`.
pub trait Choice: Copy + PartialEq + 'static {
    /// The thing being chosen, for messages: `controller`.
    const WHAT: &'static str;
    /// Every name with its value. The first name of a value is the printed one.
    const NAMES: &'static [(&'static str, Self)];

    /// True for a value that destroys data. It is suggested only for a word that is one
    /// typing error away from it.
    fn is_destructive(self) -> bool {
        false
    }

    /// The value called `name`.
    ///
    /// # Errors
    /// Lists the valid names, and the one that was probably meant.
    fn from_name(name: &str) -> Result<Self, Invalid> {
        if let Some((_, value)) = Self::NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*value);
        }
        let names: Vec<&str> = Self::NAMES.iter().map(|(known, _)| *known).collect();
        let list = names.join("`, `");
        let what = Self::WHAT;
        let candidates = Self::NAMES.iter().filter(|(known, value)| {
            !value.is_destructive() || strsim::osa_distance(name, known) == 1
        });
        Err(match nearest(name, candidates.map(|(known, _)| *known)) {
            Some(meant) => {
                invalid!(
                    "`{name}` is not a valid {what}; did you mean `{meant}`? (known: `{list}`)"
                )
            }
            None => invalid!("`{name}` is not a valid {what}; known: `{list}`"),
        })
    }

    /// The printed name of this value.
    fn name(self) -> &'static str {
        let (name, _) = Self::NAMES
            .iter()
            .find(|(_, value)| *value == self)
            .expect("NAMES holds every value of the type");
        name
    }
}

/// Gives a [`Choice`] its `Display`, `FromStr` and serde forms, all by name.
#[macro_export]
macro_rules! choice_as_text {
    ($($choice:ty),+ $(,)?) => {$(
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::config::Choice::name(*self))
            }
        }
        impl std::str::FromStr for $choice {
            type Err = $crate::Invalid;
            fn from_str(name: &str) -> Result<Self, $crate::Invalid> {
                $crate::config::Choice::from_name(name)
            }
        }
        impl serde::Serialize for $choice {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::config::Choice::name(*self))
            }
        }
        impl<'de> serde::Deserialize<'de> for $choice {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str>>::deserialize(source)?;
                $crate::config::Choice::from_name(&name).map_err(serde::de::Error::custom)
            }
        }
        impl $crate::config::Value for $choice {
            fn read(text: &str) -> Result<Self, $crate::Invalid> {
                $crate::config::Choice::from_name(text)
            }
        }
    )+};
}
