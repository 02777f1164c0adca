//! Results of the same work are compared; what differs in the work is named, and withholds the
//! verdict until it is declared.

use std::path::Path;

use crate::common::{drivelab, file, folder};

/// Runs of each arm.
const RUNS: i32 = 6;

/// Two results of one tool that differ in one setting.
struct Pair {
    tool: &'static str,
    /// The text of one run, with `VALUE` for its figure and `SETTING` for what differs.
    text: &'static str,
    settings: [&'static str; 2],
    /// The key that differs, and its values as they are named.
    key: &'static str,
    values: [&'static str; 2],
    primary: &'static str,
}

const FIO: &str = r#"{"fio version": "fio-3.36", "timestamp": 17000STAMP,
  "global options": {"ioengine": "libaio", "direct": "1"},
  "jobs": [{"jobname": "test", "error": 0,
  "job options": {"name": "test", "rw": "randread", "bs": "SETTING", "iodepth": "4", "size": "1g"},
  "read": {"total_ios": 1000, "iops": VALUE, "bw_bytes": 4096000.0,
  "lat_ns": {"mean": 1000.0, "N": 1000}, "clat_ns": {"mean": 900.0, "N": 1000}}}]}"#;
const PGBENCH: &str = "pgbench (16.1)
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: simple
number of clients: SETTING
number of threads: 1
maximum number of tries: 1
duration: 60 s
number of transactions actually processed: 1000
number of failed transactions: 0 (0.000%)
latency average = 1.500 ms
initial connection time = 1.000 ms
tps = VALUE (without initial connection time)
";
const SYSBENCH: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Extra file open flags: directio
128 files, 16MiB each
2GiB total file size
Block size SETTING
Number of IO requests: 0
Read/Write ratio for combined random IO test: 1.50
Periodic FSYNC enabled, calling fsync() each 100 requests.
Calling fsync() at the end of test, Enabled.
Using synchronous I/O mode
Doing random read test
Initializing worker threads...

Threads started!


File operations:
    reads/s:                      VALUE
    writes/s:                     0.00
    fsyncs/s:                     0.00

General statistics:
    total time:                          10.0043s
    total number of events:              46844
";
const AB: &str = "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>
Server Software:        nginx
Server Hostname:        127.0.0.1
Server Port:            80
Document Path:          /index.html
Document Length:        612 bytes
Concurrency Level:      SETTING
Time taken for tests:   1.000 seconds
Complete requests:      10000
Failed requests:        0
Total transferred:      8450000 bytes
HTML transferred:       6120000 bytes
Requests per second:    VALUE [#/sec] (mean)
Time per request:       1.000 [ms] (mean)
";
const WRK: &str = "Running SETTING test @ http://127.0.0.1:8080/index.html
  2 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  2246465 requests in 30.00s, 1.76GB read
Requests/sec: VALUE
Transfer/sec:    606.33MB
";
const BONNIE: &str = "1.98,2.00a,vm,1,17000STAMP,SETTING,,8192,5,,,VALUE,6,22717,6,,,40308,4,847.5,9,,,,,,,,,,,,,,\
                      ,,,,,,,,,,,,,,,\n";
const CRYSTALDISKMARK: &str = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
[Read]
  SEQ    1MiB (Q=  8, T= 1):   VALUE MB/s [    536.1 IOPS] < 14899.10 us>

Profile: Default
   Test: SETTING (x5) [C: 33% (39/119GB)]
   Mode: [Admin]
   Time: Measure 5 sec / Interval 5 sec
     OS: Windows 10 Professional [10.0 Build 19044] (x64)
";
const DISKSPD: &str = "<Results><System><Tool><Version>2.2</Version></Tool></System>
<Profile><TimeSpans><TimeSpan><Duration>10</Duration><Warmup>5</Warmup><Targets><Target>
<Path>a.dat</Path><BlockSize>4096</BlockSize><Random>4096</Random><WriteRatio>0</WriteRatio>
<RequestCount>SETTING</RequestCount><ThreadsPerFile>1</ThreadsPerFile>
<DisableAllCache>true</DisableAllCache></Target></Targets></TimeSpan></TimeSpans></Profile>
<TimeSpan><TestTimeSeconds>10.00</TestTimeSeconds><Thread><Id>0</Id><Target><Path>a.dat</Path>
<ReadBytes>40960000</ReadBytes><ReadCount>VALUE</ReadCount><WriteBytes>0</WriteBytes>
<WriteCount>0</WriteCount></Target></Thread></TimeSpan></Results>
";
const HYPERFINE: &str = r#"{"results": [{"command": "sort big.txt", "mean": VALUE, "times": [VALUE],
  "exit_codes": [0], "parameters": {"threads": "SETTING"}}]}"#;

