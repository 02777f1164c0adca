use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use drivelab_core::Refusal;
use drivelab_core::outline::Risk;
use drivelab_core::plan::{Design, Plan};
use drivelab_core::record::{HostStart, Tally};
use drivelab_core::units::Span;

use super::super::tests::{TODAY, tally};
use super::super::threads::Thread;
use super::*;
use crate::file::StudyFile;
use crate::file::tests::TwoKeys;
use crate::folder::{Begun as Opened, Header, Out, PLAN_SCHEMA};
use crate::stage::{Entered, StoredRun, Task};
use crate::{Agenda, Progressed, carry_out};
use drivelab_core::Control;

const STUDY: &str = r#"
    title = "Does it help all hosts?"
    primary = "read.iops"
    blocks = 3
    stage = "hardware"
    [[arm]]
    name = "one"
    revert = "undo it"
    [[arm]]
    name = "two"
    revert = "undo it"
    [[workload]]
    name = "read"
    rw = "randread"
    number_ios = 10
"#;

/// How long a run takes.
const WINDOW: Span = Span::from_ms(5);

/// When something goes wrong, and at which rank.
#[derive(Clone, Copy, PartialEq)]
enum Mishap {
    None,
    /// A rank is killed in its run of this number.
    Dies(u32, usize),
    /// A rank is killed when it has sent what it measured in its run of this number.
    DiesAfter(u32, usize),
    /// A rank cannot put the second arm in place.
    CannotEnter(u32),
    /// A rank cannot begin a run.
    CannotBegin(u32),
    /// A rank cannot finish a run.
    CannotFinish(u32),
}

/// One rank's own stage.
struct Bench<'a> {
    thread: &'a Thread,
    mishap: Mishap,
    /// Seeds of its runs, in order.
    seeds: &'a RefCell<Vec<(usize, u64)>>,
    /// What it did, in words.
    did: &'a RefCell<Vec<String>>,
    size: Bytes,
}

impl Stage for Bench<'_> {
    type Error = Refusal;

    fn target(&self) -> String {
        "file".into()
    }

    fn enter(&mut self, arm: usize) -> Result<Entered, Refusal> {
        if arm == 1 && self.mishap == Mishap::CannotEnter(self.thread.rank()) {
            return Err(Refusal::machine("no such switch"));
        }
        self.did.borrow_mut().push(format!("enter {arm}"));
        Ok(Entered::Ready)
    }

    fn leave(&mut self, arm: usize) -> Result<(), Refusal> {
        self.did.borrow_mut().push(format!("leave {arm}"));
        Ok(())
    }

    fn run(&mut self, _request: PlannedRun) -> Result<RunRecord, Refusal> {
        unreachable!("ranks run together")
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        Vec::new()
    }

    fn risks(&self, _runs: &[StoredRun]) -> Vec<Risk> {
        Vec::new()
    }

    fn notes(&self, _runs: &[StoredRun]) -> Vec<String> {
        Vec::new()
    }

    fn size(&self) -> Option<Bytes> {
        Some(self.size)
    }
}

impl Member for Bench<'_> {
    fn run_from(
        &mut self,
        request: PlannedRun,
        line: &mut Line<'_>,
    ) -> Result<Option<Measured>, Refusal> {
        let rank = self.thread.rank();
        if self.mishap == Mishap::CannotBegin(rank) {
            return Err(Refusal::machine("the disk is full"));
        }
        let Some(agreed) = line() else { return Ok(None) };
        let end = agreed.start + WINDOW;
        self.thread.sleep_until(end);
        self.seeds.borrow_mut().push((request.arm, request.seed));
        let number = self.seeds.borrow().len();
        if self.mishap == Mishap::Dies(rank, number) {
            resume_unwind(Box::new("killed"));
        }
        if self.mishap == Mishap::DiesAfter(rank, number) {
            self.thread.die_after_next();
        }
        if self.mishap == Mishap::CannotFinish(rank) {
            return Err(Refusal::machine("the disk is gone"));
        }
        assert_eq!(self.thread.calls_within(agreed.start, end), 0, "a message while it measures");
        let record: RunRecord = serde_json::from_str(TODAY).unwrap();
        let tally = tally(rank, 100 + request.seed % 7);
        let began = self.thread.true_ns(agreed.start);
        Ok(Some(Measured {
            record: RunRecord { total: Some(tally.record()), ..record },
            tally,
            start: HostStart { late_ns: 0, unix_ns: began },
            interrupted: false,
        }))
    }

    fn use_size(&mut self, size: Bytes) {
        self.size = size;
    }
}

/// What a session came to.
#[derive(Default)]
struct Session {
    progressed: Option<Result<Progressed, Refusal>>,
    runs: Vec<StoredRun>,
    /// Of each rank.
    seeds: Vec<Vec<(usize, u64)>>,
    did: Vec<Vec<String>>,
    followed: Vec<Option<Followed>>,
    target: String,
    lost: Vec<u32>,
}

