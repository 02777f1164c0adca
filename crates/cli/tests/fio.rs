//! `fio`: the command line and the results of fio.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{drivelab, file, folder, left_out};

const JOB: &str = "\
[global]
size=1m
filename=data
[fill]
rw=write
bs=64k
fsync=4
end_fsync=1
[read]
stonewall
rw=randread
ioengine=libaio
iodepth=4
numjobs=2
group_reporting
";

/// The paths of all keys of a document.
fn keys(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                // Buckets differ from run to run.
                let path = if path.ends_with("/bins") { "N" } else { key };
                let path = format!("{path}/{key}");
                let path = if path.starts_with("N/") { "N".to_owned() } else { path };
                all.insert(path.clone());
                keys(value, &path, all);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, path, all)),
        _ => {}
    }
}

fn keys_of(document: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (index, job) in document["jobs"].as_array().expect("jobs").iter().enumerate() {
        keys(job, &format!("job {index}"), &mut all);
    }
    all.extend(document.as_object().expect("an object").keys().cloned());
    all
}

#[test]
fn the_json_has_the_keys_of_the_fio_that_is_installed() {
    let folder = folder();
    file(folder.path(), "a.fio", JOB);
    for form in ["json", "json+"] {
        let format = format!("--output-format={form}");
        let said = drivelab(folder.path(), &["fio", &format, "a.fio"]);
        assert_eq!(said.code, 0, "{said:?}");
        let ours = said.json();
        assert_eq!(ours["jobs"][1]["read"]["total_ios"], 512);
        assert_eq!(ours["jobs"].as_array().unwrap().len(), 2, "one entry for the group");
        assert_eq!(ours["jobs"][0]["sync"]["total_ios"], 4);
        // What fio writes is foreign to us.
        let apart = folder.path().join("theirs");
        fs::create_dir_all(&apart).unwrap();
        let theirs = Command::new("fio").current_dir(&apart).args([&format, "../a.fio"]).output();
        let theirs = match theirs {
            Ok(output) => output.stdout,
            Err(error) => return left_out("the keys of fio", error),
        };
        let theirs: Value = serde_json::from_slice(&theirs).expect("fio writes JSON");
        let (ours, theirs) = (keys_of(&ours), keys_of(&theirs));
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let more: Vec<_> = ours.difference(&theirs).collect();
        assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
    }
}

