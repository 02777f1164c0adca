//! Why verdicts are withheld: each reason with what to do about it.

use drivelab_stats::{Warning, WarningId};
use serde::{Serialize, Serializer};

use super::Outcome;

/// A reason to withhold verdicts, regardless of the figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// The kind of reason, a contract with scripts.
    #[serde(serialize_with = "id")]
    pub id: WarningId,
    /// The problem, as a clause.
    pub message: String,
    /// The remedy, as an imperative.
    pub hint: String,
    /// The comparisons that it concerns, by their index among the outcomes.
    #[serde(skip)]
    pub outcomes: Vec<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn id<S: Serializer>(id: &WarningId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(id.as_str())
}

/// Takes back the verdicts that the reasons concern; the figures stay.
pub(crate) fn withhold_all(outcomes: &mut [Outcome], reasons: &[Withheld]) {
    for Withheld { id, message, hint, outcomes: concerned } in reasons {
        for index in concerned {
            let advice = format!("{message}: the verdict is withheld; {hint}");
            outcomes[*index].withhold(Warning::new(*id, advice));
        }
    }
}
