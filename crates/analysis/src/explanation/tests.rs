use super::hypothesis::{all, effects, seen};
use super::suspect::About;
use super::*;
use crate::explanation::question::{of_article, parse};

const FIGURES: &str = r#"
arms = ["before", "after"]
drive = "generic-5400"
[[figure]]
name = "reads"
measured = [100, 200]
rw = "randread"
iodepth = 32
[[figure]]
name = "seconds of writes"
measured = [30, 10]
better = "less"
rw = "randwrite"
fsync = 1
[[figure]]
name = "a web server"
measured = [1000, 990]
left_out = "no disk is measured"
"#;

/// Two suspects: one doubles the first figure, the other triples the second.
fn rates() -> Rates {
    let drive = |number: u32| f64::from(number) * 0.01;
    let rows = |shift: [f64; 2]| {
        let row =
            |number: u32| [4.0 - shift[0] + drive(number), 5.0 - shift[1] - drive(number)].to_vec();
        (0..20).map(row).collect::<Vec<Vec<f64>>>()
    };
    let (two, three) = (libm::log(2.0), libm::log(3.0));
    let of = [
        (vec![], [0.0, 0.0]),
        (vec![0], [two, 0.0]),
        (vec![1], [0.0, three]),
        (vec![2], [0.0, 0.0]),
        (vec![0, 1], [two, three]),
    ];
    Rates {
        of: of.into_iter().map(|(set, shift)| (set, rows(shift))).collect(),
        again: rows([0.01, -0.01]),
        model_sigma: vec![0.05, 0.05],
    }
}

fn suspects() -> Vec<Suspect> {
    let suspect = |id: &str| Suspect {
        id: id.into(),
        words: id.into(),
        look: "look".into(),
        prior: 1.0,
        excludes: Vec::new(),
        shows: Vec::new(),
    };
    ["queue", "cache", "link"].map(suspect).to_vec()
}

fn first(ratios: [f64; 2]) -> (Vec<(String, usize)>, Explanation) {
    let mut question = parse("figures.toml", FIGURES).unwrap();
    for (asked, ratio) in question.figures.iter_mut().zip(ratios) {
        asked.ratio = ratio;
    }
    let found = explain(&question, &suspects(), &rates());
    let total: f64 = found.ranking.iter().map(|it| it.probability).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    let causes = found.ranking[0].causes.iter();
    (causes.map(|it| (it.id.clone(), it.arm.unwrap())).collect(), found)
}

#[test]
fn figures_of_a_file_are_ratios_in_which_more_is_better() {
    let question = parse("figures.toml", FIGURES).unwrap();
    let ratios: Vec<f64> = question.figures.iter().map(|it| it.ratio).collect();
    assert_eq!(ratios, [2.0, 3.0]);
    assert_eq!(question.left_out.len(), 1);
    assert_eq!(of_article(1).unwrap().figures.len(), 3);
}