const PAIRS: [Pair; 9] = [
    Pair {
        tool: "fio",
        text: FIO,
        settings: ["4k", "65536"],
        key: "bs",
        values: ["4k", "64k"],
        primary: "iops",
    },
    Pair {
        tool: "pgbench",
        text: PGBENCH,
        settings: ["1", "32"],
        key: "clients",
        values: ["1", "32"],
        primary: "tps_tpc-b",
    },
    Pair {
        tool: "sysbench",
        text: SYSBENCH,
        settings: ["16KiB", "4KiB"],
        key: "bs",
        values: ["16k", "4k"],
        primary: "fileio_rndrd_reads",
    },
    Pair {
        tool: "ab",
        text: AB,
        settings: ["1", "100"],
        key: "concurrency",
        values: ["1", "100"],
        primary: "requests",
    },
    Pair {
        tool: "wrk",
        text: WRK,
        settings: ["30s", "2m"],
        key: "runtime",
        values: ["30s", "2m"],
        primary: "requests",
    },
    Pair {
        tool: "bonnie++",
        text: BONNIE,
        settings: ["4G", "16G"],
        key: "size",
        values: ["4G", "16G"],
        primary: "put_block",
    },
    Pair {
        tool: "CrystalDiskMark",
        text: CRYSTALDISKMARK,
        settings: ["1 GiB", "64 MiB"],
        key: "size",
        values: ["1G", "64M"],
        primary: "seq1m_q8t1_read",
    },
    Pair {
        tool: "diskspd",
        text: DISKSPD,
        settings: ["1", "32"],
        key: "iodepth",
        values: ["1", "32"],
        primary: "iops",
    },
    Pair {
        tool: "hyperfine",
        text: HYPERFINE,
        settings: ["1", "8"],
        key: "threads",
        values: ["1", "8"],
        primary: "wall_time",
    },
];

/// The values of six runs: with no tie, and a spread of half a percent.
fn value(run: i32, factor: f64) -> f64 {
    factor * 1000.0 * (1.0 + 0.001 * f64::from(run * 5 % 7))
}

/// What is typed after `compare`.
struct Compared<'a> {
    folder: &'a Path,
    arms: Vec<String>,
    primary: &'a str,
    key: &'a str,
    values: [&'a str; 2],
}

impl Compared<'_> {
    fn said(&self, more: &[&str]) -> crate::common::Said {
        let mut words = vec!["compare", "--primary", self.primary];
        words.extend(more);
        words.extend(self.arms.iter().map(String::as_str));
        drivelab(self.folder, &words)
    }

    /// The difference is named and withholds the verdict; declared, there is one.
    fn check(&self, what: &str) {
        let said = self.said(&["--json"]);
        assert_eq!(said.code, 4, "{what}: {said:?}");
        let withheld = &said.json()["withheld"];
        assert_eq!(withheld[0]["id"], "work-differs", "{what}: {withheld}");
        assert_eq!(withheld[1], serde_json::Value::Null, "{what}: one reason: {withheld}");
        let message = withheld[0]["message"].as_str().unwrap();
        let [one, other] = self.values;
        let named = format!("{} {one} against {other}", self.key);
        assert!(message.contains(&named), "{what}: `{named}` is missing: {message}");
        assert!(!message.contains(", "), "{what}: one setting differs: {message}");
        let short = self.key.rsplit(['/', '.']).next().unwrap();
        let factor = if self.key.starts_with("suite.") { self.key } else { short };
        let said = self.said(&[]);
        let declare = format!("--factor {factor}");
        assert!(said.out.contains("The verdict is withheld"), "{what}: {said:?}");
        // A line may end between them.
        let words: Vec<&str> = said.out.split_whitespace().collect();
        assert!(words.join(" ").contains(&declare), "{what}: `{declare}` is missing: {said:?}");
        let said = self.said(&["--json", "--factor", factor]);
        let json = said.json();
        assert_eq!(json["withheld"], serde_json::json!([]), "{what}: {json}");
        assert_ne!(json["verdict"], "inconclusive", "{what}: {json}");
        assert!([0, 1].contains(&said.code), "{what}: {}", said.code);
    }
}

#[test]
fn results_of_nine_tools_whose_work_differs_are_named_and_withheld() {
    for pair in PAIRS {
        let folder = folder();
        let mut arms = Vec::new();
        for (arm, setting) in pair.settings.iter().enumerate() {
            for run in 0..RUNS {
                let name = format!("arm{arm}-{run}.txt");
                let factor = if arm == 0 { 1.0 } else { 1.5 };
                let number = format!("{:.3}", value(run, factor));
                // One after the other in turn.
                let sequence = format!("{:05}", 100 * (2 * run + i32::try_from(arm).unwrap()));
                let text = pair.text.replace("SETTING", setting).replace("VALUE", &number);
                file(folder.path(), &name, &text.replace("STAMP", &sequence));
                arms.push(name);
            }
            if arm == 0 {
                arms.push("--".to_owned());
            }
        }
        let Pair { primary, key, values, .. } = pair;
        Compared { folder: folder.path(), arms, primary, key, values }.check(pair.tool);
    }
}

