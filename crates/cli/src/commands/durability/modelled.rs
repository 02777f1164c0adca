//! Writing, cutting and verifying a modelled drive in virtual time.

use drivelab_core::units::Bytes;
use drivelab_core::{Device as _, Rng, Time};
use drivelab_model::options::DriveSpec;
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::durability::{
    self, Ended, Ledger, ModelledPlace, PAGE_BYTES, PlaceError, Verdict, Writing, Written,
};
use drivelab_serve::fault::Fault;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Dice, Store};

use super::findings::{self, Findings};
use super::{DurabilityArgs, looking, no_page, waiting};
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt;
use crate::target;
use crate::ui::Ui;

/// What became of a modelled drive.
struct Cut {
    written: Written,
    ended: Ended,
    power_goes: Time,
    verdict: Verdict,
    rpm: Option<u64>,
}

pub(super) fn run(spec: DriveSpec, arguments: &DurabilityArgs, ui: Ui) -> Outcome {
    if arguments.room().0.get() == 0 {
        return no_page(ui, arguments);
    }
    let work = {
        let arguments = arguments.clone();
        move || cut(&spec, &arguments)
    };
    let Some(cut) = waiting::unless_stuck(work).transpose()? else {
        ui.warn("interrupted before the pages had been looked at: nothing is known");
        return Ok(Exit::Interrupted);
    };
    let Cut { written, ended, power_goes, verdict, rpm } = cut;
    let (why, instead) = match ended {
        Ended::Place(PlaceError::PowerCut) | Ended::Time => {
            (format!("the power went at {power_goes}"), None)
        }
        Ended::Stopped => ("it was interrupted".into(), Some(Exit::Interrupted)),
        Ended::Place(error) => {
            let is_full = matches!(&error, PlaceError::Io { source, .. }
                if source.kind() == std::io::ErrorKind::StorageFull);
            let why = format!("this at {}: {:#}", written.took, anyhow::Error::new(error));
            (why, is_full.then_some(Exit::CannotHere))
        }
        Ended::Notes(error) => return Err(error.into()),
    };
    let rate = findings::rate(&written);
    let pages = findings::of_pages(&verdict);
    let text =
        format!("{} pages promised, {rate:.0} a second, until {why}\n{pages}", written.promised);
    let findings = Findings { written, went_away: Some(true), verdict: Some(verdict) };
    let exit = findings.show(ui, arguments.rpm.or(rpm), &text)?;
    Ok(instead.unwrap_or(exit))
}

fn cut(spec: &DriveSpec, arguments: &DurabilityArgs) -> Result<Cut, Failure> {
    let profile = target::profile(spec)?;
    let device = target::build(&profile, &spec.options, arguments.seed)?;
    let (size, exactly) = arguments.room();
    let held = device.capacity().bytes();
    if exactly && size > held {
        let what = format!("{spec} holds {held}, and `--size` asks for {size}");
        return Err(Failure::bad_words(what).hint(format!("give at most `--size {held}`")));
    }
    let size = size.min(held);
    // The memory of the store comes in pieces of two pages, of which one may be all that is
    // written; and it is this machine's.
    let limit = Bytes::new(size.get().saturating_mul(2));
    let limit = limit.min(Bytes::new(drivelab_engine::memory().get() / 2));
    let medium = Memory::new(device.capacity(), limit);
    let store = Store::new(Box::new(medium), profile.physical_sector);
    let mut drive = ServedDrive::new(device, store, arguments.seed);
    for fault in &arguments.fault {
        drive.add_fault(Time::ZERO, Fault::from_json(fault).map_err(Failure::bad_request)?);
    }
    let mut rng = Rng::for_part(arguments.seed, 1);
    let runtime = arguments.runtime.ns().max(2);
    let power_goes = Time::from_ns(rng.between(runtime / 2, runtime));
    let mut place = ModelledPlace::new(drive, power_goes);
    let pages = size.get() / PAGE_BYTES as u64;
    let mut ledger = Ledger::new(arguments.seed, pages);
    let stop = interrupt::flag();
    let writing = Writing { run: arguments.seed, pages, until: Time::MAX, stop };
    let (written, ended) = durability::write(&mut place, &mut ledger, writing);
    place.cut(&mut Dice::new(arguments.seed))?;
    // What was found until it was stopped is kept, and there is little of it to look at.
    let never = std::sync::atomic::AtomicBool::new(false);
    let verdict = durability::verify(&mut place, &ledger, &never).map_err(looking)?;
    Ok(Cut { written, ended, power_goes, verdict, rpm: profile.rpm() })
}