#[test]
fn wrong_files_of_figures_are_refused() {
    let refused = |from: &str, to: &str, why: &str| {
        let error = parse("figures.toml", &FIGURES.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused("[100, 200]", "[100]", "one number for each");
    refused("[100, 200]", "[0, 200]", "above 0");
    refused("[100, 200]", "[1e-300, 1e300]", "two units");
    refused("[100, 200]", "[nan, 200]", "not a number");
    refused("\"less\"", "\"lower\"", "neither");
    refused("iodepth", "io_depth", "unknown key `io_depth`");
    refused("[\"before\", \"after\"]", "[\"one\"]", "names the two");
}

#[test]
fn the_cause_is_found_in_the_arm_that_it_slows() {
    let (causes, found) = first([2.0, 1.0]);
    assert_eq!(causes, [("queue".to_owned(), 0)]);
    assert!(matches!(found.strength, Strength::Decisive | Strength::Strong), "{found:?}");
    assert_eq!(first([0.5, 1.0]).0, [("queue".to_owned(), 1)]);
    // Both at once, and in opposite arms.
    assert_eq!(first([2.0, 3.0]).0, [("queue".to_owned(), 0), ("cache".to_owned(), 0)]);
    assert_eq!(first([2.0, 0.333]).0, [("queue".to_owned(), 0), ("cache".to_owned(), 1)]);
}

#[test]
fn chance_and_none_of_these_are_answers() {
    assert_eq!(first([1.01, 0.99]).1.ranking[0].kind, Kind::Chance);
    assert_eq!(first([0.2, 7.0]).1.ranking[0].kind, Kind::NoneOfThese);
}

#[test]
fn a_suspect_that_no_figure_shows_is_named_and_not_ranked() {
    let (_, found) = first([2.0, 1.0]);
    let unseen: Vec<&str> = found.unseen.iter().map(|it| it.cause.id.as_str()).collect();
    assert_eq!(unseen, ["link"]);
    let is_link = |it: &Ranked| it.causes.iter().any(|cause| cause.id == "link");
    assert!(!found.ranking.iter().any(is_link));
}

#[test]
fn an_unknown_cause_is_hidden_from_the_figures_as_often_as_a_known_one() {
    let each = all(&Question::default(), &suspects(), &rates());
    let unknown = each.iter().find(|(about, _)| *about == About::Unknown);
    let (_, unknown) = unknown.unwrap();
    // One of the three suspects changes no figure.
    assert!((unknown.prior - 0.1 * 2.0 / 3.0).abs() < 1e-9, "{}", unknown.prior);
    let total: f64 = each.iter().map(|(_, it)| it.prior).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
}

#[test]
fn a_cause_that_another_hides_is_not_named_beside_it() {
    let mut hiding = rates();
    // With both the rates are those of the queue alone.
    let queue = hiding.of[&vec![0]].clone();
    hiding.of.insert(vec![0, 1], queue);
    let is_both =
        |about: &About| matches!(about, About::Causes(acting) if acting.contains(&vec![0, 1]));
    let hypotheses = |rates: &Rates| all(&Question::default(), &suspects(), rates);
    let named = |rates: &Rates| hypotheses(rates).iter().any(|(about, _)| is_both(about));
    assert!(named(&rates()) && !named(&hiding));
    let total = |rates: &Rates| hypotheses(rates).iter().map(|it| it.1.prior).sum::<f64>();
    assert!((total(&rates()) - total(&hiding)).abs() < 1e-9);
}

#[test]
fn a_pair_that_was_tried_on_a_few_drives_is_predicted_by_its_interaction() {
    let mut tried = rates();
    // With both, the first figure is that of the queue alone, and the second that of no suspect.
    let queue = tried.of[&vec![0]].clone();
    tried.of.insert(vec![0, 1], queue[..6].to_vec());
    let both = effects(&[Vec::new(), vec![0, 1]], &tried).unwrap();
    let queue_alone = effects(&[Vec::new(), vec![0]], &tried).unwrap();
    for (both, alone) in both.drives.iter().flatten().zip(queue_alone.drives.iter().flatten()) {
        assert!((both - alone).abs() < 1e-9, "{both} {alone}");
    }
    assert!(both.added_sd.iter().all(|sd| *sd < 1e-9), "{both:?}");
    assert_eq!(both.drives.len(), 20);
}

#[test]
fn a_suspect_that_changes_less_than_other_addresses_do_is_not_seen() {
    let mut noisy = rates();
    assert!(seen(&suspects(), &noisy).contains(&1));
    for (number, row) in noisy.again.iter_mut().enumerate() {
        row[1] += if number % 2 == 0 { 1.5 } else { -1.5 };
    }
    assert!(!seen(&suspects(), &noisy).contains(&1));
}

#[test]
fn the_figure_that_speaks_for_a_cause_is_the_one_that_it_changes() {
    let (_, found) = first([2.0, 1.0]);
    assert_eq!(found.ranking[0].speaks_for.unwrap().figure, 0);
    let interval = found.ranking[0].predicted95[0];
    assert!(interval[0] < 2.0 && 2.0 < interval[1], "{interval:?}");
}

#[test]
fn pairs_are_possible_on_one_arm_where_both_are_seen() {
    assert_eq!(possible_pairs(&suspects(), &rates()), [vec![0, 1]]);
    let mut exclusive = suspects();
    (exclusive[0].excludes, exclusive[1].excludes) = (vec![1], vec![0]);
    assert!(possible_pairs(&exclusive, &rates()).is_empty());
}

#[test]
fn pairs_are_promising_where_their_effects_add_up_to_what_was_measured() {
    let question = parse("figures.toml", FIGURES).unwrap();
    let mut known = rates();
    known.of.remove(&vec![0, 1]);
    assert_eq!(promising_pairs(&question, &suspects(), &known), [vec![0, 1]]);
    let mut exclusive = suspects();
    (exclusive[0].excludes, exclusive[1].excludes) = (vec![1], vec![0]);
    assert!(promising_pairs(&question, &exclusive, &known).is_empty());
}

#[test]
fn the_next_measurement_is_the_one_that_separates() {
    let (_, mut found) = first([2.0, 1.0]);
    // As if the first two were undecided: the queue and the cache of the first arm.
    let of = |id: &str| {
        let is = |it: &&Ranked| {
            it.kind == Kind::Cause && it.causes[0].id == id && it.causes[0].arm == Some(0)
        };
        Ranked { probability: 0.5, ..found.ranking.iter().find(is).unwrap().clone() }
    };
    found.ranking = vec![of("queue"), of("cache")];
    assert_eq!(undecided(&found), [vec![], vec![0], vec![1]]);
    let mut rates = rates();
    for rows in rates.of.values_mut() {
        // A measurement that nothing changes, and one that the queue doubles.
        for row in rows.iter_mut() {
            *row = vec![1.0, row[0]];
        }
    }
    let options = ["nothing", "queue"].map(str::to_owned).to_vec();
    let best = next(&found, &Outlooks { options, rates }).unwrap();
    assert_eq!(best.options, "queue");
    assert!(best.bits > 0.9 && best.missing_bits > 0.99, "{best:?}");
}
