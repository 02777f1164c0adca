//! Files of figures, of any tool, and the published figures of the articles.

use drivelab_core::config::{ConfigError, Section};
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{JobSchedule, Refusal, invalid};

use super::{Asked, FIGURES_MAX, Load, Question, RATIO_MAX, is_a_ratio};

/// The figures of the articles that are included, by number.
const ARTICLES: [(u32, &str); 5] = [
    (0, include_str!("../../../../../causes/figures/article-0.toml")),
    (1, include_str!("../../../../../causes/figures/article-1.toml")),
    (2, include_str!("../../../../../causes/figures/article-2.toml")),
    (3, include_str!("../../../../../causes/figures/article-3.toml")),
    (4, include_str!("../../../../../causes/figures/article-4.toml")),
];

/// The published figures of an article.
///
/// # Errors
/// No figures of this article are included.
pub fn of_article(number: u32) -> Result<Question, Refusal> {
    let found = ARTICLES.iter().find(|(known, _)| *known == number);
    let (_, text) = found.ok_or_else(|| {
        let message = format!("there are no figures of an article {number}");
        Refusal::request(message)
            .hint("explain article:0, article:1, ... article:4, or write figures to a file")
    })?;
    Ok(parse(&format!("causes/figures/article-{number}.toml"), text)?)
}

/// The figures of a text.
///
/// # Errors
/// A key is missing, unknown, or has a value that cannot be read.
pub fn parse(file: &str, text: &str) -> Result<Question, ConfigError> {
    let mut top = Section::parse(file, text)?;
    let arms: Vec<String> = top.list("arms")?.unwrap_or_else(|| vec!["A".into(), "B".into()]);
    let drive: Option<String> = top.take("drive")?;
    // Named for the reader of the file alone.
    top.take::<String>("source")?;
    top.at_most("figure", FIGURES_MAX)?;
    let arms: [String; 2] =
        arms.try_into().map_err(|_| top.error("`arms` names the two sets of results"))?;
    let mut question =
        Question { arms, drives: drive.into_iter().collect(), ..Question::default() };
    for section in top.sections("figure")? {
        figure(section, &mut question)?;
    }
    if question.figures.is_empty() {
        return Err(top.error("no `[[figure]]` that a modelled drive can give"));
    }
    top.finish()?;
    Ok(question)
}

fn figure(mut section: Section, into: &mut Question) -> Result<(), ConfigError> {
    let name: String = section.require("name")?;
    let faster = ratio(&mut section)?;
    let left_out: Option<String> = section.take("left_out")?;
    let of_arms = runs(&mut section)?;
    let run_sd: Option<f64> = section.take("run_sd")?;
    let options = WorkloadOptions::read(&mut section)?;
    let numjobs: u32 = section.take("numjobs")?.unwrap_or(1);
    if run_sd.is_some_and(|sd| !(sd > 0.0 && sd < 3.0)) || !(1..=256).contains(&numjobs) {
        return Err(section.error("`run_sd` is above 0 and below 3, `numjobs` from 1 to 256"));
    }
    if let Some(why) = left_out {
        section.finish()?;
        into.left_out.push((name, why));
        return Ok(());
    }
    let workload = options.check().map_err(|wrong| section.error(wrong))?;
    section.finish()?;
    // A deviation that is stated for single runs comes from elsewhere, and is taken as it is.
    let freedom = match of_arms[0] + of_arms[1] - 2 {
        0 => STATED_FREEDOM,
        freedom => freedom,
    };
    into.figures.push(Asked {
        name,
        load: Load { workload, numjobs, schedule: JobSchedule::default() },
        ratio: faster,
        runs: of_arms,
        run_sd: run_sd.map(|sd| (sd, freedom)),
    });
    Ok(())
}

/// Degrees of freedom of a deviation that no run here shows.
const STATED_FREEDOM: u32 = 30;

/// The rate of the second arm as a multiple of that of the first.
fn ratio(section: &mut Section) -> Result<f64, ConfigError> {
    let measured: Vec<f64> = section.list("measured")?.unwrap_or_default();
    let [a, b] = measured[..] else {
        return Err(section.error("`measured` has one number for each of the two arms"));
    };
    if !(a > 0.0 && b > 0.0) {
        return Err(section.error("`measured`: both numbers are above 0"));
    }
    let is_rate = section.take_with("better", |text| match text {
        "more" => Ok(true),
        "less" => Ok(false),
        _ => Err(invalid!("`{text}` is neither `more` nor `less`")),
    })?;
    let ratio = if is_rate.unwrap_or(true) { b / a } else { a / b };
    if is_a_ratio(ratio) {
        return Ok(ratio);
    }
    let message = format!("`measured`: a factor of more than {RATIO_MAX:e} is of two units");
    Err(section.error(message))
}

/// Runs of each arm.
fn runs(section: &mut Section) -> Result<[u32; 2], ConfigError> {
    let runs: Vec<u32> = section.list("runs")?.unwrap_or_else(|| vec![1, 1]);
    let runs = <[u32; 2]>::try_from(runs).ok();
    runs.filter(|runs| runs.iter().all(|it| (1..=100_000).contains(it)))
        .ok_or_else(|| section.error("`runs` is the number of runs of each arm, from 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_included_figures_can_be_read() {
        for (number, _) in ARTICLES {
            assert!(!of_article(number).unwrap().figures.is_empty(), "{number}");
        }
        assert!(of_article(7).unwrap_err().to_string().contains("article 7"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String, key in "[a-z_]{1,9}", value in ".{0,12}") {
            let _ = parse("figures.toml", &text);
            let figure = "[[figure]]\nname = 'f'\nmeasured = [1, 2]\nrw = 'randread'\n";
            let _ = parse("figures.toml", &format!("{figure}{key} = {value}\n"));
            let figure = format!("[[figure]]\nname = 'f'\nmeasured = [{value}, 2]\n");
            let _ = parse("figures.toml", &figure);
        }
    }
}
