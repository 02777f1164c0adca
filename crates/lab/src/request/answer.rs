//! The program inside a guest, which carries out the request of the one that started it.

use drivelab_core::{Control, Refusal};

use super::run::run;
use super::{Request, Work};
use crate::stage::kernel::Carried;
use crate::stage::program;
use crate::target::Target;
use crate::{attached, measure};

/// The output of the program inside a guest, for the one that started it.
#[derive(Debug)]
pub struct Answer {
    /// A record, or the results of commands, as JSON.
    pub json: String,
    /// True if most requests failed.
    pub is_failed: bool,
}

/// Carries out the request of a guest, in it.
pub fn answer(request: &Request, control: &Control<'_>) -> Result<Answer, Refusal> {
    request.check()?;
    let plain = "plain data is always JSON";
    if let (Work::Commands { steps, .. }, Target::Path(path)) = (&request.work, &request.target) {
        let attached = attached::to_path(path);
        let carried = Carried { attached, ran: program::carry_out(steps)? };
        let json = serde_json::to_string(&carried).expect(plain);
        return Ok(Answer { json, is_failed: false });
    }
    // The environment of a request that was read is this process, which is the guest.
    let record = run(request, control)?;
    let json = serde_json::to_string(&record).expect(plain);
    Ok(Answer { json, is_failed: measure::mostly_failed(&record) })
}
