//! JSON objects from outside.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, IgnoredAny};

/// Reads an object; an array of its values in the order of its keys, which serde would take for
/// one, is an error.
pub(crate) fn object<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text)?;
    serde_json::from_str(text)
}