/// Makes the runs of the study that `folder` has not, on three ranks.
fn session(folder: &Path, mishap: Mishap, patience: Span) -> Session {
    let seen = Mutex::new(Session {
        seeds: vec![Vec::new(); 3],
        did: vec![Vec::new(); 3],
        followed: vec![None; 3],
        ..Session::default()
    });
    let threads = Thread::all(&[0, 50, -50], 100);
    let one = |thread: &Thread| {
        let (seeds, did) = (RefCell::default(), RefCell::default());
        let rank = thread.rank();
        let size = Bytes::mib(8 - u64::from(rank));
        let stage = Bench { thread, mishap, seeds: &seeds, did: &did, size };
        let mut crew = Crew::new(thread, patience);
        let terms = Terms { host: format!("host-{rank}"), ready_within: READY, patience };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            if rank == 0 {
                return carry_out_here(folder, &mut crew, (&terms, stage), &seen);
            }
            let followed = follow(&mut crew, &terms, |_| Ok(stage));
            seen.lock().unwrap().followed[rank as usize] = followed.ok();
        }));
        let is_killed =
            matches!(mishap, Mishap::Dies(who, _) | Mishap::DiesAfter(who, _) if who == rank);
        assert_eq!(ended.is_err(), is_killed, "rank {rank}");
        let mut seen = seen.lock().unwrap();
        seen.seeds[rank as usize] = seeds.into_inner();
        seen.did[rank as usize] = did.into_inner();
    };
    thread::scope(|scope| {
        let one = &one;
        for thread in threads {
            scope.spawn(move || one(&thread));
        }
    });
    seen.into_inner().unwrap()
}

/// What rank 0 does.
fn carry_out_here(
    folder: &Path,
    crew: &mut Crew<'_, Thread>,
    (terms, stage): (&Terms, Bench<'_>),
    seen: &Mutex<Session>,
) {
    let study = StudyFile::parse("hosts.toml", STUDY, &TwoKeys).unwrap();
    let mut leader = lead(crew, terms, STUDY.to_owned(), || Ok(stage)).unwrap();
    let target = leader.target();
    let header = Header {
        schema: PLAN_SCHEMA.into(),
        target: target.clone(),
        stage: drivelab_core::StageName::Hardware,
        seed: study.seed,
        plan: Plan::new(Design::Interleaved, 2, 3, study.seed),
        asked: None,
    };
    let (control, agenda) = (Control::unattended(), Agenda::new(&study, &header.plan));
    let mut out = if Opened::is_in(folder).unwrap() {
        let going = Opened::open(folder).unwrap().resume(STUDY, &header, &control).unwrap();
        going.out(&agenda, &control)
    } else {
        Out::create(folder, STUDY, &header, &control).unwrap()
    };
    let progressed = carry_out(&study, &agenda, &mut leader, &mut out, &control, &|_| None);
    crew.dismiss();
    let mut seen = seen.lock().unwrap();
    seen.progressed = Some(progressed);
    seen.lost = crew.lost().collect();
    seen.target = target;
    seen.runs = out.into_runs().1;
}

const PATIENCE: Span = Span::from_secs(20);
const SHORT: Span = Span::from_ms(600);
const READY: Span = Span::from_secs(30);

fn is_done(session: &Session) -> bool {
    matches!(session.progressed, Some(Ok(Progressed::Done)))
}

fn refusal(session: &Session) -> String {
    session.progressed.as_ref().unwrap().as_ref().unwrap_err().to_string()
}

#[test]
fn all_ranks_make_every_run_and_the_total_is_their_sum_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path(), Mishap::None, PATIENCE);
    assert!(is_done(&session), "{:?}", session.progressed);
    assert_eq!(session.followed[1..], [Some(Followed::ToTheEnd); 2]);
    assert_eq!(session.target, "file on host-0, host-1, host-2");
    assert_eq!(session.runs.len(), 6);
    for StoredRun { record, .. } in &session.runs {
        let hosts = record.hosts.as_ref().unwrap();
        let mut sum = Tally::default();
        let mut began = BTreeSet::new();
        for host in &hosts.hosts {
            let ios = host.run.total.as_ref().unwrap().ios;
            sum.merge(&tally(host.rank, ios));
            began.insert(host.start.unix_ns);
            assert_eq!(host.host, format!("host-{}", host.rank));
        }
        assert_eq!(record.total, Some(sum.record()));
        assert_eq!((hosts.hosts.len(), record.jobs.len(), &hosts.total), (3, 3, &None));
        let skew = began.last().unwrap() - began.first().unwrap();
        assert!(skew < 2_000_000, "{began:?}");
    }
}

#[test]
fn a_host_has_addresses_of_its_own_and_the_same_in_each_arm() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path(), Mishap::None, PATIENCE);
    let of_arm = |rank: usize, arm: usize| -> BTreeSet<u64> {
        let seeds = session.seeds[rank].iter();
        seeds.filter(|(of, _)| *of == arm).map(|(_, seed)| *seed).collect()
    };
    for rank in 0..3 {
        assert_eq!(of_arm(rank, 0), of_arm(rank, 1), "rank {rank}");
        assert_eq!(of_arm(rank, 0).len(), 3, "one a block");
    }
    assert!(of_arm(0, 0).is_disjoint(&of_arm(1, 0)));
    // Every rank enters and leaves as often as rank 0.
    assert_eq!(session.did[0], session.did[1]);
    assert_eq!(session.did[0], session.did[2]);
}

