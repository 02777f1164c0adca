//! A modelled drive, written, cut and verified in virtual time.

use drivelab_core::units::{Bytes, Span};
use drivelab_core::usage::Census as _;
use drivelab_core::{Device as _, Refusal, Time};
use drivelab_model::options::DriveSpec;
use drivelab_report::durability::{self as words, Findings};
use drivelab_serve::durability::{self, Cut, Ended, TargetError, Trial};
use drivelab_serve::fault::Fault;

use super::answer::{looking, show, unless_stuck};
use super::config::Config;
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;
use drivelab_lab::measure::LINUX;
use drivelab_lab::{interrupt, target};

pub(super) fn run(spec: DriveSpec, config: Config, ui: Ui) -> Outcome {
    let rpm = config.rpm;
    let Some(done) = unless_stuck(move || cut(&spec, &config))? else {
        ui.warn("interrupted before the pages were checked: no result");
        return Ok(Exit::Interrupted);
    };
    let (Cut { pace, ended, power_goes, pages }, rpm_of_model) = done?;
    let (why, instead) = end(ended, power_goes, pace.took)?;
    let text = words::of_model(&pace, &why, &pages);
    let rpm = rpm.or(rpm_of_model);
    let exit = show(Findings { pace, went_away: Some(true), pages: Some(pages), rpm }, &text, ui)?;
    Ok(instead.unwrap_or(exit))
}

/// The reason why the writing ended, and the exit code if the reason decides it.
fn end(ended: Ended, power_goes: Time, took: Span) -> Result<(String, Option<Exit>), Refusal> {
    Ok(match ended {
        Ended::Target(TargetError::PowerCut) | Ended::Time => {
            (format!("the power went at {power_goes}"), None)
        }
        Ended::Stopped => {
            let why = format!(
                "interrupted at {took}, where the power was cut instead of at {power_goes}"
            );
            (why, Some(Exit::Interrupted))
        }
        Ended::Target(error) => {
            let is_full = matches!(&error, TargetError::Io { source, .. }
                if source.kind() == std::io::ErrorKind::StorageFull);
            let why = format!("this at {took}: {:#}", Refusal::machine_error(error));
            (why, is_full.then_some(Exit::CannotHere))
        }
        Ended::Notes(error) => return Err(error.into()),
    })
}

/// The result of the power cut, and the drive's revolutions a minute.
fn cut(spec: &DriveSpec, config: &Config) -> Result<(Cut, Option<u64>), Refusal> {
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
    let cut = durability::try_device(device, sector, &trial, interrupt::flag());
    Ok((cut.map_err(looking)?, profile.rpm()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_says_where_the_power_was_cut_instead() {
        let (due, took) = (Time::from_ns(2_000_000_000), Span::from_ms(500));
        let (why, exit) = end(Ended::Stopped, due, took).unwrap();
        assert_eq!(exit, Some(Exit::Interrupted));
        assert!(why.contains("interrupted at 500ms") && why.contains("2s"), "{why}");
        let (why, exit) = end(Ended::Time, due, took).unwrap();
        assert_eq!((why.as_str(), exit), ("the power went at 2s", None));
    }
}
