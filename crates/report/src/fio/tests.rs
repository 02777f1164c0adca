//! Results as programs for fio's results read them.

use super::*;
use drivelab_core::units::Span;
use serde_json::Value;

fn tally(op: Op, spans_us: &[u64], bytes: u64) -> Tally {
    let mut tally = Tally { elapsed: Span::from_ms(2500), ..Tally::default() };
    let of = tally.of_mut(op);
    for us in spans_us {
        of.ios += 1;
        of.bytes += bytes;
        of.service.record(Span::from_us(*us));
        of.lat.record(Span::from_us(us + 1));
    }
    let second = Second { ios: 1, bytes, lat_sum_ns: 1, lat_max_ns: 1 };
    tally.seconds = vec![second; 3];
    tally
}

fn results(tally: &Tally) -> Results {
    let options = [("rw", "read"), ("bs", "4k"), ("rw", "randread")];
    let options = options.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let about = About { name: "a".into(), jobs: 1, iodepth: 1, options, ..About::default() };
    let jobs = vec![Job::of(about, tally)];
    Results { unix_ms: 1_795_777_920_824, global: Vec::new(), jobs, disks: Vec::new() }
}

#[test]
fn the_json_has_the_figures_under_the_keys_of_fio() {
    let text = json(&results(&tally(Op::Read, &[100, 200, 300, 5000], 4096)), true);
    assert!(text.starts_with("{\n  \"fio version\" : \"fio-3.33-drivelab-"), "{text}");
    assert!(text.contains("\"time\" : \"Fri Nov 27 11:12:00 2026\""), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    let job = &value["jobs"][0];
    let read = &job["read"];
    assert_eq!((&read["io_bytes"], &read["total_ios"]), (&16_384.into(), &4.into()));
    assert_eq!(read["iops"], 1.6);
    assert_eq!((&read["clat_ns"]["N"], &read["clat_ns"]["mean"]), (&4.into(), &1_400_000.0.into()));
    assert_eq!(read["lat_ns"]["min"], 101_000);
    let median = read["clat_ns"]["percentile"]["50.000000"].as_u64().unwrap();
    assert!(median.abs_diff(200_000) < 1000, "{median}");
    assert_eq!(read["clat_ns"]["bins"].as_object().unwrap().len(), 4);
    // The third second is not whole.
    assert_eq!((&read["iops_samples"], &read["bw_mean"]), (&2.into(), &4.0.into()));
    assert_eq!(job["latency_us"]["250"], 50.0);
    assert_eq!(job["latency_ms"]["10"], 25.0);
    assert_eq!(job["write"]["total_ios"], 0);
    assert_eq!(job["job options"]["rw"], "randread");
    // The standard deviation of 100, 200, 300 and 5000 us is 2401 us.
    let stddev = read["clat_ns"]["stddev"].as_f64().unwrap();
    assert!((stddev - 2_401_388.0).abs() < 25_000.0, "{stddev}");
}

#[test]
fn the_text_and_the_terse_line_have_the_form_of_fio() {
    let results = results(&tally(Op::Write, &[100, 200, 300, 5000], 4096));
    let text = normal(&results);
    for part in [
        "\na: (groupid=0, jobs=1): err= 0: pid=0: Fri Nov 27 11:12:00 2026\n",
        "  write: IOPS=2, BW=6554B/s (6554B/s)(16.0KiB/2500msec)\n",
        "    clat (usec): min=100, max=5000, avg=1400.00, stdev=",
        "     |  1.00th=[  1",
        "  lat (usec)   : 250=50.00%, 500=25.00%\n  lat (msec)   : 10=25.00%\n",
        "     issued rwts: total=0,4,0,0 short=0,0,0,0 dropped=0,0,0,0\n",
        "\nRun status group 0 (all jobs):\n  WRITE: bw=6554B/s (6554B/s), ",
        "io=16.0KiB (16.4kB), run=2500-2500msec\n",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let line = terse(&results, TerseVersion::Three);
    let fields: Vec<&str> = line.trim_end().split(';').collect();
    // fio 3.33 writes these for a job without disks and description.
    assert_eq!(fields.len(), 121, "{line}");
    assert_eq!((fields[0], fields[2], fields[46], fields[49]), ("3", "a", "16", "2500"));
}

#[test]
fn terse_lines_of_later_versions_have_trims_and_samples() {
    let results = results(&tally(Op::Trim, &[100, 200, 300, 5000], 4096));
    let line = terse(&results, TerseVersion::Four);
    let fields: Vec<&str> = line.trim_end().split(';').collect();
    // fio 3.33 writes these for a job without disks and description; trims begin at 87.
    assert_eq!(fields.len(), 162, "{line}");
    assert_eq!((fields[0], fields[46], fields[87], fields[90]), ("4", "0", "16", "2500"));
    let line = terse(&results, TerseVersion::Five);
    let fields: Vec<&str> = line.trim_end().split(';').collect();
    assert_eq!(fields.len(), 180, "{line}");
    // Six fields more for each kind: samples of the bandwidth, and the requests per second.
    assert_eq!((fields[0], fields[99], fields[102]), ("5", "16", "2500"));
    assert_eq!(fields[140..146], ["2", "1", "1", "1.000000", "0.000000", "2"], "{line}");
}

#[test]
fn logs_and_metrics_have_the_same_figures() {
    let results = results(&tally(Op::Write, &[100, 200, 300, 5000], 4096));
    assert_eq!(log(&results), "1000, 4, 1, 4096, 0\n2000, 4, 1, 4096, 0\n");
    let text = openmetrics(&results);
    for line in [
        "# TYPE drivelab_latency_seconds summary",
        "drivelab_requests_total{job=\"a\",op=\"write\"} 4",
        "drivelab_bytes_total{job=\"a\",op=\"write\"} 16384",
        "drivelab_latency_seconds_count{job=\"a\",op=\"write\"} 4",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is missing in {text}");
    }
    assert!(text.ends_with("# EOF\n") && text.contains("quantile=\"0.5\""), "{text}");
}

#[test]
fn a_record_quotes_only_the_percentiles_that_it_has() {
    let mut both = tally(Op::Read, &[100, 200], 4096);
    both.merge(&tally(Op::Write, &[300], 512));
    let text = include_str!("../../../core/tests/records/today.json");
    let mut record: RunRecord = serde_json::from_str(text).unwrap();
    record.total = Some(both.record());
    let job = Job::of_record(&record).unwrap();
    assert_eq!((job.kinds[0].bytes, job.kinds[1].bytes), (8192, 512));
    let results = Results { jobs: vec![job], ..results(&both) };
    let value: Value = serde_json::from_str(&json(&results, false)).unwrap();
    let clat = &value["jobs"][0]["write"]["clat_ns"];
    assert_eq!(clat["percentile"].as_object().unwrap().len(), 5);
    assert_eq!((clat["N"].as_u64(), clat.get("stddev")), (Some(1), None));
}
