//! The steps of a modelled drive, for a picture that moves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::workload::Workload;
use drivelab_core::{
    Completion, Control, Device, Lba, Op, Refusal, Request, Sectors, ServedBy, Span, Time,
};
use drivelab_load::{VirtualJobs, VirtualTarget};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_model::stack::HostSyncs;
use drivelab_model::{Band, DieWork, Drive, Step};
use serde::Serialize;

use crate::model;

/// Scenes after which a film ends before its time.
const SCENES_MAX: usize = 60_000;

/// The steps of a drive under a load, in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Film {
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// The layout of a rotating disk.
    pub platter: Option<PlatterLayout>,
    /// The dies of a solid-state drive.
    pub flash: Option<FlashLayout>,
    /// Commands that may be on the wire.
    pub tags: usize,
    /// The settings of the drive, in words.
    pub settings: Vec<(String, String)>,
    /// The scenes, in order of time.
    pub scenes: Vec<Scene>,
    /// The end of the last scene, in ns.
    pub end_ns: u64,
}

/// The layout of a rotating disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlatterLayout {
    /// Bands of equally long tracks, from the outside in.
    pub bands: Vec<Band>,
    /// Cylinders in use.
    pub cylinders: u32,
    /// Time of a revolution, in ns.
    pub revolution_ns: u64,
}

/// Dies and channels of a solid-state drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlashLayout {
    /// Dies.
    pub dies: usize,
    /// Channels, to which dies are assigned in turn.
    pub channels: u32,
}

/// One thing that happens. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Scene {
    /// The host has a request.
    Arrived {
        /// Time.
        at: u64,
        /// The slot of the load loop that sent it.
        id: u64,
        /// The operation.
        op: Op,
        /// Its first sector.
        lba: u64,
        /// Its length.
        sectors: u64,
        /// The cylinder of a disk.
        cylinder: u32,
        /// The angle of its first bit, in 2^-32 of a revolution.
        angle: u32,
    },
    /// It became a command on the wire.
    Sent {
        /// Time.
        at: u64,
        /// The slot.
        id: u64,
        /// The tag.
        tag: usize,
        /// Requests that wait in the host's elevator now.
        held: usize,
    },
    /// The data of a write is in the volatile cache.
    Cached {
        /// Time.
        at: u64,
        /// The tag.
        tag: usize,
    },
    /// The medium was committed to an access.
    Begun {
        /// Time.
        at: u64,
        /// The tag; absent for data out of the write cache.
        tag: Option<usize>,
        /// True for a write.
        write: bool,
        /// Its first sector.
        lba: u64,
        /// The cylinder.
        cylinder: u32,
        /// The head.
        head: u32,
        /// The angle of its first bit, in 2^-32 of a revolution.
        angle: u32,
        /// Duration of the seek from the last access, in ns.
        seek: u64,
        /// The first sector comes under the head.
        on_sector: u64,
        /// The last sector has passed.
        until: u64,
        /// It continues read-ahead.
        ahead: bool,
        /// Commands in the drive that the medium has not begun, with this one.
        waiting: usize,
        /// The number of them that came before this one.
        overtaken: usize,
    },
    /// The access has finished.
    Ended {
        /// Time.
        at: u64,
    },
    /// The idle head continues to read.
    Ahead {
        /// Time.
        at: u64,
        /// The first sector.
        from: u64,
        /// The limit.
        to: u64,
    },
    /// The host has the answer.
    Answered {
        /// Time.
        at: u64,
        /// The slot.
        id: u64,
        /// The part of the drive that answered.
        by: Answerer,
        /// Time since the request arrived.
        took: u64,
    },
    /// A die changed what it does.
    Die {
        /// Time.
        at: u64,
        /// Its number.
        die: usize,
        /// The work.
        work: DieWork,
    },
}

/// The part of a drive that answered a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answerer {
    /// The medium.
    Medium,
    /// Read cache or read-ahead.
    ReadCache,
    /// The volatile write cache.
    WriteCache,
}

/// Films a load on a drive of this profile, for as long as `time` in virtual time.
///
/// # Errors
/// The drive cannot be built, or the load not be applied to it.
pub fn film(
    spec: &DriveSpec,
    profile: &Profile,
    workload: &Workload,
    (seed, time): (u64, Span),
) -> Result<Film, Refusal> {
    let drive = model::build(profile, &spec.options, seed)?;
    let stop = AtomicBool::new(false);
    let about = drive.about().clone();
    let filmed = Filmed::new(drive, Time::ZERO + time, &stop);
    let mut target = VirtualTarget::new(HostSyncs::new(filmed, &about));
    let jobs = [VirtualJobs::one(workload, seed)];
    drivelab_load::simulate(&mut target, &jobs, &Control::silent(&stop))
        .map_err(model::not_made)?;
    Ok(target.device().device().film())
}

