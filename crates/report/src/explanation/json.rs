//! An explanation for scripts.

use drivelab_analysis::explanation::Answer;
use serde_json::{Value, json};

/// The answer as JSON.
pub fn json(answer: &Answer) -> Value {
    let explanation = &answer.explanation;
    let next = answer.next.as_ref().map(|next| {
        let ratios = next.ratios.iter();
        let ratios = ratios.map(|(rank, ratio)| json!({ "hypothesis": rank, "ratio": ratio }));
        json!({
            "commands": answer.next_commands(),
            "bits": next.bits,
            "missing_bits": next.missing_bits,
            "ratios": ratios.collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": "drivelab.explain/1",
        "drive": answer.drive,
        "specimens": answer.specimens,
        "arms": explanation.arms,
        "figures": explanation.figures,
        "signs": explanation.signs,
        "strength": explanation.strength,
        "ranking": explanation.ranking,
        "causes": explanation.causes,
        "next": next,
        "unseen": explanation.unseen,
        "left_out": reasons(&answer.left_out, "reason"),
        "impossible": reasons(&answer.impossible, "reason"),
        "not_predicted": reasons(&answer.not_predicted, "lacks"),
    })
}

/// Names with their reasons, under this key.
fn reasons(all: &[(String, String)], key: &str) -> Vec<Value> {
    all.iter().map(|(name, reason)| json!({ "name": name, key: reason })).collect()
}