#[test]
fn own_runs_whose_work_differs_are_named_and_withheld() {
    let folder = folder();
    for (name, jobs) in [("one.json", "1"), ("four.json", "4")] {
        let mut text = String::new();
        for seed in ["1", "2", "3", "4", "5", "6"] {
            let target = "drive:generic-5400";
            let words = ["run", target, "--number-ios", "200", "--seed", seed, "--json"];
            let words = [&words[..], &["--numjobs", jobs]].concat();
            text.push_str(&drivelab(folder.path(), &words).out);
        }
        file(folder.path(), name, &text);
    }
    let arms = ["one.json", "four.json"].map(String::from).to_vec();
    let (primary, key, values) = ("iops", "numjobs", ["1", "4"]);
    Compared { folder: folder.path(), arms, primary, key, values }.check("own runs");
}

#[test]
fn own_suites_whose_work_differs_are_named_and_withheld() {
    let folder = folder();
    for (arm, threads) in ["", ",threads=4"].into_iter().enumerate() {
        let suite = format!("fsmark,files=5,size=1k,drop=never{threads}");
        std::fs::create_dir_all(folder.path().join("there")).unwrap();
        let said = drivelab(folder.path(), &["run", "there", "--suite", &suite, "--json"]);
        let record = said.json();
        let mut text = String::new();
        for run in 0..RUNS {
            // The figures of a real disk are not those of a test.
            let mut record = record.clone();
            record["ended_unix_s"] = (1000 + 2 * run + i32::try_from(arm).unwrap()).into();
            for phase in record["phases"].as_array_mut().unwrap() {
                for figure in phase["figures"].as_array_mut().unwrap() {
                    let factor = if arm == 0 { 1.0 } else { 2.0 };
                    figure["value"] = value(run, factor).into();
                }
            }
            text += &format!("{record}\n");
        }
        file(folder.path(), &format!("{arm}.json"), &text);
    }
    let arms = ["0.json", "1.json"].map(String::from).to_vec();
    let (primary, key, values) = ("files_1024b", "suite.threads", ["1", "4"]);
    Compared { folder: folder.path(), arms, primary, key, values }.check("own suites");
}

#[test]
fn own_studies_whose_work_differs_are_named_and_withheld() {
    let folder = folder();
    for (name, depth) in [("shallow", "1"), ("deep", "16")] {
        let study = crate::common::SMALL
            .replace("iodepth = 32", &format!("iodepth = {depth}"))
            .replace("runtime = \"10s\"", "runtime = \"5s\"");
        let toml = format!("{name}.toml");
        file(folder.path(), &toml, &study);
        let said = drivelab(folder.path(), &["study", &toml, "--out", name]);
        assert!([0, 1, 4].contains(&said.code), "{said:?}");
    }
    let arms = ["shallow", "deep"].map(String::from).to_vec();
    let (primary, key, values) = ("ahci/read.iops", "ahci/read.iodepth", ["1", "16"]);
    Compared { folder: folder.path(), arms, primary, key, values }.check_part("own studies");
    // Within one study the arms are what the study says.
    let said = drivelab(folder.path(), &["compare", "deep", "--primary", "read.iops", "--json"]);
    assert_eq!(said.json()["withheld"], serde_json::json!([]), "{said:?}");
}

impl Compared<'_> {
    /// Of a study each arm has its own work, and its own reason.
    fn check_part(&self, what: &str) {
        let said = self.said(&["--json"]);
        assert_eq!(said.code, 4, "{what}: {said:?}");
        let json = said.json();
        let reasons = json["withheld"].as_array().unwrap();
        let [one, other] = self.values;
        let named = format!("{} {one} against {other}", self.key);
        let is_named = reasons.iter().any(|reason| {
            reason["id"] == "work-differs" && reason["message"].as_str().unwrap().ends_with(&named)
        });
        assert!(is_named, "{what}: `{named}` is missing: {reasons:?}");
        let said = self.said(&["--json", "--factor", "iodepth"]);
        let json = said.json();
        assert_eq!(json["withheld"], serde_json::json!([]), "{what}: {json}");
        assert_ne!(json["verdict"], "inconclusive", "{what}: {json}");
    }
}

#[test]
fn files_that_are_runs_of_two_arms_are_told_from_six_arms() {
    let folder = folder();
    let mut words = vec!["compare".to_owned()];
    for name in ["after", "before"] {
        for run in 1..=3 {
            let number = format!("{:.3}", value(run, 1.0));
            let file_name = format!("{name}{run}.json");
            let text = FIO.replace("SETTING", "4k").replace("VALUE", &number);
            file(folder.path(), &file_name, &text.replace("STAMP", &format!("0000{run}")));
            words.push(file_name);
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = drivelab(folder.path(), &[&words[..], &["--json"]].concat());
    let notes = said.json()["notes"].to_string();
    let expected = "drivelab compare after1.json after2.json after3.json -- before1.json \
                    before2.json before3.json";
    assert!(notes.contains(expected), "{notes}");
}
