//! Published comparisons next to the studies that repeat them.

mod answer;
mod markdown;
mod page;
mod picture;
mod text;

pub use markdown::markdown;
pub use page::html;

use drivelab_analysis::figures::range;
use drivelab_core::config::Choice as _;
use drivelab_core::plan::Scale;
use drivelab_core::{Refusal, StageName, counted};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Article, article};
use crate::outcome::document;
use crate::study::scale;

/// The schema that this version writes.
pub const ARTICLES_SCHEMA: &str = "drivelab.articles/1";

/// The words for a claim without an answer.
const CANNOT_TELL: &str = "cannot tell";

/// All that were repeated: the JSON of `drivelab articles`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// Always [`ARTICLES_SCHEMA`].
    pub schema: String,
    /// In the order of their numbers.
    pub articles: Vec<Repeated>,
}

/// One article and the study of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// As `show article:N` numbers it.
    pub number: u32,
    /// The included study.
    pub study: String,
    /// The stage it ran on.
    pub stage: StageName,
    /// The scale of its work, where that has more than one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<Scale>,
    /// Its blocks, each another drive where the profile leaves numbers open.
    pub blocks: u32,
    /// The number of findings with each answer.
    pub counts: Counts,
    /// Every published claim, and what the study says of it.
    pub findings: Vec<Checked>,
    /// The joint effect of two factors on the primary metric, if the study asks for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interaction: Option<Interacting>,
    /// Remarks that a reader of the result must know.
    pub notes: Vec<String>,
    /// The command that gives this result again.
    pub reproduce: String,
    /// The article, with what may and may not be concluded from it.
    pub article: Article,
}

/// The numbers of findings that hold, do not hold, and cannot be decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Hold.
    pub holds: usize,
    /// Whose published figure is possible, but undecided.
    #[serde(default)]
    pub consistent: usize,
    /// Do not hold.
    pub does_not_hold: usize,
    /// Are no evidence: two runs of one arm differ by as much.
    #[serde(default)]
    pub no_evidence: usize,
    /// Cannot be decided.
    pub cannot_tell: usize,
}

/// A finding of a study, as its JSON has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The claim.
    pub name: String,
    /// The figure that was measured for it; may be empty.
    pub figure: String,
    /// The statement of the source.
    pub published: String,
    /// The source.
    pub source: String,
    /// `holds`, `consistent`, `does-not-hold`, `no-evidence` or `cannot-tell`.
    pub verdict: String,
    /// The figure, where it was measured.
    pub value: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// The interval for one more drive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prediction95: Option<[f64; 2]>,
    /// The bounds that it is held against.
    pub at_least: Option<f64>,
    /// The upper one.
    pub at_most: Option<f64>,
    /// The reason why there is no answer.
    pub why: Option<String>,
    /// The same numbers as text.
    pub shown: Option<ShownText>,
}

/// Numbers with their units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownText {
    value: String,
    ci95: Option<String>,
    prediction95: Option<String>,
    bounds: Option<String>,
}

/// The interaction of two factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interacting {
    /// The factors.
    pub factors: Vec<String>,
    /// The metric.
    pub metric: String,
    /// The effect of both together over the product of their effects.
    pub ratio: f64,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// The interval for one more drive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prediction95: Option<[f64; 2]>,
    /// The conclusion.
    pub verdict: String,
}

impl Repeated {
    /// An article with the result of the study that repeats it: JSON of schema `drivelab.study/1`.
    ///
    /// # Errors
    /// The result is of another schema, or names no article.
    pub fn of(study: &str, result: &str) -> Result<Self, Refusal> {
        let wrong = |why: String| Refusal::request(format!("the result of `{study}`: {why}"));
        let json: Value = serde_json::from_str(result).map_err(|error| wrong(error.to_string()))?;
        let read: StudyResult =
            Deserialize::deserialize(&json).map_err(|it| wrong(format!("{it}")))?;
        let number = read.article.ok_or_else(|| wrong("it repeats no article".into()))?;
        let of = |verdict| read.findings.iter().filter(|one| one.verdict == verdict).count();
        Ok(Self {
            number,
            study: study.to_owned(),
            counts: Counts {
                holds: of("holds"),
                consistent: of("consistent"),
                does_not_hold: of("does-not-hold"),
                no_evidence: of("no-evidence"),
                cannot_tell: of("cannot-tell"),
            },
            stage: read.stage,
            scale: read.scale,
            blocks: read.blocks,
            findings: read.findings,
            // The first is that of the primary metric.
            interaction: read.interactions.into_iter().next().map(Interactions::strongest),
            notes: read.notes,
            reproduce: read.reproduce,
            article: article(&number.to_string())?,
        })
    }
}

