//! Job files and command lines as a whole: problems, included files, sections, waived options.

use super::*;

#[test]
fn all_problems_are_reported_together_and_each_once() {
    let text = "[global]\nrate_iops=5,0\nrw=randrw\nprio=2\n[a]\niodpeth=4\nbs=x\n[b]\n[c]\nsync=2";
    let errors = parse("f", text, &Reading::new(&|_| None)).unwrap_err();
    let lines: Vec<usize> = errors.iter().map(|error| error.line).collect();
    // What follows from a wrong option is not reported, too; `[b]` has none of its own.
    assert_eq!(lines, [4, 6, 7, 8, 10], "{errors:?}");
    let same = parse("f", "[a]\nbs=x\n[b]\nbs=x", &Reading::new(&|_| None)).unwrap_err();
    assert_eq!(same.len(), 1);
}

#[test]
fn an_option_may_be_waived_by_its_name() {
    let ignore = ["verify".to_owned(), "no_such".to_owned()];
    let reading = Reading { ignore: &ignore, ..Reading::new(&|_| None) };
    let jobs = parse("f", "[a]\nsize=1m\nverify=md5\nno_such=1", &reading).unwrap();
    assert_eq!(jobs[0].notes.len(), 2, "{:?}", jobs[0].notes);
    assert!(jobs[0].notes[0].starts_with("`verify`: ignored"), "{:?}", jobs[0].notes);
    parse("f", "[a]\nsize=1m\nprio=2", &reading).unwrap_err();
}

#[test]
fn included_files_are_read_where_they_are_named() {
    let include = |_: &str, path: &str| {
        let text = match path {
            "b.inc" => "bs=8k\n",
            "self.inc" => "include self.inc\n",
            _ => "\nbs=x\n",
        };
        Ok((path.to_owned(), text.to_owned()))
    };
    let reading = Reading { include: &include, ..Reading::new(&|_| None) };
    let jobs = parse("f", "[global]\nsize=1m\ninclude b.inc\n[a]\n[b]\nbs=4k", &reading).unwrap();
    let sizes: Vec<_> = jobs.iter().map(|job| job.workload.bs).collect();
    assert_eq!(sizes, [Some(Bytes::kib(8)), Some(Bytes::kib(4))]);
    let errors = parse("f", "[a]\ninclude self.inc\ninclude wrong.inc", &reading).unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| (&*error.file, error.line)).collect();
    assert_eq!(found, [("self.inc", 1), ("wrong.inc", 2)]);
}

#[test]
fn the_words_of_a_process_are_options_and_job_files() {
    let words = ["--output-format=json", "--time_based", "a.fio", "-rw", "randread", "--section=b"];
    let call = super::super::Call::of_arguments(words);
    assert_eq!(call.files, ["a.fio"]);
    assert_eq!(call.program.formats, [super::super::OutputFormat::Json]);
    assert_eq!(call.program.sections, ["b"]);
    let text = "[a]\nsize=1m\n[global]\nbs=8k\n[b]\nsize=2m # comment\n".to_owned();
    let sections = call.program.sections.clone();
    let reading = Reading { sections: &sections, ..Reading::new(&|_| None) };
    let jobs = super::super::parse_call(call, &[("a.fio".to_owned(), text)], &reading).unwrap();
    let [job] = &jobs.all[..] else { panic!("{jobs:?}") };
    assert_eq!((job.name.as_str(), job.workload.rw), ("b", Some(Rw::RandRead)));
    assert_eq!(job.options, [("size".to_owned(), "2m".to_owned())]);
    let said = |key| job.said(&jobs.global, key);
    assert_eq!((said("bs"), said("rw")), (Some("8k"), Some("randread")));
    assert_eq!(
        super::super::command_line(&jobs.global, &jobs.all),
        "fio --time_based --rw=randread --bs=8k --name=b --size=2m"
    );
    let banner = "b: (g=0): rw=randread, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, \
                  ioengine=psync, iodepth=1\n";
    assert_eq!(job.banner(), banner);
    let wrong =
        super::super::Call::of_arguments(["--name=a;b", "--size=1m", "--output-format=xml", "-x"]);
    let errors = super::super::parse_call(wrong, &[], &Reading::new(&|_| None)).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn lines_of_progress_and_reports_come_at_the_interval_that_is_named() {
    use super::super::{Call, Program, parse_call};
    let (two, five) = (Some(Span::from_secs(2)), Some(Span::from_secs(5)));
    for (word, newline, status) in [
        ("--eta-newline=5s", five, None),
        ("--eta-newline=0", None, None),
        ("--status-interval=2", None, two),
    ] {
        let Program { eta_newline, status_interval, notes: said, .. } =
            Call::of_arguments(["--name=a", "--size=1m", word]).program;
        assert_eq!((eta_newline, status_interval, said.len()), (newline, status, 0), "{word}");
    }
    let call = Call::of_arguments(["--name=a", "--size=1m", "--eta-newline=soon"]);
    parse_call(call, &[], &Reading::new(&|_| None)).unwrap_err();
}
