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
fn ascii_traces_of_disksim_are_read_with_their_arrivals() {
    let text = "0.000000 0 303567 7 0\n26.2140 0 303574 8 1\n30 0 16 2 0x1\n";
    let expected = [
        (Op::Write, 303_567, 7, Some(0)),
        (Op::Read, 303_574, 8, Some(26_214_000)),
        (Op::Read, 16, 2, Some(30_000_000)),
    ];
    assert_eq!(requests(text), expected);
    let mut parser = Parser::new(None);
    parser.line("0.5 0 12 8 1").unwrap();
    assert_eq!(parser.format(), Some(Format::DiskSimAscii));
    let other = parser.line("0.6 1 12 8 1").unwrap_err().to_string();
    assert!(other.contains("--device 0"), "{other}");
    let flags = parser.line("0.7 0 12 8 5").unwrap_err().to_string();
    assert!(flags.contains("found `5`"), "{flags}");
    parser.line("0.8 0 12 8").unwrap_err();
    let chosen = Selection { device: Some("1".into()), ..Selection::default() };
    let mut parser = Parser::with(chosen);
    assert_eq!(parser.line("0.5 0 12 8 1").unwrap().count(), 0);
    assert_eq!((parser.line("0.6 1 12 8 1").unwrap().count(), parser.left_out().others), (1, 1));
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
fn spc_traces_are_read() {
    let text = "0,303567,3584,w,0.000000\n0,303574,3584,R,0.026214";
    let expected = [(Op::Write, 303_567, 7, Some(0)), (Op::Read, 303_574, 7, Some(26_214_000))];
    assert_eq!(requests(text), expected);
}

/// What a parser with `selection` reads of `text`, and the parser.
fn selected(text: &str, selection: Selection) -> (Vec<Entry>, Parser) {
    let mut parser = Parser::with(selection);
    let mut found: Vec<Entry> = Vec::new();
    for line in text.lines() {
        found.extend(parser.line(line).unwrap());
    }
    found.extend(parser.end().unwrap());
    (found, parser)
}

#[test]
fn requests_of_a_second_device_are_refused_or_one_device_is_chosen() {
    let check = |text: &str, device: &str, lba: u64| {
        let mut parser = Parser::new(None);
        let error = text.lines().find_map(|line| parser.line(line).err()).expect(text);
        assert!(error.message.contains("name it, for example `--device "), "{error}");
        let selection = Selection { device: Some(device.to_owned()), ..Selection::default() };
        let (found, parser) = selected(text, selection);
        assert_eq!((found.len(), parser.left_out().others), (1, 1), "{text}");
        assert_eq!(found[0].request.lba.get(), lba, "{text}");
    };
    check("0,8,512,R,0.0\n1,16,512,R,0.1", "1", 16);
    check("8,0 3 1 1.0 9 Q R 8 + 8 [a]\n8,16 3 2 1.1 9 Q R 16 + 8 [a]", "8,0", 8);
    check("fio version 3 iolog\n1 a read 4096 512\n2 b read 8192 512", "b", 16);
}

#[test]
fn a_device_without_requests_is_named_with_one_that_has_some() {
    let selection = Selection { device: Some("9".into()), ..Selection::default() };
    let (found, parser) = selected("0,8,512,R,0.0\n1,16,512,R,0.1", selection);
    assert_eq!(found, []);
    let (what, hint) = parser.why_empty().unwrap();
    assert!(what.contains("of `0`, but none of `9`") && hint.contains("`--device 0`"), "{hint}");
    let mut parser = Parser::with(Selection { device: Some("0".into()), ..Selection::default() });
    assert!(parser.line("R Hit 12 8 900 100").unwrap_err().message.contains("no devices"));
    let events = Some(Events::Issued);
    let mut parser = Parser::with(Selection { events, ..Selection::default() });
    assert!(parser.line("R Hit 12 8 900 100").unwrap_err().message.contains("`--events`"));
}

/// Two writes that the kernel merged, a flush, a read that is served in two parts while another
/// is, a request that is issued twice, one that fails, a command, and one without completion.
const ISSUED: &str = "\
  8,0    0        1     0.900000000     0  C   R 77 + 8 [0]
  8,0    0        2     0.999000000   697  Q   W 800 + 8 [a]
  8,0    0        3     0.999100000   697  Q   W 808 + 8 [a]
  8,0    0        4     0.999100000   697  M   W 808 + 8 [a]
  8,0    0        5     1.000000000   697  D   W 800 + 16 [a]
  8,0    1        6     1.001000000   697  D   R 8 + 64 [a]
  8,0    1        7     1.002000000   697  D   R 96 + 8 [a]
  8,0    1        8     1.002100000   697  D   R 36 (12 01 80 00 ff 00 ..) [smartctl]
  8,0    1        9     1.003000000     0  C   R 96 + 8 [0]
  8,0    1       10     1.004000000     0  C   R 8 + 32 [0]
  8,0    1       11     1.006000000     0  C   R 40 + 32 [0]
  8,0    0       12     1.010000000     0  C   W 800 + 16 [0]
  8,0    1       13     1.020000000   697  D  FN [kworker/0:1H]
  8,0    1       14     1.025000000     0  C  FN 0 [0]
  8,0    1       15     1.030000000   697  D   R 200 + 8 [a]
  8,0    1       16     1.031000000     0  R   R 200 + 8 [0]
  8,0    1       17     1.032000000   697  D   R 200 + 8 [a]
  8,0    1       18     1.033000000     0  C   R 200 + 8 [0]
  8,0    1       19     1.040000000   697  D   R 300 + 8 [a]
  8,0    1       20     1.041000000     0  C   R 300 + 8 [-5]
  8,0    1       21     1.050000000   697  D   W 400 + 8 [a]
CPU0 (8,0):
 Reads Queued:           1,       32KiB";

#[test]
fn issued_requests_have_the_time_until_their_completion() {
    let selection = Selection { measured: true, ..Selection::default() };
    let (found, parser) = selected(ISSUED, selection);
    let row = |entry: &Entry| {
        let Request { op, lba, sectors, .. } = entry.request;
        let at_us = entry.at.map(|at| at.ns() / 1000);
        (op, lba.get(), sectors.get(), at_us, entry.measured.map(|span| span.ns() / 1000))
    };
    let found: Vec<_> = found.iter().map(row).collect();
    let expected = [
        (Op::Write, 800, 16, Some(0), Some(10_000)),
        (Op::Read, 8, 64, Some(1000), Some(5000)),
        (Op::Read, 96, 8, Some(2000), Some(1000)),
        (Op::Flush, 0, 0, Some(20_000), Some(5000)),
        (Op::Read, 200, 8, Some(32_000), Some(1000)),
        (Op::Read, 300, 8, Some(40_000), None),
        (Op::Write, 400, 8, Some(50_000), None),
    ];
    assert_eq!(found, expected);
    let expected =
        LeftOut { commands: 1, unmatched: 1, unanswered: 1, failed: 1, ..LeftOut::default() };
    assert_eq!(parser.left_out(), expected);
    assert_eq!(requests(ISSUED).len(), 2, "queued requests remain the default");
}

#[test]
fn a_completion_that_never_comes_holds_a_bounded_number_of_requests() {
    let selection = Selection { measured: true, ..Selection::default() };
    let mut parser = Parser::with(selection);
    let mut found = 0;
    for request in 0..40_000_u64 {
        let lba = 8 * request;
        let line = format!("8,0 1 1 1.{request:09} 9 D R {lba} + 8 [a]");
        found += parser.line(&line).unwrap().count();
        if request > 0 {
            let line = format!("8,0 1 1 1.{request:09} 0 C R {lba} + 8 [0]");
            found += parser.line(&line).unwrap().count();
        }
    }
    assert_eq!((found, parser.left_out().unanswered), (40_000, 1));
}

#[test]
fn a_trace_without_the_wanted_events_says_which_it_has() {
    let issued = "8,0 1 1 1.0 9 D R 8 + 8 [a]";
    let (_, parser) = selected(issued, Selection::default());
    let (what, hint) = parser.why_empty().unwrap();
    assert!(what.contains("issued requests (D)") && hint.contains("`--events issued`"), "{hint}");
    let queued = "8,0 1 1 1.0 9 Q R 8 + 8 [a]";
    let selection = Selection { measured: true, ..Selection::default() };
    let (what, hint) = selected(queued, selection).1.why_empty().unwrap();
    assert!(what.contains("queued requests (Q)") && hint.contains("`--score`"), "{hint}");
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
    let torn = "8,0 3 1 1.0 9 Q R 8 + 8 [a]\nsda:8,0 3 2 1.1 9 Q R 8 + 8 [a]\n\
                8,0 3 3 1.2 9 Q R 8 + 8 [a]";
    check(torn, 3, "follows line 2, which is not an event");
    check("0,1,512,R,18446744073.7\n0,1,512,R,1.0", 2, "run backwards");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(lines: Vec<String>, name in 0_usize..4) {
        let format = <Format as Choice>::NAMES[name].1;
        let measured = Selection { measured: true, ..Selection::default() };
        for mut parser in [Parser::new(None), Parser::new(Some(format)), Parser::with(measured)] {
            for line in &lines {
                let _ = parser.line(line);
            }
            let _ = parser.end();
        }
    }

    #[test]
    fn every_issued_request_comes_once_in_order(
        events in proptest::collection::vec((0_usize..3, 0_u64..6, 1_u64..4), 0..200),
    ) {
        let selection = Selection { measured: true, ..Selection::default() };
        let mut parser = Parser::with(selection);
        let mut found: Vec<Entry> = Vec::new();
        let mut requeued = 0;
        for (index, (action, lba, sectors)) in events.iter().enumerate() {
            let action = ["D", "C", "R"][*action];
            let line = format!("8,0 1 1 1.{index:09} 9 {action} R {lba} + {sectors} [0]");
            let unmatched = parser.left_out().unmatched;
            found.extend(parser.line(&line).unwrap());
            requeued += usize::from(action == "R" && unmatched == parser.left_out().unmatched);
        }
        found.extend(parser.end().unwrap());
        let issued = events.iter().filter(|(action, ..)| *action == 0).count();
        proptest::prop_assert!(found.len() <= issued && found.len() + requeued >= issued);
        for (id, entry) in (0..).zip(&found) {
            proptest::prop_assert_eq!(entry.request.id.0, id);
        }
    }
}

#[test]
fn traces_of_msr_cambridge_are_read() {
    let text = "128166372003061629,hm,1,Read,383496192,32768,113736\n\
                128166372016382155,hm,1,Write,2822144,4096,23736";
    let expected = [(Op::Read, 749_016, 64, Some(0)), (Op::Write, 5512, 8, Some(1_332_052_600))];
    assert_eq!(requests(text), expected);
    let mut parser = Parser::new(None);
    let entry = parser.line(text.lines().next().unwrap()).unwrap().next().unwrap();
    assert_eq!(entry.measured, Some(Span::from_ns(11_373_600)));
    assert_eq!(parser.format(), Some(Format::Msr));
    let error = parser.line("128166372016382155,hm,0,Write,2822144,4096,1").unwrap_err();
    assert!(error.message.contains("name it, for example `--device hm.1`"), "{error}");
    let error = parser.line("928166372016382155,hm,1,Write,0,512,1").unwrap_err();
    assert!(error.message.contains("is not a time of this century"), "{error}");
}

#[test]
fn traces_of_systor_are_read() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                1455600000.039480000,0.000265,R,1,130158592,4096\n\
                1455600000.139480000,,W,1,130162688,8192";
    let expected = [(Op::Read, 254_216, 8, Some(0)), (Op::Write, 254_224, 16, Some(100_000_000))];
    assert_eq!(requests(text), expected);
    let mut parser = Parser::new(None);
    let line = text.lines().nth(1).unwrap();
    let entry = parser.line(line).unwrap().next().unwrap();
    assert_eq!(entry.measured, Some(Span::from_ns(265_000)));
    assert_eq!(parser.format(), Some(Format::Systor));
    // SPC has the operation in another field.
    assert_eq!(guess("0,12,4096,R,0.5"), Ok(Format::Spc));
    let error = parser.line("1455600000.2,0.1,X,1,0,512").unwrap_err();
    assert!(error.message.contains("expected `R` or `W`, found `X`"), "{error}");
}
