//! Why verdicts are withheld: each reason with what to do about it.

use drivelab_stats::{Warning, WarningId};
use serde::{Serialize, Serializer};

use super::Outcome;

/// A reason to withhold verdicts, whatever the figures say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// The kind of reason, a contract with scripts.
    #[serde(serialize_with = "id")]
    pub id: WarningId,
    /// What is wrong, a clause.
    pub message: String,
    /// What to do about it, an imperative.
    pub hint: String,
    /// The comparisons that it concerns, by their place among the outcomes.
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
        for place in concerned {
            let advice = format!("{message}: the verdict is withheld; {hint}");
            outcomes[*place].withhold(Warning::new(*id, advice));
        }
    }
}
