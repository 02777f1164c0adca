//! `run --job` and `run --matrix`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{drivelab, file, folder};

const JOB: &str = "\
; as guides have them
[global]
ioengine=psync
size=1m
filename=data
group_reporting
[fill]
rw=write
bs=64k
[read]
stonewall
rw=randread
bs=4k
numjobs=2
";

#[test]
fn a_job_file_runs_group_after_group() {
    let folder = folder();
    file(folder.path(), "test.fio", JOB);
    let said = drivelab(folder.path(), &["run", "--job", "test.fio", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let document = said.json();
    assert_eq!(document["schema"], "drivelab.run/1");
    let figures = |place: usize, key: &str| document["jobs"][place][key].clone();
    assert_eq!((figures(0, "ios"), figures(0, "reads")), (16.into(), 0.into()));
    assert_eq!((figures(1, "ios"), figures(1, "reads")), (512.into(), 512.into()));
    assert_eq!(document["jobs"][1]["group"], 1);
    assert_eq!(document["jobs"][1]["threads"].as_array().unwrap().len(), 2);
    let total = &document["total"];
    assert_eq!((&total["ios"], &total["lat_ns"]["n"]), (&528.into(), &528.into()));
    assert_eq!(document["target"], "data");
    assert!(said.err.contains("group_reporting"), "{said:?}");
    let other = drivelab(folder.path(), &["run", "other", "--job", "test.fio"]);
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(fs::metadata(folder.path().join("other")).unwrap().len(), 1 << 20);
}

#[test]
fn jobs_are_counted_before_anything_else_is_done_about_them() {
    let folder = folder();
    // The last section could not even be made: nothing says how large its file is.
    let sections = "[j]\nfilename=f\nsize=4k\n".repeat(2000);
    file(folder.path(), "many.fio", &format!("{sections}[last]\nfilename=g\n"));
    drivelab(folder.path(), &["run", "--job", "many.fio"])
        .failed(2, &["1025 jobs would run together"]);
    file(folder.path(), "copies.fio", "[j]\nnumjobs=2000\n");
    drivelab(folder.path(), &["run", "--job", "copies.fio"])
        .failed(2, &["`numjobs`: 2000 is not from 1 to 1024"]);
    // Groups follow each other, and each is counted for itself.
    let groups = "[global]\nioengine=null\nfilename=f\nsize=4m\n[a]\nnumjobs=600\n\
                  [b]\nstonewall\nnumjobs=600\n";
    file(folder.path(), "groups.fio", groups);
    let said = drivelab(folder.path(), &["run", "--job", "groups.fio"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn a_job_file_of_one_job_gives_what_a_run_gives() {
    let folder = folder();
    file(folder.path(), "one.fio", "[a]\nrw=write\nfilename=data\nsize=1m\ndirect=0\n");
    let said = drivelab(folder.path(), &["run", "--job", "one.fio", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    file(folder.path(), "a.json", &said.out);
    let compared = drivelab(folder.path(), &["compare", "a.json", "a.json", "--json"]);
    assert_eq!(compared.code, 4, "{compared:?}");
    file(folder.path(), "two.fio", "[a]\nfilename=data\nsize=4k\n[b]\nfilename=data\nsize=4k\n");
    let said = drivelab(folder.path(), &["run", "--job", "two.fio", "--json"]);
    file(folder.path(), "b.json", &said.out);
    drivelab(folder.path(), &["compare", "b.json", "a.json"]).failed(2, &["2 jobs", "one run"]);
}

#[test]
fn copies_of_a_job_have_files_of_their_own_and_one_record() {
    let folder = folder();
    let text = "[four]\nrw=randread\nsize=64k\nnumjobs=4\n[all]\nstonewall\nfilename=four.0.0\n";
    file(folder.path(), "test.fio", text);
    let said = drivelab(folder.path(), &["run", "--job", "test.fio", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let jobs = said.json()["jobs"].clone();
    assert_eq!(jobs[0]["ios"], 64);
    assert_eq!(jobs[0]["target"], "four.0.0, four.1.0, four.2.0, four.3.0");
    assert_eq!(jobs[0]["threads"].as_array().unwrap().len(), 4);
    assert_eq!(jobs[0]["config"]["numjobs"], 4);
    // Of all copies together, as the figures beside it.
    let few = jobs[0]["marks"].as_array().unwrap().iter().find(|it| it["id"] == "few-requests");
    assert!(few.unwrap()["message"].as_str().unwrap().starts_with("64 requests"), "{few:?}");
    // What the group before made is as large as it is, and read in order unless told otherwise.
    assert_eq!(
        (&jobs[1]["ios"], &jobs[1]["config"]["workload"]["rw"]),
        (&16.into(), &"read".into())
    );
    for copy in 0..4 {
        let path = folder.path().join(format!("four.{copy}.0"));
        assert_eq!(fs::metadata(path).unwrap().len(), 65_536);
    }
}

#[test]
fn a_file_that_several_jobs_use_is_made_large_enough_for_all() {
    let folder = folder();
    let text = "[global]\nfilename=data\n[log]\nrw=write\nsize=64k\n\
                [tables]\nrw=randwrite\noffset=64k\nsize=192k\nend_fsync=1\n";
    file(folder.path(), "test.fio", text);
    let said = drivelab(folder.path(), &["run", "--job", "test.fio", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.json()["total"]["ios"], 64);
    let end_fsync = |job: usize| said.json()["jobs"][job]["config"]["conduct"]["end_fsync"].clone();
    assert_eq!((end_fsync(0), end_fsync(1)), (serde_json::Value::Null, true.into()));
    assert_eq!(fs::metadata(folder.path().join("data")).unwrap().len(), 262_144);
}

#[test]
fn command_lines_run_one_after_the_other() {
    let folder = folder();
    let text = "fio --name=fill --filename=data --rw=write --size=64k --bs=16k\n\
                fio -name=check -filename=data -rw=randread -bs=4k -group_reporting\n";
    file(folder.path(), "commands", text);
    let said = drivelab(folder.path(), &["run", "--job", "commands", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let jobs = said.json()["jobs"].clone();
    let figures = |place: usize| (jobs[place]["group"].clone(), jobs[place]["ios"].clone());
    assert_eq!((figures(0), figures(1)), ((0.into(), 4.into()), (1.into(), 16.into())));
}

#[test]
fn a_job_that_does_not_say_how_large_its_file_is_is_told_so() {
    let folder = folder();
    file(folder.path(), "test.fio", "[a]\nrw=read\nruntime=1\n");
    let said = drivelab(folder.path(), &["run", "--job", "test.fio"]);
    said.failed(2, &["[a] a.0.0", "size of the target is unknown", "size=1g"]);
}

fn length(folder: &Path, name: &str) -> u64 {
    fs::metadata(folder.join(name)).unwrap().len()
}

#[test]
fn folders_of_names_are_made_and_short_files_made_longer() {
    let folder = folder();
    let job = "[rand/4k]\nrw=randread\nsize=64k\n[deep]\nfilename=a/b/data\nrw=read\nsize=64k\n";
    let document = result(folder.path(), job);
    assert_eq!(document["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(
        (length(folder.path(), "rand/4k.0.0"), length(folder.path(), "a/b/data")),
        (65_536, 65_536)
    );
    // As in fio, a larger job makes the file as long as it needs it.
    let larger = result(folder.path(), "[a]\nfilename=a/b/data\nrw=read\nsize=128k\n");
    assert_eq!((&larger["total"]["ios"], length(folder.path(), "a/b/data")), (&32.into(), 131_072));
    // Foreign data stays as it is, and so does a missing folder that a job requires.
    file(folder.path(), "mine", &"words ".repeat(1000));
    file(folder.path(), "job.fio", "[a]\nfilename=mine\nrw=read\nsize=64k\n");
    let said = drivelab(folder.path(), &["run", "--job", "job.fio"]);
    said.failed(2, &["mine is shorter than the 64k", "move the file away", "would be overwritten"]);
    assert_eq!(length(folder.path(), "mine"), 6000);
    file(folder.path(), "job.fio", "[a]\ndirectory=none\nrw=read\nsize=64k\n");
    drivelab(folder.path(), &["run", "--job", "job.fio"]).failed(2, &["mkdir -p none"]);
}

#[test]
fn system_calls_are_engines_with_their_names() {
    let folder = folder();
    for engine in ["psync", "pvsync", "pvsync2", "libaio"] {
        let job = format!("[a]\nfilename=data\nsize=64k\nrw=write\nioengine={engine}\n");
        assert_eq!(result(folder.path(), &job)["config"]["ioengine"], engine);
    }
}

#[test]
fn trimmed_blocks_are_written_again() {
    let folder = folder();
    let job = "[a]\nfilename=data\nsize=64k\nrw=randtrimwrite\n";
    let document = result(folder.path(), job);
    let total = &document["total"];
    assert_eq!((&total["trim"]["ios"], &total["write"]["ios"]), (&16.into(), &16.into()));
    assert_eq!(total["errors"], 0);
}

#[test]
fn each_of_several_jobs_finds_its_steady_state() {
    let folder = folder();
    // On a drive in virtual time, which does not vary.
    let job = "[a]\nfilename=drive:generic-nvme\nioengine=libaio\nrw=randread\ntime_based\n\
               runtime=60\nnumjobs=2\nss=iops:20%\nss_dur=5\n";
    let document = result(folder.path(), job);
    let total = &document["total"];
    assert!(total["elapsed_ns"].as_u64().unwrap() < 60_000_000_000, "{total}");
    assert_eq!(total["steady"]["seconds"], 5);
}

#[test]
fn what_a_job_file_cannot_have_is_named_with_its_line() {
    let folder = folder();
    file(folder.path(), "test.fio", "[a]\nrw=read\nprio=2\n");
    let said = drivelab(folder.path(), &["run", "--job", "test.fio"]);
    said.failed(2, &["test.fio:3", "`prio`", "`ionice`"]);
}

const MATRIX: &str = "\
targets = [\"one\", \"two\"]
read = [100, 50]
threads = [1, 2]
bs = [\"4k\", \"64k\"]
size = \"1M\"
direct = false
runtime = \"10ms\"
";

/// The result of a job file in `folder`.
fn result(folder: &Path, job: &str) -> Value {
    file(folder, "job.fio", job);
    let done = drivelab(folder, &["run", "--job", "job.fio", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    done.json()
}

#[test]
fn jobs_of_a_file_draw_addresses_of_their_own() {
    let folder = folder();
    let global = "[global]\nfilename=data\nsize=1m\nioengine=psync\nrw=randread\nrandseed=7\n";
    let document = result(folder.path(), &format!("{global}[a]\nnumjobs=2\n[b]\n[c]\nstonewall\n"));
    let seed = |job: usize| document["jobs"][job]["config"]["seed"].as_u64().unwrap();
    assert_eq!(seed(0), 7);
    let distinct = BTreeSet::from([seed(0), seed(1), seed(2)]);
    assert_eq!(distinct.len(), 3, "{distinct:?}");
    let again = result(folder.path(), &format!("{global}[a]\nnumjobs=2\n[b]\n[c]\nstonewall\n"));
    let seeds = |document: &Value| -> Vec<Value> {
        let jobs = document["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["config"]["seed"].clone()).collect()
    };
    assert_eq!(seeds(&again), seeds(&document));
}

/// A writer and a reader of the same drive, as in tests of reads under the pressure of writes;
/// returns the reader's mean latency in nanoseconds.
fn mean_beside_a_writer(target: &str, rate: u32, runtime: u32, seed: &str) -> f64 {
    let folder = folder();
    let text = format!(
        "[global]\nfilename={target}\nbs=8k\nioengine=libaio\nnorandommap=1\ntime_based\n\
         runtime={runtime}\nrate_iops={rate}\n[write]\nrw=randwrite\n[read]\nrw=randread\n{seed}\n"
    );
    let document = result(folder.path(), &text);
    assert_eq!(document["jobs"][1]["reads"], rate * runtime);
    document["jobs"][1]["lat_ns"]["mean"].as_f64().unwrap()
}

#[test]
fn a_reader_does_not_read_what_the_writer_beside_it_has_just_written() {
    for (target, rate, runtime) in
        [("drive:seagate-st2000dm006", 20, 50), ("drive:generic-nvme,precondition=steady", 2000, 2)]
    {
        let same = mean_beside_a_writer(target, rate, runtime, "");
        let apart = mean_beside_a_writer(target, rate, runtime, "randseed=2");
        assert!((same / apart - 1.0).abs() < 0.05, "{target}: {same} and {apart} ns");
    }
}

#[test]
fn copies_one_behind_the_other_end_with_their_file() {
    let folder = folder();
    fs::write(folder.path().join("data"), vec![0; 16 << 20]).unwrap();
    let text = "[a]\nfilename=data\nrw=read\nbs=64k\nnumjobs=2\noffset_increment=4m\n\
                ioengine=psync\n[b]\nstonewall\nfilename=data\nrw=read\nnumber_ios=1\n";
    let document = result(folder.path(), text);
    let threads = document["jobs"][0]["threads"].as_array().unwrap();
    let ios: Vec<u64> = threads.iter().map(|job| job["ios"].as_u64().unwrap()).collect();
    assert_eq!(ios, [256, 192]);
    assert_eq!(document["jobs"][0]["target"], "data");
}

#[test]
fn a_file_is_created_only_where_the_job_may() {
    let folder = folder();
    let refused = |job: &str, arguments: &[&str]| {
        file(folder.path(), "job.fio", job);
        let words = [&["run", "--job", "job.fio"], arguments].concat();
        let said = drivelab(folder.path(), &words);
        said.failed(2, &["[a] data does not exist, and the job must not create it"]);
        assert!(!folder.path().join("data").exists());
    };
    let reads = "[a]\nfilename=data\nsize=1m\nrw=read\nioengine=psync\n";
    refused(&format!("{reads}allow_file_create=0\n"), &[]);
    refused(&format!("{reads}readonly\n"), &[]);
    refused(reads, &["--readonly"]);
    // A job before it may create the file.
    let writes = "[w]\nfilename=data\nsize=1m\nrw=write\nioengine=psync\n";
    result(folder.path(), &format!("{writes}{reads}stonewall\nallow_file_create=0\n"));
}

#[test]
fn a_refused_job_file_leaves_no_file() {
    let folder = folder();
    file(folder.path(), "thesis", &"of years ".repeat(200_000));
    // `data` is laid out beforehand, since its second job needs more of it.
    let text = "[a]\nfilename=thesis\nsize=1m\nrw=write\n[b]\nfilename=data\nsize=1m\nrw=read\n\
                [c]\nfilename=data\nsize=2m\nrw=read\n";
    file(folder.path(), "job.fio", text);
    let said = drivelab(folder.path(), &["run", "--job", "job.fio"]);
    said.failed(2, &["contains data that drivelab did not write"]);
    assert!(!folder.path().join("data").exists());
    result(folder.path(), &text.replace("rw=write", "rw=read"));
    assert_eq!(folder.path().join("data").metadata().unwrap().len(), 2 << 20);
}

#[test]
fn an_absolute_name_lies_in_the_directory_as_in_fio() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("inner/tmp")).unwrap();
    let name = format!("/tmp/drivelab-{}-absolute", std::process::id());
    result(folder.path(), &format!("[a]\ndirectory=inner\nfilename={name}\nsize=1m\nrw=write\n"));
    assert!(folder.path().join(format!("inner{name}")).exists());
    assert!(!Path::new(&name).exists());
}

#[test]
fn a_size_need_not_be_whole_sectors() {
    let folder = folder();
    for _ in 0..2 {
        let document = result(folder.path(), "[a]\nfilename=data\nsize=100MiB\nrw=read\nbs=1m\n");
        assert_eq!(document["total"]["ios"], 95);
    }
    let words = ["--size", "10000000", "--rw", "write", "--bs", "64k", "--number-ios", "5"];
    let words = [&["run", "x", "--json", "--direct=0"], &words[..]].concat();
    for _ in 0..2 {
        let done = drivelab(folder.path(), &words);
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(done.json()["total"]["ios"], 5);
    }
    assert_eq!(fs::metadata(folder.path().join("x")).unwrap().len(), 10_000_000);
}

#[test]
fn nothing_is_written_where_only_reads_are_allowed() {
    let folder = folder();
    file(folder.path(), "data", &"foreign".repeat(100_000));
    let run = |words: &[&str]| {
        let common = ["run", "data", "--bs=4k", "--number-ios=9", "--direct=0", "--readonly"];
        drivelab(folder.path(), &[&common, words].concat())
    };
    run(&["--rw=randwrite"]).failed(2, &["`--rw=randwrite` writes, which `--readonly` forbids"]);
    assert_eq!(run(&["--rw=randread"]).code, 0);
    // A mixture of reads alone needs no permission.
    assert_eq!(run(&["--rw=randrw", "--rwmixread=100"]).code, 0);
    let suite = drivelab(folder.path(), &["run", ".", "--suite", "fsmark", "--readonly"]);
    suite.failed(2, &["the suite `fsmark` writes"]);
    file(folder.path(), "job.fio", "[a]\nfilename=data\nrw=write\n");
    let job = drivelab(folder.path(), &["run", "--job", "job.fio", "--readonly"]);
    job.failed(2, &["the job `a` (`rw=write`) writes"]);
    let missing = drivelab(folder.path(), &["run", "none", "--size=1m", "--readonly"]);
    missing.failed(2, &["none does not exist"]);
}

#[test]
fn a_matrix_is_measured_cell_by_cell_and_goes_on_after_a_kill() {
    let folder = folder();
    file(folder.path(), "test.toml", MATRIX);
    let run = || drivelab(folder.path(), &["run", "--matrix", "test.toml", "--json"]);
    let first = run();
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.err.contains("48 runs"), "{first:?}");
    let cells = first.json()["cells"].as_array().unwrap().clone();
    assert_eq!(cells.len(), 48);
    assert!(cells.iter().all(|cell| cell["figures"][0]["errors"] == 0), "{first:?}");
    let together = cells.iter().filter(|cell| cell["cell"]["target"].is_null());
    assert!(together.clone().all(|cell| cell["figures"].as_array().unwrap().len() == 2));
    assert_eq!(together.count(), 16);
    // As if it had been killed while it wrote the eleventh cell.
    let kept = folder.path().join("test.matrix/runs.jsonl");
    let text = fs::read_to_string(&kept).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = format!("{}\n{}", lines[..10].join("\n"), &lines[10][..20]);
    fs::write(&kept, cut).unwrap();
    let second = run();
    assert!(second.err.contains("38 runs"), "{second:?}");
    let again = second.json()["cells"].as_array().unwrap().clone();
    assert_eq!(again.len(), 48);
    let now = fs::read_to_string(&kept).unwrap();
    let now: Vec<&str> = now.lines().collect();
    assert_eq!((now.len(), &now[..10]), (48, &lines[..10]), "finished cells stay");
    let page = fs::read_to_string(folder.path().join("test.matrix/report.html")).unwrap();
    assert!(page.contains("48 of 48 cells"));
    file(folder.path(), "test.toml", &MATRIX.replace("10ms", "20ms"));
    run().failed(2, &["another study or matrix file", "--out"]);
}

#[test]
fn a_matrix_that_does_not_fit_the_memory_is_refused_before_anything_runs() {
    let folder = folder();
    let greedy = MATRIX.replace("64k", "1G").replace("[1, 2]", "[1, 400]");
    file(folder.path(), "test.toml", &greedy.replace("\"1M\"", "\"1G\""));
    let said = drivelab(folder.path(), &["run", "--matrix", "test.toml"]);
    said.failed(3, &["more than half of the"]);
    assert!(!folder.path().join("one").exists());
}

#[test]
fn what_a_matrix_would_be_refused_for_later_it_is_refused_for_at_once() {
    let folder = folder();
    let check = |text: &str, words: &[&str]| {
        file(folder.path(), "test.toml", text);
        let said = drivelab(folder.path(), &["run", "--matrix", "test.toml", "--out", "cells"]);
        said.failed(2, words);
        let kept = fs::read_to_string(folder.path().join("cells/runs.jsonl")).unwrap();
        assert_eq!(kept, "", "a cell was measured");
        fs::remove_dir_all(folder.path().join("cells")).unwrap();
    };
    check(&MATRIX.replace("size = \"1M\"", ""), &["does not exist", "--size"]);
    check(&MATRIX.replace("\"two\"", "\"./one\""), &["`one` and `./one` are the same"]);
    check(&MATRIX.replace("\"64k\"", "\"2M\""), &["too small for one block"]);
    file(folder.path(), "one", &"precious".repeat(1 << 17));
    check(MATRIX, &["one contains data", "--overwrite"]);
}

#[test]
fn damaged_lines_of_a_matrix_are_named_and_their_cells_measured_again() {
    let folder = folder();
    file(folder.path(), "test.toml", MATRIX);
    let run = || drivelab(folder.path(), &["run", "--matrix", "test.toml", "--json"]);
    assert_eq!(run().code, 0);
    let kept = folder.path().join("test.matrix/runs.jsonl");
    let mut text = fs::read(&kept).unwrap();
    let second = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // No text at all in the second line, and a cell of another matrix at the end.
    text[second + 10] = 0xFF;
    let alien = String::from_utf8_lossy(&text[..second]).replace("\"cell\":", "\"cell\":9");
    text.extend_from_slice(alien.as_bytes());
    fs::write(&kept, text).unwrap();
    let second = run();
    assert_eq!(second.code, 0, "{second:?}");
    assert!(second.err.contains("1 run of"), "{second:?}");
    for line in ["runs.jsonl:2 is damaged", "runs.jsonl:49 is damaged"] {
        assert!(second.err.contains(line), "{second:?}");
    }
    assert_eq!(second.json()["cells"].as_array().unwrap().len(), 48);
}

/// IOPS of `run` on a modelled drive.
fn iops(options: &[&str]) -> f64 {
    let drive = ["run", "drive:seagate-st31000333as", "--json", "--rw", "randread"];
    let said = drivelab(folder().path(), &[&drive, options].concat());
    assert_eq!(said.code, 0, "{said:?}");
    said.json()["total"]["iops"].as_f64().unwrap()
}

#[test]
fn jobs_share_a_modelled_drive_as_they_share_a_real_one() {
    let four = ["--numjobs", "4", "--iodepth", "8", "--runtime", "60s"];
    let (together, one) = (iops(&four), iops(&["--iodepth", "32", "--runtime", "60s"]));
    assert!((together / one - 1.0).abs() < 0.03, "{together} and {one}");
    assert_eq!(together.to_bits(), iops(&four).to_bits(), "same seed, same figures");
    assert!(iops(&["--iodepth", "8", "--runtime", "60s"]) < 0.9 * one);
}

const MODELLED: &str = "\
[global]
filename=drive:seagate-st31000333as,controller=ide
runtime=5s
time_based
bs=64k
[first]
rw=randread
numjobs=2
[beside]
rw=write
offset=100g
size=1g
end_fsync=1
[behind]
stonewall
rw=read
size=1g
";

#[test]
fn a_job_file_runs_on_a_modelled_drive() {
    let folder = folder();
    file(folder.path(), "test.fio", MODELLED);
    let run = |more: &[&str]| {
        let said =
            drivelab(folder.path(), &[&["run", "--job", "test.fio", "--json"], more].concat());
        assert_eq!(said.code, 0, "{said:?}");
        said
    };
    let said = run(&[]);
    let jobs = said.json()["jobs"].clone();
    assert_eq!(jobs[0]["target"], "drive:seagate-st31000333as,controller=ide");
    assert_eq!((&jobs[0]["config"]["ioengine"], &jobs[0]["group"]), (&"virtual".into(), &0.into()));
    assert_eq!(jobs[0]["threads"].as_array().unwrap().len(), 2);
    assert_eq!((&jobs[1]["flush"]["ios"], &jobs[2]["group"]), (&1.into(), &1.into()));
    // Alone, reading in order is what the drive does best; beside others it is not.
    let rate = |job: usize| jobs[job]["bytes_per_s"].as_f64().unwrap();
    assert!(rate(2) > 2.0 * (rate(0) + rate(1)), "{jobs}");
    assert_eq!(said.json()["total"]["elapsed_ns"].as_u64().unwrap() / 1_000_000_000, 10);
    assert_eq!(run(&[]).out, said.out);
    let other = run(&["drive:generic-10k"]).json();
    assert_eq!(other["target"], "drive:generic-10k");
    let mixed = "[drive]\nfilename=drive:seagate-st31000333as\nsize=1m\n\
                 [file]\nfilename=data\nsize=1m\n";
    file(folder.path(), "mixed.fio", mixed);
    drivelab(folder.path(), &["run", "--job", "mixed.fio"]).failed(2, &["stonewall"]);
}
