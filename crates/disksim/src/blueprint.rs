//! Converts a parameter file into a drive with the interface of any modelled drive.

use std::cell::RefCell;
use std::sync::Arc;

use drivelab_core::Sectors;
use drivelab_core::dispatch::Dispatch;
use drivelab_core::units::SECTOR_BYTES;
use drivelab_model::options::{Options, Switch};
use drivelab_model::profile::{BaseText, Blueprint, Profile};
use drivelab_model::{Attachment, BuildError, Controller, Drive, SCSI_NR_REQUESTS, Scheduler};

use crate::disk::Disk;
use crate::disk::params::Params;
use crate::parameters::{self, Description, DiskSimError};

const NATURE: &str = "takes one command at a time over a parallel SCSI bus";

/// The features of a drive from a parameter file that are not modelled.
const LEFT_OUT: &str = "requests longer than a buffer segment do not wait for room in it; a \
                        slipped sector in the middle of a transfer does not lengthen it";

/// Returns true if `file` has the extension of a `DiskSim` parameter file, `.parv`.
pub fn is_parameter_file(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("parv"))
}

/// Reads the parameter file `file` with the text `text` into a profile; `resolve` reads the files
/// that it names, first in the folder of `file`, then as named.
///
/// # Errors
/// Syntax errors and parameters that are not modelled, with file, line and accepted values.
pub fn profile(
    file: &str,
    text: &str,
    resolve: &dyn Fn(&str) -> Option<BaseText>,
) -> Result<Profile, DiskSimError> {
    // Included files are part of the profile's identity.
    let all = RefCell::new(text.to_owned());
    let Description { model, params } = parameters::read(file, text, &|name: &str| {
        let found = resolve(name);
        all.borrow_mut().extend(found.as_ref().map(|base| base.text.as_str()));
        found
    })?;
    let source = format!("{file}, a parameter file of DiskSim 4.0");
    Ok(Profile::of_blueprint(
        model,
        all.into_inner(),
        [source, LEFT_OUT.to_owned()],
        Arc::new(ScsiDisk(params)),
    ))
}

/// A SCSI disk with the content of its parameter file.
#[derive(Debug)]
struct ScsiDisk(Params);

impl Blueprint for ScsiDisk {
    fn capacity(&self) -> Sectors {
        Sectors::new(self.0.mechanics.layout.capacity())
    }

    fn build(&self, model: &str, options: &Options) -> Result<Drive, BuildError> {
        if let Some(controller) = options.controller.filter(|asked| *asked != Controller::Scsi) {
            return Err(BuildError::WrongController {
                model: model.to_owned(),
                controller,
                kind: "SCSI",
                right: Controller::Scsi,
            });
        }
        let unknown = [
            ("link", options.link.is_some()),
            ("ncq", options.ncq.is_some()),
            ("completion", options.completion.is_some()),
            ("dispatch", options.dispatch.is_some_and(|asked| asked != Dispatch::Single)),
        ];
        let mut unknown = unknown.into_iter().chain(options.of_flash()).chain(options.of_queues());
        if let Some((key, _)) = unknown.find(|(_, set)| *set) {
            return Err(BuildError::NothingToSet { model: model.to_owned(), nature: NATURE, key });
        }
        let mut params = self.0.clone();
        if let Some(asked) = options.write_cache {
            params.writes.immediate_report = asked == Switch::On;
        }
        let segment = params.buffer.segment_size * SECTOR_BYTES;
        let sector_ns = params.bus.read_sector.ns();
        // Only one command is on the bus at a time, so tags and queuing are off.
        let attached = Attachment {
            controller: Controller::Scsi,
            dispatch: Dispatch::Single,
            tags: 1,
            queued: false,
            link: None,
            wire_bytes_per_s: (SECTOR_BYTES * 1_000_000_000)
                .checked_div(sector_ns)
                .unwrap_or(u64::MAX),
            // In order, like the host of a DiskSim file.
            scheduler: options.scheduler.unwrap_or(Scheduler::None),
            nr_requests: options.nr_requests.map_or(SCSI_NR_REQUESTS, |asked| asked as usize),
            write_cache_bytes: params.writes.immediate_report.then_some(segment),
            reports_cache: params.writes.immediate_report,
            fua: None,
            guard_ns: None,
            guard_growth: None,
            notice: None,
            queue_pairs: None,
            flash: None,
            shingles: None,
        };
        Ok(Drive::of_mechanism(model.to_owned(), attached, Disk::new(params)))
    }
}