#[test]
fn a_rank_that_dies_leaves_what_is_finished_and_another_session_makes_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let cut = session(folder.path(), Mishap::Dies(2, 4), SHORT);
    let Some(Ok(Progressed::Lost(why))) = &cut.progressed else { panic!("{:?}", cut.progressed) };
    assert_eq!(why, "rank 2 (host-2) no longer answers");
    assert_eq!((cut.runs.len(), &cut.lost[..]), (3, &[2][..]));
    assert_eq!(cut.followed[1], Some(Followed::ToTheEnd));
    for rank in 0..2 {
        let last = cut.did[rank].last().unwrap();
        assert!(last.starts_with("leave"), "rank {rank} left no arm: {:?}", cut.did[rank]);
    }
    // The rank that died may have left its arm in force.
    assert!(folder.path().join("entered.json").exists());
    let rest = session(folder.path(), Mishap::None, PATIENCE);
    assert!(is_done(&rest), "{:?}", rest.progressed);
    assert!(!folder.path().join("entered.json").exists());
    for did in &rest.did {
        assert!(did[0].starts_with("leave") && did[1].starts_with("enter"), "{did:?}");
    }
    let whole = tempfile::tempdir().unwrap();
    let whole = session(whole.path(), Mishap::None, PATIENCE);
    let totals = |session: &Session| -> Vec<_> {
        session.runs.iter().map(|run| (run.step, run.record.total.clone())).collect()
    };
    assert_eq!(totals(&rest), totals(&whole));
}

#[test]
fn a_rank_that_died_between_two_runs_is_missed_before_work_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let cut = session(folder.path(), Mishap::DiesAfter(2, 3), SHORT);
    let Some(Ok(Progressed::Lost(why))) = &cut.progressed else { panic!("{:?}", cut.progressed) };
    // One that is missed for want of its work "did not leave an arm in time".
    assert_eq!(why, "rank 2 (host-2) no longer answers");
    assert_eq!((cut.runs.len(), &cut.lost[..]), (3, &[2][..]));
    assert_eq!(cut.followed[1], Some(Followed::ToTheEnd));
    for rank in 0..2 {
        assert_eq!(cut.seeds[rank].len(), 3, "rank {rank} began a run that cannot count");
        let last = cut.did[rank].last().unwrap();
        assert!(last.starts_with("leave"), "rank {rank} left no arm: {:?}", cut.did[rank]);
    }
}

#[test]
fn without_rank_0_the_others_leave_their_arm_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let cut = session(folder.path(), Mishap::Dies(0, 3), SHORT);
    assert!(cut.progressed.is_none());
    for rank in 1..3 {
        assert_eq!(cut.followed[rank], Some(Followed::Alone));
        assert!(cut.did[rank].last().unwrap().starts_with("leave"), "{:?}", cut.did[rank]);
    }
}

#[test]
fn an_arm_that_one_rank_cannot_enter_stays_at_none() {
    let folder = tempfile::tempdir().unwrap();
    let cut = session(folder.path(), Mishap::CannotEnter(1), PATIENCE);
    let why = "rank 1 (host-1) cannot put an arm in place: no such switch";
    assert_eq!(refusal(&cut), why);
    for did in &cut.did {
        let count = |what: &str| did.iter().filter(|it| it.starts_with(what)).count();
        assert_eq!(count("enter"), count("leave"), "{did:?}");
    }
}

#[test]
fn a_run_that_one_rank_cannot_make_ends_the_study_with_its_reason() {
    let of = |mishap| {
        let folder = tempfile::tempdir().unwrap();
        let cut = session(folder.path(), mishap, PATIENCE);
        assert!(cut.lost.is_empty() && cut.runs.is_empty());
        refusal(&cut)
    };
    let full = "rank 2 (host-2): the disk is full";
    assert_eq!(of(Mishap::CannotBegin(2)), full);
    assert_eq!(of(Mishap::CannotBegin(0)), "the disk is full");
    let gone = "rank 1 (host-1) could not finish a run: the disk is gone";
    assert_eq!(of(Mishap::CannotFinish(1)), gone);
    assert_eq!(of(Mishap::CannotFinish(0)), "the disk is gone");
}

#[test]
fn what_a_request_is_survives_the_way() {
    let request = PlannedRun { arm: 1, task: Task::Workload(2), seed: 1 << 63, specimen: None };
    let word = words(&Word::Run(request, Some(Bytes::mib(1))));
    let Word::Run(read, Some(size)) = serde_json::from_slice(&word).unwrap() else { panic!() };
    assert_eq!((read, size), (request, Bytes::mib(1)));
}