/// A claim and one answer to it.
#[derive(Debug, Clone, PartialEq)]
struct Answered<'a> {
    finding: &'a Checked,
    /// The stages that answer so.
    stages: Vec<&'a str>,
    /// The claim has an answer above.
    is_more: bool,
}

/// The claims of an article in their order, with what each stage says of them; an answer that all
/// stages give is given once.
fn answers(stages: &[Repeated]) -> Vec<Answered<'_>> {
    let mut all: Vec<Answered<'_>> = Vec::new();
    let names = stages.iter().flat_map(|one| &one.findings).map(|finding| finding.name.as_str());
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if known.contains(&name) {
            continue;
        }
        known.push(name);
        let first = all.len();
        for stage in stages {
            let Some(finding) = stage.findings.iter().find(|one| one.name == name) else {
                continue;
            };
            if let Some(one) = all[first..].iter_mut().find(|one| *one.finding == *finding) {
                one.stages.push(stage.stage.name());
            } else {
                let is_more = all.len() > first;
                all.push(Answered { finding, stages: vec![stage.stage.name()], is_more });
            }
        }
    }
    all
}

/// Each claim of an article once, with the answer that counts: a stage that decides it counts
/// before one that does not, and stage kernel, which runs the tools themselves, before others.
fn settled(stages: &[Repeated]) -> Vec<(&Checked, &str)> {
    let all = answers(stages);
    let mut settled = Vec::new();
    for claim in all.chunk_by(|_, next| next.is_more) {
        let of = |verdict: &str| claim.iter().find(|it| it.finding.verdict == verdict);
        let decided = [of("holds"), of("does-not-hold")].into_iter().flatten();
        // Answers are in the order of the stages' names: kernel, simulate.
        let first = decided.min_by_key(|it| it.stages.first().copied());
        let open = of("no-evidence").or_else(|| of("consistent"));
        let verdict = first.or(open).map_or("cannot-tell", |it| it.finding.verdict.as_str());
        settled.push((claim[0].finding, verdict));
    }
    settled
}

/// `stage simulate, 20 blocks; stage kernel, 8 blocks`.
fn runs(stages: &[Repeated]) -> String {
    stages
        .iter()
        .map(|one| {
            let blocks = counted(one.blocks, "block");
            format!("stage {}{}, {blocks}", one.stage, scale(one.scale))
        })
        .collect::<Vec<_>>()
        .join("; ")
}

/// The head of the notes of one stage.
fn notes_head(stages: &[Repeated], one: &Repeated) -> String {
    match stages {
        [_] => "About this repetition".into(),
        _ => format!("About the repetition at stage {}", one.stage),
    }
}

/// The parts of a study's result that are read here.
#[derive(Deserialize)]
struct StudyResult {
    article: Option<u32>,
    stage: StageName,
    #[serde(default)]
    scale: Option<Scale>,
    blocks: u32,
    #[serde(default)]
    findings: Vec<Checked>,
    #[serde(default)]
    interactions: Vec<Interactions>,
    notes: Vec<String>,
    reproduce: String,
}

#[derive(Deserialize)]
struct Interactions {
    factors: Vec<String>,
    metric: String,
    interaction: Strongest,
}

#[derive(Deserialize)]
struct Strongest {
    ratio: f64,
    ci95: Option<[f64; 2]>,
    #[serde(default)]
    prediction95: Option<[f64; 2]>,
    verdict: String,
}

