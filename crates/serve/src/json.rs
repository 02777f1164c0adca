//! Reads JSON objects from outside.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads an object; an array of its values in the order of its keys, which serde would accept, is
/// an error.
pub(crate) fn object<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str::<Map<String, Value>>(text)?;
    serde_json::from_str(text)
}