/// A drive under observation.
struct Filmed<'a> {
    drive: Drive,
    until: Time,
    stop: &'a AtomicBool,
    steps: Vec<Step>,
    dies: Vec<DieWork>,
    /// Arrival of each request that the host waits for.
    arrived: BTreeMap<u64, Time>,
    /// Requests of the host that are not on the wire yet.
    held: usize,
    /// Commands in the drive whose access has not begun, oldest first.
    waiting: Vec<usize>,
    /// The cylinder of the last access.
    cylinder: u32,
    scenes: Vec<Scene>,
}

impl<'a> Filmed<'a> {
    fn new(mut drive: Drive, until: Time, stop: &'a AtomicBool) -> Self {
        let (mut steps, dies) = (Vec::new(), drive.dies());
        // The first look begins the recording.
        drive.watch(&mut steps);
        Self {
            drive,
            until,
            stop,
            steps,
            dies,
            arrived: BTreeMap::new(),
            held: 0,
            waiting: Vec::new(),
            cylinder: 0,
            scenes: Vec::new(),
        }
    }

    fn look(&mut self, now: Time) {
        let mut steps = std::mem::take(&mut self.steps);
        self.drive.watch(&mut steps);
        for step in steps.drain(..) {
            self.step(now, step);
        }
        self.steps = steps;
        for (die, work) in self.drive.dies().into_iter().enumerate() {
            if self.dies[die] != work {
                self.dies[die] = work;
                self.scenes.push(Scene::Die { at: now.ns(), die, work });
            }
        }
        if now >= self.until || self.scenes.len() >= SCENES_MAX {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn step(&mut self, now: Time, step: Step) {
        let scene = match step {
            Step::Sent { at, tag, request } => {
                self.held = self.held.saturating_sub(1);
                self.waiting.push(tag.index());
                let (at, tag, held) = (at.ns(), tag.index(), self.held);
                Scene::Sent { at, id: request.id.0, tag, held }
            }
            Step::Cached { at, tag } => {
                self.waiting.retain(|waiting| *waiting != tag.index());
                Scene::Cached { at: at.ns(), tag: tag.index() }
            }
            Step::Begun { at, access } => {
                let tag = access.tag.map(drivelab_model::Tag::index);
                let waiting = self.waiting.len();
                let place = self.waiting.iter().position(|waiting| Some(*waiting) == tag);
                place.map(|place| self.waiting.remove(place));
                let platter = self.drive.platter().expect("only a disk begins an access");
                let on = platter.place(access.lba);
                let seek = platter.seek(on.cylinder.abs_diff(self.cylinder)).ns();
                self.cylinder = on.cylinder;
                Scene::Begun {
                    at: at.ns(),
                    tag,
                    write: access.write,
                    lba: access.lba.get(),
                    cylinder: on.cylinder,
                    head: on.head,
                    angle: narrow(on.angle),
                    seek,
                    on_sector: access.on_sector.ns(),
                    until: access.until.ns(),
                    ahead: access.continues_read_ahead,
                    waiting,
                    overtaken: place.unwrap_or(0),
                }
            }
            Step::Ended { at } => Scene::Ended { at: at.ns() },
            Step::ReadsAhead { from, to } => {
                Scene::Ahead { at: now.ns(), from: from.get(), to: to.get() }
            }
            Step::Done { tag, .. } => {
                // A hit of the cache needs no access.
                self.waiting.retain(|waiting| *waiting != tag.index());
                return;
            }
        };
        self.scenes.push(scene);
    }

    /// Cylinder and angle of a sector; zeros where nothing turns.
    fn place(&self, lba: Lba) -> (u32, u32) {
        let place = self.drive.platter().map(|platter| platter.place(lba));
        place.map_or((0, 0), |place| (place.cylinder, narrow(place.angle)))
    }

    fn film(&self) -> Film {
        let about = self.drive.about();
        let platter = self.drive.platter().map(|platter| PlatterLayout {
            bands: platter.bands(),
            cylinders: platter.cylinders(),
            revolution_ns: platter.revolution().ns(),
        });
        let dies = self.dies.len();
        debug_assert_eq!(dies, self.drive.dies().len(), "every die is drawn");
        Film {
            sectors: self.drive.capacity().get(),
            platter,
            flash: self.drive.channels().map(|channels| FlashLayout { dies, channels }),
            tags: about.attached.as_ref().map_or(1, |attached| attached.tags),
            settings: model::settings(about),
            end_ns: self.scenes.last().map_or(0, Scene::at),
            scenes: self.scenes.clone(),
        }
    }
}

/// An angle in 2^-32 of a revolution.
fn narrow(angle: u64) -> u32 {
    u32::try_from(angle >> 32).expect("32 bits are left")
}

impl Scene {
    /// Its time, in ns.
    fn at(&self) -> u64 {
        match self {
            Self::Arrived { at, .. }
            | Self::Sent { at, .. }
            | Self::Cached { at, .. }
            | Self::Begun { at, .. }
            | Self::Ended { at }
            | Self::Ahead { at, .. }
            | Self::Answered { at, .. }
            | Self::Die { at, .. } => *at,
        }
    }
}

impl Device for Filmed<'_> {
    fn capacity(&self) -> Sectors {
        self.drive.capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        self.drive.submit(now, request)?;
        self.arrived.insert(request.id.0, now);
        self.held += 1;
        // A request beyond the end has no place.
        let inside = request.lba + request.sectors <= Lba::new(self.capacity().get());
        let is_placed = request.op.transfers() && inside;
        let (cylinder, angle) = if is_placed { self.place(request.lba) } else { (0, 0) };
        self.scenes.push(Scene::Arrived {
            at: now.ns(),
            id: request.id.0,
            op: request.op,
            lba: request.lba.get(),
            sectors: request.sectors.get(),
            cylinder,
            angle,
        });
        self.look(now);
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        self.drive.next_event()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        let before = completed.len();
        self.drive.advance(now, completed);
        self.look(now);
        for done in &completed[before..] {
            let by = match done.served_by {
                ServedBy::DriveReadCache => Answerer::ReadCache,
                ServedBy::DriveWriteCache => Answerer::WriteCache,
                ServedBy::Medium | ServedBy::Unknown => Answerer::Medium,
            };
            let took = self.arrived.remove(&done.id.0).map_or(0, |since| done.at.since(since).ns());
            self.scenes.push(Scene::Answered { at: done.at.ns(), id: done.id.0, by, took });
        }
    }
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::WorkloadOptions;

    use super::*;
    use crate::{Embedded, Source as _};

    fn filmed(drive: &str, rw: &str, ms: u64) -> Film {
        let spec = Embedded.spec(drive).unwrap();
        let profile = Embedded.profile(&spec).unwrap();
        let options = WorkloadOptions {
            rw: Some(rw.parse().unwrap()),
            iodepth: Some(8),
            runtime: Some(Span::from_secs(5)),
            ..WorkloadOptions::default()
        };
        let workload = options.check().unwrap();
        film(&spec, &profile, &workload, (1, Span::from_ms(ms))).unwrap()
    }

    #[test]
    fn every_request_that_is_answered_has_arrived_and_its_access_is_where_the_sector_passes() {
        let film = filmed("seagate-st31000333as", "randread", 500);
        let platter = film.platter.as_ref().unwrap();
        let answers = film.scenes.iter().filter(|scene| matches!(scene, Scene::Answered { .. }));
        let answered = answers.count();
        assert!(answered > 20 && film.scenes.is_sorted_by_key(|scene| scene.at() / 1_000_000));
        for scene in &film.scenes {
            let Scene::Begun { on_sector, angle, cylinder, ahead: false, .. } = *scene else {
                continue;
            };
            assert!(cylinder < platter.cylinders);
            // The platter turns with the clock: the sector is under the head when it is read.
            let turned = on_sector % platter.revolution_ns;
            let expected = (u64::from(angle) * platter.revolution_ns) >> 32;
            let off = turned.abs_diff(expected);
            assert!(off.min(platter.revolution_ns - off) < 20_000, "{turned} and {expected}");
        }
    }

    #[test]
    fn the_dies_of_a_solid_state_drive_are_seen_at_work() {
        let film = filmed("generic-sata", "randwrite", 50);
        let flash = film.flash.unwrap();
        assert!(flash.dies > 1 && flash.channels > 1);
        let programs = film
            .scenes
            .iter()
            .filter(|scene| matches!(scene, Scene::Die { work: DieWork::Program, .. }));
        assert!(programs.count() > 10);
    }
}
