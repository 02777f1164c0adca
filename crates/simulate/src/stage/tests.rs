use drivelab_model::options::Switch;

use super::*;
use crate::{Embedded, ModelKeys};

const SMALL: &str = r#"
title = "Does a narrow bus matter?"
primary = "sequential-read-1.scaling"
blocks = 1
[base]
drive = "seagate-st31000333as"
drives = 2
[[arm]]
name = "narrow"
bus = "pci"
[[arm]]
name = "narrow-uncached"
bus = "pci"
write-cache = "off"
[matrix]
read = [100, 0]
random = [0, 100]
threads = [1, 3]
bs = ["64k", "1m"]
cursor = ["own", "shared"]
runtime = "500ms"
"#;

const WORKLOADS: &str = r#"
title = "Does a queue help?"
primary = "read.iops"
[base]
drive = "seagate-st31000333as"
[[arm]]
name = "ide"
controller = "ide"
[[arm]]
name = "ahci"
controller = "ahci"
[[workload]]
name = "read"
rw = "randread"
iodepth = 8
number_ios = 500
[curve]
rw = "randread"
iodepth = [1, 4, 16]
number_ios = 500
"#;

fn simulator(text: &str, threads: usize) -> (Simulator, StudyFile) {
    let mut study = StudyFile::parse("small", text, &ModelKeys).unwrap();
    let mut simulator = Simulator::new(&mut study, &Embedded).unwrap();
    simulator.threads = NonZeroUsize::new(threads).unwrap();
    (simulator, study)
}

#[test]
fn an_elevator_that_only_a_kernel_has_is_described_at_stage_kernel_alone() {
    let text = WORKLOADS.replace("controller = \"ide\"", "scheduler = \"bfq\"");
    let mut study = StudyFile::parse("small", &text, &ModelKeys).unwrap();
    let refused = Simulator::new(&mut study, &Embedded).unwrap_err().to_string();
    assert!(refused.contains("the scheduler `bfq` is not modelled"), "{refused}");
    study.stage = drivelab_core::StageName::Kernel;
    let simulator = Simulator::new(&mut study, &Embedded).unwrap();
    let attached = simulator.about(0).attached.unwrap();
    assert_eq!(attached.scheduler.to_string(), "bfq");
    assert!(simulator.median(0, Task::Workload(0)).is_some());
    let facts = simulator.attached(0, Task::Workload(0));
    assert_eq!(facts.devices[0].facts["scheduler"], "bfq".into());
}

/// A run of every kind in every arm.
fn requests(study: &StudyFile) -> Vec<PlannedRun> {
    let points = study.curve.as_ref().map_or(0, |curve| curve.depths.len());
    let tasks = (0..study.workloads.len()).map(Task::Workload);
    let tasks = tasks.chain((0..points).map(Task::Curve));
    let tasks: Vec<Task> = tasks.chain((0..study.cells.len()).map(Task::Cell)).collect();
    let specimen = study.draws_specimens.then_some(3);
    let request = move |arm, task| PlannedRun { arm, task, seed: 7, specimen };
    let of_arm = |arm| tasks.iter().map(move |&task| request(arm, task));
    (0..study.arms.len()).flat_map(of_arm).collect()
}

#[test]
fn records_do_not_depend_on_how_many_threads_make_them_nor_on_the_runs_beside_them() {
    for text in [SMALL, WORKLOADS] {
        let (mut one, study) = simulator(text, 1);
        let (mut three, _) = simulator(text, 3);
        let requests = requests(&study);
        let alone: Vec<RunRecord> =
            requests.iter().map(|request| one.run(*request).unwrap()).collect();
        assert_eq!(alone, three.run_all(&requests).unwrap());
    }
}

#[test]
fn reads_are_made_once_for_both_states_of_the_write_cache_and_alike_drives_once() {
    let (mut simulator, study) = simulator(SMALL, 2);
    // Sixteen cells, and four that a shared cursor changes, on two drives and on both.
    assert_eq!(study.cells.len(), (16 + 4) * 3);
    let records = simulator.run_all(&requests(&study)).unwrap();
    // Six sequential cells: one drive alone, and all together. Four random ones: each of the
    // two drives alone, and both together. Reads once for both arms, writes in each.
    assert_eq!(simulator.made.len(), (1 + 2) * (6 * 2 + 4 * 3));
    // A record says what its arm is all the same.
    let caches = |arm: usize| {
        let of_arm = &records[arm * study.cells.len()..][..study.cells.len()];
        of_arm.iter().filter(|record| record.target.contains("write-cache=off")).count()
    };
    assert_eq!((caches(0), caches(1)), (0, study.cells.len()));
}

#[test]
fn a_write_cache_changes_nothing_for_reads() {
    let (simulator, study) = simulator(SMALL, 1);
    let profile = &simulator.arms[0].profile;
    for request in requests(&study) {
        let run = simulator.cell(request).unwrap().unwrap();
        if !run.workload.rw.writes() {
            let mut cached = run.clone();
            cached.options.write_cache = Some(Switch::On);
            let figures = |run: &CellRun| run.make(profile, &Embedded.control()).unwrap();
            assert_eq!(figures(&run), figures(&cached), "{}", run.key());
        }
    }
}
