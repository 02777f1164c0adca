//! One drive, however it is reached: the same body in virtual time, over NBD, as a file, and with
//! a drive that takes no time in place of a disk.
//!
//! The tests look at data, order and counts; how long it takes is told by `benches/emulation.rs`,
//! which points the same arms at the same requests.

mod client;
mod pages;
mod served;
mod virtual_time;

use drivelab_core::record::Tally;
use drivelab_core::workload::{Rw, Workload, WorkloadOptions};
use drivelab_core::{Bytes, Device, Rng, Sectors, Span};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_serve::drive::{Null, ServedDrive};
use drivelab_serve::medium::Memory;
use drivelab_serve::store::Store;

pub(crate) use client::Client;
pub(crate) use served::{Mounted, Served};
pub(crate) use virtual_time::VirtualTime;

use pages::{PAGE, label, shuffled};

/// A way to reach a drive.
pub(crate) trait Arm {
    /// Writes `data` from byte `at` on.
    fn write(&mut self, at: u64, data: &[u8]);
    /// Reads into `data` from byte `at` on.
    fn read(&mut self, at: u64, data: &mut [u8]);
    /// What was written becomes durable.
    fn flush(&mut self);
    /// Makes the workload's requests, which are those of any other arm with this seed.
    fn load(&mut self, workload: &Workload, seed: u64) -> Tally;
}

/// A drive by its profile's name, or the text of a profile, or the drive that takes no time.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Named(&'static str),
    Text(String),
    Null,
}

impl Kind {
    /// A drive that takes `service` for any request, and any number at once.
    pub(crate) fn fixed(service: &str) -> Self {
        Self::Text(format!("base = \"fixed\"\n[fixed]\nservice = \"{service}\"\nservers = 64\n"))
    }

    /// Builds it, with its data in memory.
    pub(crate) fn build(&self, seed: u64) -> ServedDrive {
        let device = self.device(seed);
        let medium = Memory::new(device.capacity(), Bytes::mib(64));
        ServedDrive::new(device, Store::new(Box::new(medium), Sectors::new(1)), seed)
    }

    /// The device alone.
    pub(crate) fn device(&self, seed: u64) -> Box<dyn Device> {
        let profile = match self {
            Self::Null => return Box::new(Null::new(Sectors::holding(Bytes::gib(1)))),
            Self::Named(name) => Profile::embedded(name).expect("it comes with drivelab"),
            Self::Text(text) => Profile::parse("test.toml", text, &|_| None).expect("ours"),
        };
        let drive = drivelab_model::build(&profile, &Options::default(), seed);
        Box::new(drive.expect("a profile as it is can be built"))
    }
}

/// `number_ios` random reads of a page at a depth, over the first `size` bytes.
pub(crate) fn random_reads(iodepth: u32, size: Bytes, number_ios: u64) -> Workload {
    let options = WorkloadOptions {
        rw: Some(Rw::RandRead),
        iodepth: Some(iodepth),
        size: Some(size),
        number_ios: Some(number_ios),
        runtime: Some(Span::from_secs(3600)),
        ..WorkloadOptions::default()
    };
    options.check().expect("plain options")
}

/// Pages that are written; the rest of the drive is a hole.
const PAGES: u64 = 64;

/// The body: `least` is the time below which no answer of this drive may come.
fn conforms(arm: &mut dyn Arm, least: Span) {
    what_is_written_is_read(arm);
    requests_are_answered_once_and_never_early(arm, least);
}

fn what_is_written_is_read(arm: &mut dyn Arm) {
    let mut rng = Rng::new(11);
    for round in [1, 2] {
        for page in shuffled(PAGES, &mut rng) {
            arm.write(page * PAGE, &label(page, round));
        }
    }
    // Two pages in one request, over the middle of four.
    arm.write(8 * PAGE, &[label(8, 3), label(9, 3)].concat());
    arm.flush();
    let mut found = vec![0; usize::try_from(PAGE).unwrap()];
    for page in shuffled(PAGES, &mut rng) {
        arm.read(page * PAGE, &mut found);
        let round = if page == 8 || page == 9 { 3 } else { 2 };
        assert_eq!(found, label(page, round), "page {page}");
    }
    arm.read(PAGES * PAGE, &mut found);
    assert!(found.iter().all(|byte| *byte == 0), "what was never written is zeros");
}

fn requests_are_answered_once_and_never_early(arm: &mut dyn Arm, least: Span) {
    for depth in [1, 32] {
        let (region, number) = (Bytes::new(PAGES * PAGE), 100);
        let tally = arm.load(&random_reads(depth, region, number), 7);
        assert_eq!((tally.ios(), tally.errors), (number, 0), "depth {depth}");
        assert_eq!(tally.bytes(), number * PAGE, "depth {depth}");
        let fastest = tally.lat().min().expect("there were some");
        assert!(fastest >= least, "depth {depth}: an answer after {fastest}");
    }
}

/// What each arm is shown with: a disk, a drive of known time, and one that takes none.
fn everywhere(mut with: impl FnMut(&Kind, Span)) {
    with(&Kind::fixed("500us"), Span::from_us(500));
    with(&Kind::Null, Span::ZERO);
    with(&Kind::Named("seagate-st31000333as"), Span::ZERO);
}

#[test]
fn in_virtual_time() {
    everywhere(|kind, least| conforms(&mut VirtualTime::new(kind.build(1)), least));
}

#[test]
fn over_nbd() {
    everywhere(|kind, least| {
        let served = Served::start(kind, 1, None);
        conforms(&mut Client::connect(served.nbd()), least);
        let stats = served.stop().stats;
        assert!(stats.served.ios > 200 && stats.in_flight_max >= 2, "{stats:?}");
    });
}

#[test]
fn as_a_file() {
    if let Err(why) = Mounted::is_possible() {
        pages::say(&format!("left out: a drive as a file was not tried: {why}"));
        return;
    }
    everywhere(|kind, least| {
        let mut mounted = Mounted::start(kind, 1);
        conforms(&mut mounted, least);
        mounted.stop();
    });
}

#[test]
fn a_served_drive_in_virtual_time_is_the_simulated_one_to_the_last_count() {
    let kind = Kind::Named("seagate-st31000333as");
    for depth in [1, 32] {
        let workload = random_reads(depth, Bytes::gib(900), 2000);
        let served = VirtualTime::new(kind.build(3)).load(&workload, 5);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let control = drivelab_core::Control::silent(&stop);
        let mut drive = drivelab_load::VirtualTarget::new(kind.device(3));
        let jobs = [drivelab_load::VirtualJobs::one(&workload, 5)];
        let alone = drivelab_load::simulate(&mut drive, &jobs, &control).unwrap()[0].total();
        assert_eq!(served.lat(), alone.lat(), "depth {depth}");
        assert_eq!(served.elapsed, alone.elapsed, "depth {depth}");
    }
}
