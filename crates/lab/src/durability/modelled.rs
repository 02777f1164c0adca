//! A modelled drive, written, cut and verified in virtual time.

use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::Census as _;
use drivelab_core::{Device as _, Refusal, Time};
use drivelab_model::options::DriveSpec;
use drivelab_report::durability::{self as words, Findings};
use drivelab_serve::durability::{self, Cut, Ended, TargetError, Trial};
use drivelab_serve::fault::Fault;

use super::{Config, unless_stuck, unread};
use crate::measure::LINUX;
use crate::{interrupt, target};

/// A modelled drive whose power was cut.
#[derive(Debug)]
pub struct CutDrive {
    /// The findings.
    pub findings: Findings,
    /// The same in words.
    pub text: String,
    /// The end of the writing, if not the power cut that was drawn or the end of its time.
    pub early: Option<EarlyEnd>,
}

/// An end of the writing before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyEnd {
    /// The user asked to stop.
    Interrupted,
    /// No space is left for the pages.
    Full,
}

/// Writes pages to a modelled drive, cuts its power and verifies them, in virtual time. `None` if
/// the user gave up waiting.
pub fn cut(spec: DriveSpec, config: Config) -> Result<Option<CutDrive>, Refusal> {
    let rpm = config.rpm;
    let Some(done) = unless_stuck(move || try_drive(&spec, &config))? else { return Ok(None) };
    let (Cut { pace, ended, power_goes, pages }, rpm_of_model) = done?;
    let (why, early) = end(ended, power_goes, pace.took)?;
    let text = words::of_model(&pace, &why, &pages);
    let rpm = rpm.or(rpm_of_model);
    let findings = Findings { pace, went_away: Some(true), pages: Some(pages), rpm };
    Ok(Some(CutDrive { findings, text, early }))
}

/// The reason why the writing ended, in words, and whether it was before its time.
fn end(ended: Ended, power_goes: Time, took: Span) -> Result<(String, Option<EarlyEnd>), Refusal> {
    Ok(match ended {
        Ended::Target(TargetError::PowerCut) | Ended::Time => {
            (format!("the power went at {power_goes}"), None)
        }
        Ended::Stopped => {
            let why = format!(
                "interrupted at {took}, where the power was cut instead of at {power_goes}"
            );
            (why, Some(EarlyEnd::Interrupted))
        }
        Ended::Target(error) => {
            let is_full = matches!(&error, TargetError::Io { source, .. }
                if source.kind() == std::io::ErrorKind::StorageFull);
            let why = format!("this at {took}: {:#}", Refusal::machine_error(error));
            (why, is_full.then_some(EarlyEnd::Full))
        }
        Ended::Notes(error) => return Err(error.into()),
    })
}

/// The result of the power cut, and the drive's revolutions a minute.
fn try_drive(spec: &DriveSpec, config: &Config) -> Result<(Cut, Option<u64>), Refusal> {
    let profile = target::profile(spec)?;
    let device = target::build(&profile, &spec.options, config.seed)?;
    let (size, held) = (config.size, device.capacity().bytes());
    if config.exactly && size > held {
        let what = format!("{spec} holds {held}, and `--size` asks for {size}");
        return Err(Refusal::request(what).hint(format!("give at most `--size {held}`")));
    }
    let faults = config.faults.iter().map(|fault| Fault::from_json(fault));
    // The memory of the store comes in pieces of two pages, of which one may be all that is
    // written; and it is this machine's.
    let memory = Bytes::new(size.min(held).get().saturating_mul(2));
    let trial = Trial {
        seed: config.seed,
        size,
        memory: memory.min(Bytes::new(LINUX.machine().memory.get() / 2)),
        runtime: config.runtime,
        faults: faults.collect::<Result<_, _>>().map_err(Refusal::request_error)?,
    };
    let sector = profile.physical_sector;
    let cut = durability::try_device(device, sector, &trial, &interrupt::silent());
    Ok((cut.map_err(unread)?, profile.rpm()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_says_where_the_power_was_cut_instead() {
        let (due, took) = (Time::from_ns(2_000_000_000), Span::from_ms(500));
        let (why, exit) = end(Ended::Stopped, due, took).unwrap();
        assert_eq!(exit, Some(EarlyEnd::Interrupted));
        assert!(why.contains("interrupted at 500ms") && why.contains("2s"), "{why}");
        let (why, exit) = end(Ended::Time, due, took).unwrap();
        assert_eq!((why.as_str(), exit), ("the power went at 2s", None));
    }
}
