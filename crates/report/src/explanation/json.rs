//! An explanation for scripts.

use drivelab_analysis::explanation::Answer;
use serde_json::{Value, json};

/// The answer as JSON.
pub fn json(answer: &Answer) -> Value {
    let pairs = |all: &[(String, String)], why: &str| -> Vec<Value> {
        all.iter().map(|(name, reason)| json!({ "name": name, why: reason })).collect()
    };
    let explanation = &answer.explanation;
    json!({
        "schema": "drivelab.explain/1",
        "drive": answer.drive,
        "specimens": answer.specimens,
        "arms": explanation.arms,
        "figures": explanation.figures,
        "strength": explanation.strength,
        "ranking": explanation.ranking,
        "next": answer.next,
        "unseen": explanation.unseen,
        "left_out": pairs(&answer.left_out, "reason"),
        "impossible": pairs(&answer.impossible, "reason"),
        "not_modelled": pairs(&answer.not_modelled, "lacks"),
    })
}
