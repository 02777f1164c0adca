//! No stored run may panic when it is read and compared.
#![no_main]

use drivelab_analysis::comparison::{CompareOptions, analyse, from_runs};
use drivelab_analysis::run::Dated;
use drivelab_core::config::Choice as _;
use drivelab_report::comparison::text;
use drivelab_report::publish::{Format, Subject};
use drivelab_report::text::Look;

libfuzzer_sys::fuzz_target!(|text_of_runs: &str| {
    let Ok(records) = drivelab_analysis::run::parse(text_of_runs) else { return };
    let look = Look { width: 80, colour: false };
    let _ = drivelab_report::run::text(&records[0], look);
    for (_, format) in Format::NAMES {
        let _ = Subject::Run(&records[0]).render(*format, &[]);
    }
    let runs: Vec<Dated> = records.into_iter().map(Dated::from).collect();
    let arms = [("a".to_owned(), runs[..1].to_vec()), ("b".to_owned(), runs)];
    let Ok(input) = from_runs(&arms) else { return };
    let (primary, factors, unpaired) = (None, Vec::new(), None);
    let options = CompareOptions { primary, margin: 0.03, seed: 1, factors, unpaired };
    if let Ok(result) = analyse(&input, &options) {
        let _ = text(&result, look);
    }
});
