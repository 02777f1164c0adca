use super::*;
use drivelab_core::{Lba, Op, Sectors, Span};

/// The requests of a trace: operation, first sector, sectors, and arrival in nanoseconds.
fn requests(text: &str) -> Vec<(Op, u64, u64, Option<u64>)> {
    let mut parser = Parser::new(None);
    let mut found = Vec::new();
    for line in text.lines() {
        for entry in parser.line(line).unwrap() {
            assert_eq!(entry.request.id.0, found.len() as u64);
            let request = entry.request;
            let at = entry.at.map(Time::ns);
            found.push((request.op, request.lba.get(), request.sectors.get(), at));
        }
    }
    found
}

#[test]
fn disksim_traces_hold_measured_and_think_times() {
    let mut parser = Parser::new(None);
    let entry =
        parser.line("R Hit  564349     2      1414.270     18746.7705").unwrap().next().unwrap();
    assert_eq!(entry.request, Request::read(0, Lba::new(564_349), Sectors::new(2)));
    assert_eq!(entry.measured, Some(Span::from_ns(1_414_270)));
    assert_eq!(entry.think, Some(Span::from_ns(18_746_771)));
    assert_eq!(parser.format(), Some(Format::DiskSim));
}

#[test]
fn blkparse_text_gives_what_was_queued() {
    let text = "\
      8,0    3        1     1.000000000   697  G   W 223490 + 8 [kjournald]
      8,0    3        2     1.000001829   697  Q   W 223490 + 8 [kjournald]
      8,0    1        3     2.000001829   697  Q  RA 8 + 64 [cat]
      8,0    1        4     2.000001830     0  C  RA 8 + 64 [0]
      8,0    1        5     2.500001829   697  Q FWFS 16 + 8 [sync]
      8,0    1        6     2.600001829   697  Q  FN [sync]
      8,0    1        7     2.700001829   697  Q   D 4096 + 1024 [fstrim]
    CPU1 (8,0):
     Reads Queued:           1,       32KiB";
    let expected = [
        (Op::Write, 223_490, 8, Some(0)),
        (Op::Read, 8, 64, Some(1_000_000_000)),
        // A flush before the write: both are sent to the drive.
        (Op::Flush, 0, 0, Some(1_500_000_000)),
        (Op::Write, 16, 8, Some(1_500_000_000)),
        (Op::Flush, 0, 0, Some(1_600_000_000)),
        (Op::Trim, 4096, 1024, Some(1_700_000_000)),
    ];
    assert_eq!(requests(text), expected);
}

#[test]
fn fio_logs_of_both_versions_are_read() {
    let second = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 8192\n\
                  /dev/sda wait 250\n/dev/sda write 0 512\n/dev/sda datasync 0 0\n/dev/sda close";
    let expected = [
        (Op::Read, 8, 16, Some(0)),
        (Op::Write, 0, 1, Some(250_000)),
        (Op::Flush, 0, 0, Some(250_000)),
    ];
    assert_eq!(requests(second), expected);
    let third = "fio version 3 iolog\n19 f add\n133 f open\n140 f write 61440 4096\n\
                 5216 f trim 774144 4096\n25427 f close";
    let expected = [(Op::Write, 120, 8, Some(0)), (Op::Trim, 1512, 8, Some(5_076_000))];
    assert_eq!(requests(third), expected);
}

#[test]
fn spc_traces_are_read_for_the_first_unit() {
    let text = "0,303567,3584,w,0.000000\n1,55590,3072,w,0.000000\n0,303574,3584,R,0.026214";
    let expected = [(Op::Write, 303_567, 7, Some(0)), (Op::Read, 303_574, 7, Some(26_214_000))];
    assert_eq!(requests(text), expected);
}

#[test]
fn lines_that_are_none_are_refused_with_what_was_expected() {
    let check = |text: &str, line: u64, part: &str| {
        let mut parser = Parser::new(None);
        let error = text.lines().find_map(|text| parser.line(text).err()).expect(text);
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(part), "{error}");
    };
    check("hello", 1, "unknown trace format");
    check("R Hit 12 8 900 100\nX Hit 12 8 900 100", 2, "expected `R` or `W`");
    check("R Hit 12 8 900", 1, "ends before the think time");
    check("R Hit 12 0 900 1", 1, "expected 1 to");
    check("R Hit 12 8 9e3 1", 1, "`9e3` is not a time");
    check("\n\nfio version 9 iolog", 3, "versions 2 and 3");
    check("fio version 3 iolog\n12 f leap 0 1", 2, "`leap` is not an action");
    check("0,1,512,R,5.0\n0,1,512,R,2.0", 2, "run backwards");
    check("0,1,512,Q,5.0", 1, "found `Q`");
    check("0,1,512,R,99999999999999999999", 1, "not a time");
    let two = "8,0 3 1 1.0 9 Q R 8 + 8 [a]\n8,16 3 2 1.1 9 Q R 8 + 8 [a]";
    check(two, 2, "8,0 and 8,16");
    check("0,1,512,R,18446744073.7\n0,1,512,R,1.0", 2, "run backwards");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(lines: Vec<String>, name in 0_usize..4) {
        let format = <Format as Choice>::NAMES[name].1;
        for mut parser in [Parser::new(None), Parser::new(Some(format))] {
            for line in &lines {
                let _ = parser.line(line);
            }
        }
    }
}
