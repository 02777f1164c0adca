//! Rates that jobs share, and locks of the files that they use.

use drivelab_core::Refusal;
use drivelab_core::workload::FileLock;

use super::super::number::read;
use super::super::section::Section;

/// The weight of a job. A negative one was a direction in fio before 3.23; since then it is taken
/// for a positive one of 32 bits.
pub(super) fn set_weight(job: &mut Section, key: &str, value: &str) -> Result<(), Refusal> {
    let negative = value.strip_prefix('-');
    let weight: u32 = read(key, negative.unwrap_or(value))?;
    job.flow.weight = if negative.is_some() { weight.wrapping_neg() } else { weight };
    if negative.is_some() {
        let why = format!("as in fio since 3.23, {value} is the weight {}", job.flow.weight);
        job.note(key, &why);
    }
    Ok(())
}

pub(super) fn lock(key: &str, value: &str) -> Result<FileLock, Refusal> {
    Ok(match value {
        "none" => FileLock::None,
        "exclusive" => FileLock::Exclusive,
        "readwrite" => FileLock::ReadWrite,
        _ => {
            let wrong = format!("`{key}` is `none`, `exclusive` or `readwrite`, not `{value}`");
            return Err(Refusal::request(wrong));
        }
    })
}
