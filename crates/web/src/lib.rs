//! The laboratory in a browser: JSON in, and out the document that the same verb of the command
//! line prints.
//!
//! This crate computes nothing: each verb reads a question and calls a pure crate. On
//! wasm32 the module exports three functions, by which a page hands a question over and fetches the
//! answer.

mod asked;
mod verbs;
#[cfg(target_arch = "wasm32")]
mod wasm;

use drivelab_core::Refusal;
use serde::Serialize;
use serde_json::{Value, json};

pub use asked::Asked;
pub use verbs::{Progress, Report};

/// The answer to a question, as JSON: `{"ok": ...}` or `{"refused": {"message", "hints"}}`.
pub fn answer(question: &str, progress: Progress<'_>) -> String {
    let answered = Asked::read(question).and_then(|asked| verbs::answer(asked, progress));
    let document = match answered {
        Ok(answer) => json!({ "ok": answer }),
        Err(refusal) => json!({ "refused": refused(&refusal) }),
    };
    document.to_string()
}

/// A refusal for the page.
fn refused(refusal: &Refusal) -> Value {
    #[derive(Serialize)]
    struct Refused<'a> {
        message: &'a str,
        hints: &'a [String],
    }
    let Refusal { message, hints, .. } = refusal;
    json!(Refused { message, hints })
}

#[cfg(test)]
mod tests;
