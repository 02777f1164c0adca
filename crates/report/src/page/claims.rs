//! Claims and questions stated beforehand: findings, interactions, prices.

use drivelab_analysis::study::{
    Answer, ArmPrice, FindingResult, FoundEffect, InteractionResult, Price, StudyResult,
};
use drivelab_analysis::{figures, metric};
use drivelab_stats::{Contrast, Interacts};

use super::html::{each, escape, inline, range_or_dash, scroll, section, table};

pub(super) fn findings(result: &StudyResult) -> String {
    if result.findings.is_empty() {
        return String::new();
    }
    let items = each("<li>", result.findings.iter().map(finding), "</li>\n");
    section("Claims checked", "", &format!("<ul class=\"findings\">\n{items}</ul>\n"))
}

fn finding(one: &FindingResult) -> String {
    let (class, sign) = match one.answer {
        Answer::Holds => ("faster", "\u{2713}"),
        Answer::DoesNotHold => ("slower", "\u{2717}"),
        Answer::Consistent => ("open", "\u{2248}"),
        Answer::NoEvidence => ("open", "\u{2205}"),
        Answer::CannotTell => ("open", "?"),
    };
    format!(
        "<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span> {}",
        one.answer.words(),
        inline(&one.sentence())
    )
}

/// The effects of two factors alone and together, metric by metric.
pub(super) fn interactions(result: &StudyResult) -> String {
    if result.interactions.is_empty() {
        return String::new();
    }
    let parts = result.interactions.iter().map(|one| {
        let series = &result.series[one.series];
        let verdict = match one.verdict {
            _ if one.withheld.is_some() => "withheld",
            Interacts::Interact => "the factors interact",
            Interacts::Independent => "no practical interaction",
            Interacts::NotShown => "no interaction shown",
        };
        let are_drives = one.effects.iter().any(|effect| effect.prediction95.is_some());
        let heads = ["effect", "ratio", "95 % interval", "95 % of drives"];
        // Without specimens there is no interval for one more drive.
        let columns = if are_drives { heads.len() } else { heads.len() - 1 };
        let rows = one
            .effects
            .iter()
            .map(|effect| row(one, effect).into_iter().take(columns).collect::<Vec<String>>());
        format!(
            "<h3>{} and {} in {} of <code>{}</code>: {verdict}</h3>\n\
             <p class=\"about\">{}.</p>\n{}",
            escape(&one.factors[0]),
            escape(&one.factors[1]),
            escape(&metric::label(&series.metric)),
            escape(&result.experiment.workloads[series.workload].name),
            inline(&one.sentence()),
            scroll("Effects", &table(&heads[..columns], rows)),
        )
    });
    let about = "Ratios above 1 are better. The intervals of the primary metric hold together, and \
                 so do all others.";
    section("Factor by factor", about, &parts.collect::<String>())
}

fn row(one: &InteractionResult, effect: &FoundEffect) -> Vec<String> {
    let level = |factor: usize, level: usize| one.levels[factor][level].as_str();
    let name = match effect.contrast {
        Contrast::Main { factor, to } => format!(
            "{}: {} instead of {}, on average",
            one.factors[factor],
            level(factor, to),
            level(factor, 0)
        ),
        Contrast::Simple { factor, to, at } => format!(
            "{}: {} instead of {}, with {} {}",
            one.factors[factor],
            level(factor, to),
            level(factor, 0),
            one.factors[1 - factor],
            level(1 - factor, at)
        ),
        Contrast::Interaction { to } => {
            format!("interaction ({} with {})", level(0, to[0]), level(1, to[1]))
        }
    };
    let (mean, drive) = (effect.mean, effect.prediction95);
    vec![escape(&name), figures::ratio(mean.ratio), range_or_dash(mean.ci95), range_or_dash(drive)]
}

pub(super) fn prices(result: &StudyResult) -> String {
    if result.prices.is_empty() {
        return String::new();
    }
    let rows = result
        .prices
        .iter()
        .flat_map(|price| price.arms.iter().map(move |arm| price_row(result, price, arm)));
    let heads =
        ["metric", "arm", "price", "a dollar buys", "95 % interval", "ratio", "its interval"];
    let about = format!(
        "The ratio is against <code>{}</code>, and each interval its own.",
        escape(&result.experiment.arms[0].name)
    );
    section("Value for money", &about, &scroll("What a dollar buys", &table(&heads, rows)))
}

fn price_row(result: &StudyResult, price: &Price, arm: &ArmPrice) -> Vec<String> {
    let show = |value: f64| escape(&metric::show(&price.metric, value));
    let none = || "\u{2013}".to_owned();
    vec![
        escape(&result.series[price.series].name),
        escape(&result.experiment.arms[arm.arm].name),
        format!("${:.2}", arm.usd),
        show(arm.value),
        arm.ci95.map_or_else(none, |limits| escape(&metric::show_range(&price.metric, limits))),
        arm.ratio.map_or_else(none, |(ratio, _)| figures::ratio(ratio)),
        match (&arm.withheld, arm.ratio.and_then(|(_, limits)| limits)) {
            (Some(why), _) => format!("withheld: {}", inline(why)),
            (None, limits) => limits.map_or_else(none, figures::range),
        },
    ]
}
