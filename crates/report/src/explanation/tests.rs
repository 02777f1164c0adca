use drivelab_analysis::explanation::question::parse;
use drivelab_analysis::explanation::{Answer, Next, Rates, Suspect, explain};

use super::{json, text};
use crate::text::Look;

const LOOK: Look = Look { width: 100, colour: false };

const FIGURES: &str = r#"
arms = ["before", "after"]
[[figure]]
name = "reads"
measured = [100, 200]
rw = "randread"
iodepth = 32
[[figure]]
name = "a web server"
measured = [1000, 990]
left_out = "no disk is measured"
"#;

fn answer(effect: f64) -> Answer {
    let question = parse("figures.toml", FIGURES).unwrap();
    let rows = |shift: f64| (0..20).map(|it| vec![f64::from(it) * 0.01 - shift]).collect();
    let of = [(vec![], rows(0.0)), (vec![0], rows(libm::log(effect)))];
    let rates = Rates { of: of.into(), again: rows(0.01), model_sigma: vec![0.05] };
    let suspect = Suspect {
        id: "queue".into(),
        words: "one command at a time".into(),
        look: "drivelab inspect /dev/sdX".into(),
        prior: 1.0,
        excludes: Vec::new(),
        shows: Vec::new(),
    };
    let next = Next {
        options: "--rw randread --bs 4k --iodepth 1 --runtime 60s --json".into(),
        bits: 0.8,
        missing_bits: 1.0,
        ratios: vec![(0, 2.0), (1, 1.0)],
    };
    let lacks = ("the drive is shingled".to_owned(), "zones".to_owned());
    Answer {
        explanation: explain(&question, &[suspect], &rates),
        next: Some(next),
        targets: [None, None],
        drive: "generic-5400".into(),
        specimens: 20,
        left_out: question.left_out,
        impossible: Vec::new(),
        not_predicted: vec![lacks],
    }
}

#[test]
fn the_ranking_is_in_words_and_says_what_it_rests_on() {
    insta::assert_snapshot!(text(&answer(2.0), false, LOOK), @r"
    Answer: in `before`, one command at a time (99 %; strong: at least ten times as probable as any
      other).

          99 %  in `before`, one command at a time
                for: reads x2.00; predicted x1.62 to x2.47 (29.2 times more probable than under the
                  second)
           1 %  none of these: a cause outside the library
                against: reads x2.00 (29.2 times less probable than under the first)

       figure  ratio  by chance up to
    1  reads   x2.00            x1.09

    Each cause, alone or with another, and the ratio of each figure if it acts alone:
               cause  in          1
         99 %  queue  before  x2.00
    below 1 %  queue  after   x0.50

    Next, in both arms: drivelab run TARGET --rw randread --bs 4k --iodepth 1 --runtime 60s --json
                expected to give 0.80 of the 1.00 bits that separate them: x2.00 under hypothesis 1,
                  x1.00 under hypothesis 2
    Or look: drivelab inspect /dev/sdX
    Rests on 20 drives that fit `generic-5400`, simulated
    Left out: a web server (no disk is measured)
    Not predicted, as the model lacks it: the drive is shingled (zones)
    ");
}

#[test]
fn a_difference_that_no_cause_makes_is_said_to_be_none_of_these() {
    let words = text(&answer(0.5), false, LOOK);
    // Half as fast, and in the other arm: the suspect has both directions.
    assert!(words.starts_with("Answer: in `after`, one command at a time"), "{words}");
    let words = text(&answer(1.05), false, LOOK);
    assert!(words.starts_with("Answer: none of the causes in the library"), "{words}");
}

#[test]
fn scripts_get_the_same_answer() {
    let document = json(&answer(2.0));
    assert_eq!(document["schema"], "drivelab.explain/1");
    assert_eq!(document["ranking"][0]["causes"][0]["id"], "queue");
    assert_eq!(document["ranking"][0]["kind"], "cause");
    assert_eq!(document["left_out"][0]["reason"], "no disk is measured");
}