impl Interactions {
    fn strongest(self) -> Interacting {
        let Strongest { ratio, ci95, prediction95, verdict } = self.interaction;
        let Self { factors, metric, .. } = self;
        Interacting { factors, metric, ratio, ci95, prediction95, verdict }
    }
}

impl Again {
    /// The articles, in the order of their numbers.
    pub fn new(mut articles: Vec<Repeated>) -> Self {
        articles.sort_by(|a, b| (a.number, a.stage.name()).cmp(&(b.number, b.stage.name())));
        Self { schema: ARTICLES_SCHEMA.to_owned(), articles }
    }

    /// Each article once, with its study at each stage where it ran.
    fn by_number(&self) -> impl Iterator<Item = &[Repeated]> {
        self.articles.chunk_by(|one, next| one.number == next.number)
    }

    /// As one JSON document.
    pub fn json(&self) -> String {
        document(self)
    }

    /// The number of claims with each answer, each claim once.
    pub fn score(&self) -> Counts {
        let mut score = Counts::default();
        for stages in self.by_number() {
            for (_, verdict) in settled(stages) {
                match verdict {
                    "holds" => score.holds += 1,
                    "does-not-hold" => score.does_not_hold += 1,
                    "no-evidence" => score.no_evidence += 1,
                    "consistent" => score.consistent += 1,
                    _ => score.cannot_tell += 1,
                }
            }
        }
        score
    }

    /// The score in a sentence.
    fn scored(&self) -> String {
        let Counts { holds, consistent, does_not_hold, no_evidence, cannot_tell } = self.score();
        let claims = holds + consistent + does_not_hold + no_evidence + cannot_tell;
        format!(
            "Of {}, {holds} hold and {does_not_hold} do not; {consistent} published figures are \
             consistent with such drives, {no_evidence} are no evidence, and of {cannot_tell} \
             claims nothing can be concluded.",
            counted(claims, "claim")
        )
    }
}

impl Checked {
    /// The word for its answer.
    fn answer(&self) -> &'static str {
        match self.verdict.as_str() {
            "holds" => "holds",
            "does-not-hold" => "does not hold",
            "consistent" => "consistent",
            "no-evidence" => "no evidence",
            _ => CANNOT_TELL,
        }
    }

    /// `x1.02 (x1.01 to x1.03; 95 % of such drives: x0.99 to x1.05)`.
    fn ours(&self) -> String {
        let Some(shown) = &self.shown else { return "not measured".into() };
        let drive = shown.prediction95.as_ref().map(|it| format!("; 95 % of such drives: {it}"));
        let drive = drive.unwrap_or_default();
        match &shown.ci95 {
            Some(ci95) => format!("{} ({ci95}{drive})", shown.value),
            None => shown.value.clone(),
        }
    }

    /// The bounds it was held against.
    fn bounds(&self) -> &str {
        self.shown.as_ref().and_then(|shown| shown.bounds.as_deref()).unwrap_or_default()
    }
}

