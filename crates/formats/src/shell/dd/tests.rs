//! Summaries of every `dd`.

use super::*;
use drivelab_core::record::Label;

const GNU: &str = "\
$ dd if=/dev/zero of=test bs=1M count=1k conv=fdatasync status=progress
734003200 bytes (734 MB, 700 MiB) copied, 1 s, 733 MB/s
1024+0 records in
1024+0 records out
1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 429 MB/s
";

fn runs(text: &str) -> Vec<(String, f64, Nature)> {
    let imported = parse(text).unwrap();
    let phase = |phase: &Phase| (phase.name.clone(), phase.figures[0].value, phase.nature);
    imported.runs.iter().map(|run| phase(&run.phases[0])).collect()
}

#[test]
fn the_summary_counts_and_not_the_progress() {
    let rate = 1_073_741_824.0 / 2.5;
    assert_eq!(runs(GNU), [("write".to_owned(), rate, Nature::Disk)]);
    assert_eq!(runs(&GNU.repeat(3)).len(), 3);
    let work = parse(GNU).unwrap().runs[0].work.to_string();
    assert_eq!(work, "bs=1M conv=fdatasync count=1k");
}

#[test]
fn summaries_that_a_script_left_without_their_records_are_calls() {
    let lines = [(1000, "4", 250.0), (1000, "2", 500.0), (1000, "5", 200.0), (2000, "4", 500.0)];
    let text = |(bytes, seconds, _): &(u32, &str, f64)| {
        format!("{bytes} bytes (1 kB, 1 KiB) copied, {seconds} s, 1 kB/s\n")
    };
    let rates = |text: &str| runs(text).iter().map(|run| run.1).collect::<Vec<_>>();
    let whole: String = lines.iter().map(text).collect();
    assert_eq!(rates(&whole), lines.map(|(_, _, rate)| rate));
    // Progress has nothing between its lines.
    let apart = "1000 bytes copied, 2 s, 1 kB/s\nbs=8k\n2000 bytes copied, 4 s, 1 kB/s\n";
    assert_eq!(rates(apart), [500.0, 500.0]);
    assert_eq!(rates(&apart.replace("bs=8k\n", "")), [500.0]);
}

#[test]
fn every_wording_is_read() {
    let check = |text: &str, expected: f64| {
        assert!(is_dd(text), "{text}");
        let (_, rate, _) = runs(text)[0];
        assert!((rate / expected - 1.0).abs() < 1e-12, "{text}: {rate}");
    };
    check("64 bytes copied, 0.5 s, 0.1 kB/s", 128.0);
    check("1000000 bytes (1.0 MB) copied, 0.5 seconds, 2.0 MB/s", 2e6);
    check("104857600 bytes (100.0MB) copied, 0.500000 seconds, 200.0MB/s", 209_715_200.0);
    check("1000 bytes transferred in 0.25 secs (4000 bytes/sec)", 4000.0);
    check("1000000 Bytes (1,0 MB, 977 KiB) kopiert, 0,5 s, 2,0 MB/s", 2e6);
    check("1000 bytes copied, 0.5 s, 2 kB/s   (!!)", 2000.0);
    check("64 bytes copied, 5.6e-05 s, 1.1 MB/s", 64.0 / 5.6e-5);
    check("1000000 байт (1,0 MB) скопирован, 0,5 s, 2,0 MB/s", 2e6);
    check("скопировано 1000000 байт (1,0 MB), 0,5 c, 2,0 MB/c", 2e6);
    check("1000000 字节 (1.0 MB, 977 KiB) 已复制，0.5 s，2.0 MB/s", 2e6);
    check("1000000字节(1.0 MB)已复制，0.5 秒，2.0 MB/秒", 2e6);
    check("1000000 バイト (1.0 MB) コピー終了、 0.5 秒、 2.0 MB/秒", 2e6);
    check("zkopírováno 1000000 bajtů (1,0 MB, 977 KiB), 0,5 s, 2,0 MB/s", 2e6);
    check("raid-5: 1000000 bytes (1.0 MB) copied, 0.5 s, 2.0 MB/s", 2e6);
    check("vm2: 1000000 bytes (1.0 MB) copied, 0.5 s, 2.0 MB/s, 2.1 MB/s", 2e6);
    check("vm2: 1000 bytes transferred in 0.25 secs (4000 bytes/sec)", 4000.0);
    for text in ["1 of 3, 2 s, fine", "12 bytes", "1024+0 records in", "a b, c s, 1 MB/s"] {
        assert!(!is_dd(text), "{text}");
    }
}

#[test]
fn the_command_decides_what_was_measured() {
    let end = "\n1+0 records out\n1000 bytes (1 kB) copied, 0.5 s, 2 kB/s\n";
    let check = |command: &str, name: &str, nature| {
        let found = runs(&format!("{command}{end}"));
        assert_eq!((found[0].0.as_str(), found[0].2), (name, nature), "{command}");
    };
    check("# dd if=/dev/zero of=a bs=1M", "write", Nature::PageCache);
    check("# dd if=/dev/zero of=a bs=1M oflag=direct", "write", Nature::Disk);
    check("$ sudo dd if=/dev/zero of=a bs=4k oflag=dsync", "write", Nature::JournalSync);
    check("dd if=a of=/dev/null", "read", Nature::PageCache);
    check("$dd if=/dev/zero of=a oflag=direct", "write", Nature::Disk);
    check("ssh h 'dd if=/dev/zero of=a oflag=direct'", "write", Nature::Disk);
    check("(dd if=/dev/zero of=a conv=fdatasync)", "write", Nature::Disk);
    check("dd if=/dev/zero\nof=a bs=1M\noflag=direct", "write", Nature::Disk);
    check("dd if=/dev/sda of=a iflag=direct", "write", Nature::PageCache);
    check("dd if=a of=/dev/null oflag=direct", "read", Nature::PageCache);
    check("dd if=/dev/zero of=a oflag=sync conv=notrunc", "write", Nature::JournalSync);
    check("dd if=/dev/zero of=a conv=sync,noerror", "write", Nature::PageCache);
    check("dd if=/dev/sda of=/dev/null iflag=direct", "read", Nature::Disk);
    check("dd if=/dev/zero of=/dev/null", "read", Nature::Cpu);
    check("dd if=/dev/zero bs=1M count=1024 | md5sum", "read", Nature::Cpu);
    check("a line without a command", "copy", Nature::PageCache);
    let imported = parse(&format!("dd if=/dev/zero of=/dev/null{end}")).unwrap();
    assert_eq!(imported.runs[0].phases[0].remarks[1].label, Label::NotDisk);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, put in "[0-9.,+=a-z /\n]{0,40}") {
        let _ = parse(&text);
        let _ = parse(&GNU.replace("1073741824 bytes", &put));
        let _ = Command::read(&format!("dd {text}"));
    }

    #[test]
    fn what_is_written_comes_back(bytes in 1_u32..u32::MAX, tenths in 1_u32..100_000) {
        let seconds = f64::from(tenths) / 10.0;
        let text = format!("{bytes} bytes (1 MB, 1 MiB) copied, {seconds} s, 1 MB/s");
        let rate = f64::from(bytes) / seconds;
        proptest::prop_assert!((runs(&text)[0].1 / rate - 1.0).abs() < 1e-12);
    }
}