#[test]
fn every_problem_of_a_command_line_is_reported_and_ends_with_the_exit_code_of_fio() {
    let folder = folder();
    let wrong = ["fio", "--name=x", "--size=1m", "--prio=3", "--badopt=1", "--bs=q"];
    drivelab(folder.path(), &wrong)
        .failed(1, &["3 options", "`prio`", "`badopt`", "`q`", "--ignore"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    drivelab(folder.path(), &["fio"]).failed(1, &["no job is defined", "--name"]);
    drivelab(folder.path(), &["fio", "none.fio"]).failed(1, &["none.fio"]);
    let writes = ["fio", "--readonly", "--name=x", "--size=1m", "--rw=write"];
    drivelab(folder.path(), &writes).failed(1, &["--readonly"]);
    let waived = ["fio", "--name=x", "--size=64k", "--prio=3", "--ignore", "prio"];
    let said = drivelab(folder.path(), &waived);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("`prio`: ignored, as requested"), "{said:?}");
    // A file with foreign data is not written without permission.
    file(folder.path(), "mine", &"words ".repeat(1000));
    let writes = ["fio", "--name=x", "--filename=mine", "--size=4k", "--rw=write"];
    drivelab(folder.path(), &writes).failed(1, &["--overwrite"]);
    let said = drivelab(folder.path(), &[&writes[..], &["--overwrite"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn what_a_job_wrote_is_read_back() {
    let folder = folder();
    let write = ["fio", "--name=v", "--filename=data", "--size=256k", "--bs=4k", "--rw=randwrite"];
    let said = drivelab(folder.path(), &[&write[..], &["--verify=crc32c"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    file(folder.path(), "v.fio", "[v]\nfilename=data\nsize=256k\nrw=randwrite\nverify=md5\n");
    let said = drivelab(folder.path(), &["run", "--job", "v.fio", "--json"]);
    let verification = &said.json()["verification"];
    assert_eq!((&verification["promised"], &verification["good"]), (&64.into(), &64.into()));
    // A block that changes afterwards is found by what the job left.
    let path = folder.path().join("data");
    let mut data = fs::read(&path).unwrap();
    data[5 * 4096 + 17] ^= 1;
    fs::write(&path, data).unwrap();
    let check =
        ["run", "data", "--verify-only", "--verify-state", "data.v.0.0.verify-state", "--json"];
    let said = drivelab(folder.path(), &check);
    assert_eq!(said.code, 1, "{said:?}");
    let verification = &said.json()["verification"];
    assert_eq!((&verification["promised"], &verification["good"]), (&64.into(), &63.into()));
}

#[test]
fn the_processor_time_of_the_jobs_is_theirs() {
    let folder = folder();
    let words = ["--group_reporting", "--name=a", "--size=32m", "--rw=write", "--numjobs=2"];
    let said = drivelab(folder.path(), &[&["fio", "--output-format=json"], &words[..]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let document = said.json();
    let job = &document["jobs"][0];
    // 16,384 writes into the page cache are system calls; two jobs use no more than all their time.
    let [user, system] = ["usr_cpu", "sys_cpu"].map(|key| job[key].as_f64().unwrap());
    assert!(system > 0.0 && user + system < 101.0, "{user} {system}");
    assert!(job["ctx"].is_u64() && job["majf"].is_u64() && job["minf"].is_u64(), "{job}");
    let text = drivelab(folder.path(), &[&["fio"], &words[..]].concat()).out;
    let line = text.lines().find(|line| line.starts_with("  cpu ")).unwrap();
    assert!(!line.contains("sys=0.00%"), "{line}");
}

#[test]
fn the_program_is_asked_what_fio_is_asked() {
    let folder = folder();
    file(folder.path(), "a.fio", JOB);
    let run = |words: &[&str]| {
        let said = drivelab(folder.path(), &[&["fio"], words].concat());
        assert_eq!(said.code, 0, "{said:?}");
        said
    };
    assert!(run(&["--version"]).out.starts_with("fio-3."));
    let command = run(&["--showcmd", "a.fio"]).out;
    let expected = "fio --size=1m --filename=data --name=fill --rw=write";
    assert!(command.starts_with(expected), "{command}");
    assert_eq!(run(&["--parse-only", "a.fio"]).out, "");
    assert!(!folder.path().join("data").exists());
    let said = run(&["a.fio", "--section=fill", "--output=out", "--output-format=normal,terse"]);
    assert_eq!(said.out, "");
    let text = fs::read_to_string(folder.path().join("out")).unwrap();
    let terse = text.lines().last().unwrap();
    assert!(text.contains("  WRITE: bw=") && terse.starts_with("3;fio-3."), "{text}");
    // The other section was not run.
    assert!(!text.contains("READ"), "{text}");
    // The archive has it, in every form of fio's and for Prometheus.
    let export = |form| drivelab(folder.path(), &["export", "label:fill", "--format", form]);
    assert_eq!(export("fio").json()["jobs"][0]["write"]["total_ios"], 16);
    let metrics = export("openmetrics");
    assert!(metrics.out.contains("drivelab_requests_total{job=\"fill\""), "{metrics:?}");
    assert_eq!(export("fio-log").code, 0);
    // The page cache is no disk.
    assert!(said.err.contains("warning: [fill] buffered writes"), "{said:?}");
    let pasted =
        "$ sudo fio --name=b --size=64k > out.txt &\n# fio --name=c --size=64k | tee log\n";
    file(folder.path(), "pasted", pasted);
    let said = drivelab(folder.path(), &["run", "--job", "pasted", "--json"]);
    assert_eq!(said.json()["jobs"].as_array().unwrap().len(), 2, "{said:?}");
}

#[test]
fn sections_that_share_a_file_are_verified() {
    let folder = folder();
    let global = "[global]\nfilename=data\nsize=64k\nbs=4k\nverify=crc32c\n";
    let run = |sections: &str| {
        file(folder.path(), "v.fio", &format!("{global}{sections}"));
        drivelab(folder.path(), &["run", "--job", "v.fio", "--json"])
    };
    let promised = |said: &crate::common::Said, job: usize| {
        let found = &said.json()["jobs"][job]["verification"];
        (found["promised"].as_u64(), found["good"].as_u64())
    };
    // A section that only reads checks what an earlier one wrote, also where that one checks nothing.
    let later = run("[w]\nrw=randwrite\ndo_verify=0\n[r]\nstonewall\nrw=read\n");
    assert_eq!(later.code, 0, "{later:?}");
    assert_eq!(promised(&later, 1), (Some(16), Some(16)), "{later:?}");
    // Parts of one file at the same time.
    let parts = run("[a]\nrw=randwrite\n[b]\nrw=randwrite\noffset=64k\n");
    assert_eq!(parts.code, 0, "{parts:?}");
    assert_eq!(promised(&parts, 1), (Some(16), Some(16)), "{parts:?}");
    run("[a]\nrw=write\n[b]\nrw=write\noffset=32k\n").failed(2, &["the same blocks", "stonewall"]);
}

#[test]
fn several_files_of_a_job_are_all_used() {
    let folder = folder();
    let several = [
        "fio",
        "--name=x",
        "--filename=a:b",
        "--size=128k",
        "--bs=4k",
        "--rw=write",
        "--iodepth=8",
        "--ioengine=io_uring",
        "--output-format=json",
    ];
    let said = drivelab(folder.path(), &several);
    if said.err.contains("io_uring") && said.code != 0 {
        return left_out("several files of a job", "no io_uring");
    }
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("4 of 8 outstanding requests"), "{said:?}");
    let json = said.json();
    let jobs = json["jobs"].as_array().unwrap().iter();
    let writes: Vec<u64> = jobs.filter_map(|job| job["write"]["total_ios"].as_u64()).collect();
    assert_eq!(writes.iter().sum::<u64>(), 32, "{said:?}");
    let length = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
    assert_eq!((length("a"), length("b")), (64 << 10, 64 << 10));
}

#[test]
fn files_may_be_created_only() {
    let folder = folder();
    let prepare = ["fio", "--create_only=1", "--filename=data", "--size=64k", "--name=prepare"];
    let said = drivelab(folder.path(), &prepare);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(fs::metadata(folder.path().join("data")).unwrap().len(), 64 << 10);
    file(folder.path(), "c.fio", "[c]\ncreate_only=1\nsize=64k\n[r]\nfilename=data\nrw=read\n");
    let said = drivelab(folder.path(), &["run", "--job", "c.fio", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json()["total"]["ios"], 16);
    assert!(folder.path().join("c.0.0").exists());
}

/// The reads of a job of a report.
fn made(report: &Value, job: usize) -> u64 {
    report["jobs"][job]["read"]["total_ios"].as_u64().unwrap()
}

#[test]
fn jobs_of_a_flow_keep_their_proportion() {
    let folder = folder();
    let job = "[global]\nrw=read\nsize=64k\nbs=4k\nioengine=null\ntime_based\nruntime=1\n\
               [a]\nflow=3\n[b]\nflow=1\n";
    file(folder.path(), "flow.fio", job);
    let said = drivelab(folder.path(), &["fio", "--output-format=json", "flow.fio"]);
    assert_eq!(said.code, 0, "{said:?}");
    let report = said.json();
    let [heavy, light] = [0, 1].map(|job| made(&report, job));
    // The last to end is alone for a moment.
    assert!(light > 0 && (light * 27..=light * 33).contains(&(heavy * 10)), "{heavy} {light}");
}

#[test]
fn a_lock_is_refused_where_there_is_no_file() {
    let folder = folder();
    let locked = ["fio", "--name=x", "--rw=write", "--size=64k", "--lockfile=exclusive"];
    let said =
        drivelab(folder.path(), &[&locked[..], &["--numjobs=2", "--filename=data"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let modelled = [&locked[..], &["--filename=drive:generic-nvme"]].concat();
    drivelab(folder.path(), &modelled).failed(1, &["`lockfile`", "modelled drive"]);
}

#[test]
fn reports_follow_one_another_while_a_job_runs() {
    let folder = folder();
    let job = "[global]\nrw=randread\nsize=64k\nioengine=null\ntime_based\nruntime=1\n\
               [a]\n[b]\nstonewall\n";
    file(folder.path(), "two.fio", job);
    let runs = ["fio", "--status-interval=200ms", "two.fio"];
    let said = drivelab(folder.path(), &[&runs[..], &["--output-format=json"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let reports = serde_json::Deserializer::from_str(&said.out).into_iter::<Value>();
    let reports: Vec<Value> = reports.collect::<Result<_, _>>().unwrap();
    let ios: [Vec<u64>; 2] =
        [0, 1].map(|job| reports.iter().map(|report| made(report, job)).collect());
    assert!(reports.len() >= 2, "{said:?}");
    assert!(ios.iter().all(|of_job| of_job.is_sorted()), "{ios:?}");
    // Before it begins, a job has zeros.
    assert_eq!(ios[1][0], 0);
    let file = ["--output=report", "--output-format=terse"];
    let said = drivelab(folder.path(), &[&runs[..], &file].concat());
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    let text = fs::read_to_string(folder.path().join("report")).unwrap();
    assert!(text.lines().filter(|line| line.starts_with("3;fio-")).count() >= 4, "{text}");
}

#[test]
fn a_target_for_latencies_ends_the_search_for_a_depth_or_the_job() {
    let folder = folder();
    let searches = [
        "fio",
        "--name=x",
        "--rw=randread",
        "--size=64k",
        "--time_based",
        "--runtime=60",
        "--iodepth=4",
        "--latency_window=10ms",
        "--output-format=json",
    ];
    let real = ["--ioengine=null", "--latency_target=10s"];
    let said = drivelab(folder.path(), &[&searches[..], &real].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let job = &said.json()["jobs"][0];
    let runtime_ms = job["job_runtime"].as_u64().unwrap();
    assert!((10..60_000).contains(&runtime_ms), "{runtime_ms}");
    assert_eq!(job["latency_target"], 10_000_000_000_u64);
    assert_eq!((&job["latency_window"], &job["latency_depth"]), (&10_000.into(), &4.into()));
    let modelled = ["--filename=drive:generic-nvme", "--ioengine=io_uring", "--latency_target=1us"];
    let said = drivelab(folder.path(), &[&searches[..], &modelled].concat());
    said.failed(1, &["`latency_target`"]);
}