/// The interaction in a sentence.
fn together(one: &Interacting) -> String {
    let interval =
        one.ci95.map(range).map(|it| format!(" (95 % interval {it}")).unwrap_or_default();
    let drive = one.prediction95.map(range).map(|it| format!("; 95 % of such drives: {it}"));
    let end = if interval.is_empty() { "" } else { ")" };
    format!(
        "On `{}`, {} together do {} of the product of what each does alone{interval}{}{end}: {}.",
        one.metric,
        one.factors.join(" and "),
        drivelab_analysis::figures::times(one.ratio),
        drive.unwrap_or_default(),
        match one.verdict.as_str() {
            "interact" => "they interact",
            "independent" => "no practical interaction",
            _ => "no interaction shown",
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a study of article 4 with a finding of each answer.
    fn repeated() -> Repeated {
        let finding = |name: &str, verdict: &str, value: Option<f64>| {
            let shown = value.map(|value| {
                serde_json::json!({
                    "value": format!("x{value:.2}"), "ci95": "x1.49 to x1.61",
                    "prediction95": null, "bounds": "at least x1.40",
                })
            });
            serde_json::json!({
                "name": name, "figure": "copy.iops of b over a", "published": "2-3x",
                "source": "an article <b>", "verdict": verdict, "value": value,
                "ci95": value.map(|value| [value * 0.96, value * 1.04]), "at_least": 1.4,
                "at_most": null, "why": value.is_none().then_some("it needs a file system"),
                "shown": shown,
            })
        };
        let result = serde_json::json!({
            "article": 4, "stage": "simulate", "blocks": 20, "notes": ["a note"],
            "reproduce": "drivelab study ncq-and-caching",
            "findings": [
                finding("a | claim", "holds", Some(1.55)),
                finding("another", "does-not-hold", Some(1.55)),
                finding("a third", "cannot-tell", None),
            ],
            "interactions": [{
                "factors": ["mode", "caching"], "metric": "copy.iops",
                "interaction": {"ratio": 1.2, "ci95": [1.1, 1.3], "verdict": "interact"},
            }],
        });
        Repeated::of("ncq-and-caching", &result.to_string()).unwrap()
    }

    #[test]
    fn a_result_is_joined_with_its_article_and_read_back() {
        let one = repeated();
        assert_eq!(
            one.counts,
            Counts { holds: 1, does_not_hold: 1, cannot_tell: 1, ..Counts::default() }
        );
        let again = Again::new(vec![one]);
        assert_eq!(again.by_number().count(), 1);
        let read: Again = serde_json::from_str(&again.json()).unwrap();
        assert_eq!(read, again);
        assert_eq!(markdown(&read), markdown(&again));
    }

    #[test]
    fn each_stage_answers_and_the_same_answer_is_given_once() {
        let simulated = repeated();
        let mut kernel = Repeated { stage: StageName::Kernel, blocks: 8, ..repeated() };
        kernel.findings[2].verdict = "holds".into();
        let again = Again::new(vec![simulated, kernel]);
        let stages: Vec<Vec<&[Repeated]>> = vec![again.by_number().collect()];
        assert_eq!((stages[0].len(), stages[0][0].len()), (1, 2));
        let answers = answers(stages[0][0]);
        let of: Vec<(&str, Vec<&str>, bool)> = answers
            .iter()
            .map(|one| (one.finding.name.as_str(), one.stages.clone(), one.is_more))
            .collect();
        let both = vec!["kernel", "simulate"];
        assert_eq!(
            of,
            [
                ("a | claim", both.clone(), false),
                ("another", both, false),
                ("a third", vec!["kernel"], false),
                ("a third", vec!["simulate"], true),
            ]
        );
        // The third claim is decided at stage kernel, and open at stage simulate.
        let score = Counts { holds: 2, does_not_hold: 1, ..Counts::default() };
        assert_eq!(again.score(), score);
        let text = markdown(&again);
        assert!(text.contains("**Cannot tell:**\n\n- a third: it needs a file system"), "{text}");
        let page = html(&again);
        assert!(page.contains("About the repetition at stage kernel"), "{page}");
        assert!(page.contains("stage kernel, 8 blocks; stage simulate, 20 blocks"));
    }

    #[test]
    fn a_result_of_something_else_is_refused() {
        let check = |text: &str, why: &str| {
            let error = Repeated::of("mine", text).unwrap_err().to_string();
            assert!(error.contains("`mine`") && error.contains(why), "{error}");
        };
        check("{", "EOF");
        check("{\"stage\": \"simulate\"}", "missing field");
        let none = "{\"stage\":\"simulate\",\"blocks\":6,\"notes\":[],\"reproduce\":\"\"}";
        check(none, "repeats no article");
    }

    #[test]
    fn markdown_and_page_say_the_same_and_escape() {
        let again = Again::new(vec![repeated()]);
        let text = markdown(&again);
        assert!(text.contains("a \\| claim") && text.contains("**does not hold**"), "{text}");
        assert!(text.contains("it needs a file system") && text.contains("x1.20"), "{text}");
        let page = html(&again);
        assert!(page.contains("an article &lt;b&gt;") && !page.contains("article <b>"), "{page}");
        assert!(page.contains("<svg") && page.contains("does not hold"), "{page}");
    }
}
