//! DiskSim parameter files: no text may panic, and what is read must build and run.
#![no_main]

use drivelab_core::{Device, Lba, Request, Sectors, Time};
use drivelab_model::profile::BaseText;
use drivelab_model::options::Options;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // One text stands for all files: parts of it are named by its own `source` lines.
    let resolve = |file: &str| {
        let (_, rest) = text.split_once(&format!("### {file}\n"))?;
        let own = rest.split("\n### ").next()?;
        Some(BaseText { file: file.to_owned(), text: own.to_owned() })
    };
    let Ok(profile) = drivelab_disksim::profile("fuzz.parv", text, &resolve) else { return };
    let Ok(mut drive) = drivelab_model::build(&profile, &Options::default(), 1) else { return };
    let mut done = Vec::new();
    let mut now = Time::ZERO;
    for request in 0..16_u64 {
        let lba = Lba::new(request * 7919 % drive.capacity().get());
        let sectors = Sectors::new((request % 3 * 8 + 1).min(drive.capacity().get() - lba.get()));
        let request = match request % 2 {
            0 => Request::read(request, lba, sectors),
            _ => Request::write(request, lba, sectors),
        };
        drive.submit(now, request).expect("the queue is empty");
        while done.is_empty() {
            now = drive.next_event().expect("a request is under way");
            drive.advance(now, &mut done);
        }
        done.clear();
    }
});
