//! The bases of a profile, and what it has in common with them.

use super::raw::{KEYS, Raw};
use crate::options::Switch;
use crate::unknown::Nature;

/// The file of a base profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseText {
    /// Its name in messages.
    pub file: String,
    /// Its contents.
    pub text: String,
}

/// The files of a profile, from the outermost to the last base, each with the keys of all below it.
#[derive(Debug)]
pub(super) struct Lineage {
    /// The file whose unknowns are apart from those of its bases.
    apart: Option<String>,
    layers: Vec<(String, Raw)>,
    /// True if the outermost file names the drive, and the numbers that it states.
    is_named: bool,
    changes: Vec<String>,
}

/// Changes that are part of a name.
const CHANGES_MAX: usize = 3;

/// Keys that say nothing about how a drive works.
const NAMES: [&str; 5] = ["base", "independent", "model", "leaves_out", "capacity_bytes"];

impl Lineage {
    pub(super) fn new(file: &str, raw: &mut Raw) -> Self {
        let keys = KEYS.iter().filter(|key| !NAMES.contains(*key));
        let changes = keys.filter_map(|key| {
            let is_open = raw.priors.contains_key(key);
            let value = raw.stated.get(key).map(|stated| stated.value.as_str())?;
            Some(format!("{key} {}", if is_open { "open" } else { value }))
        });
        let (is_named, changes) = (raw.model.is_some(), changes.collect());
        let mut lineage = Self { apart: None, layers: Vec::new(), is_named, changes };
        lineage.add(file, raw);
        lineage
    }

    /// Adds the next base. Its open numbers are separate unknowns below a file that declares
    /// itself independent.
    pub(super) fn add(&mut self, file: &str, raw: &mut Raw) {
        if let Some(apart) = &self.apart {
            raw.rename_origins(apart);
        }
        let is_independent = raw.independent.take().is_some_and(Switch::is_on);
        if is_independent && self.apart.is_none() {
            // Not the name of a file: what a base leaves open need not fit this file's numbers.
            self.apart = Some(format!("{file} (independent)"));
        }
        // Each file above has what this one adds, as the profile itself has.
        for (_, above) in &mut self.layers {
            *above = above.clone().over(raw.clone());
        }
        self.layers.push((file.to_owned(), raw.clone()));
    }

    /// The name of the drive: a file that states none has its base's, with what it changes.
    pub(super) fn model(&self, whole: &str) -> String {
        if self.is_named || self.changes.is_empty() {
            return whole.to_owned();
        }
        let more = self.changes.len().saturating_sub(CHANGES_MAX);
        let named = &self.changes[..self.changes.len() - more];
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{whole}, {}{rest}", named.join(", "))
    }

    /// The farthest base that differs from the whole profile in numbers only.
    pub(super) fn variant_of(&self, whole: &Raw) -> Option<String> {
        if self.apart.is_some() {
            return None;
        }
        let own = mechanisms(whole);
        // The farthest first, so that two variants of variants have one name in common.
        let mut bases = self.layers.iter().skip(1).rev();
        bases.find(|(_, base)| mechanisms(base) == own).map(|(file, _)| file.clone())
    }
}

/// Each stated key with what it says about the mechanisms: a number only that it is there, and
/// whether it is 0, which leaves a mechanism out.
fn mechanisms(raw: &Raw) -> Vec<(&'static str, String)> {
    let keys = KEYS.iter().filter(|key| raw.has(key) && !NAMES.contains(*key));
    keys.map(|key| (*key, mechanism(raw, key))).collect()
}

fn mechanism(raw: &Raw, key: &str) -> String {
    let text = raw.stated.get(key).map(|stated| stated.value.clone()).unwrap_or_default();
    match Raw::may_be_open(key) {
        Some((_, Nature::Name)) => match raw.priors.get(key) {
            Some(prior) => format!("open in {}", prior.origin),
            None => text,
        },
        Some((_, nature)) => {
            let is_zero = nature.number(&text).is_ok_and(|number| number == 0.0);
            if is_zero { "none" } else { "a number" }.to_owned()
        }
        // Lists of numbers have no single value.
        None if ["zones", "seek_table", "page_read", "page_program"].contains(&key) => {
            "numbers".to_owned()
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::{BaseText, Profile};

    const MIDDLE: &str = "base = \"generic-5400\"\n[geometry]\nrpm = 5900\n";

    fn variant_of(text: &str) -> Option<String> {
        let resolve = |_: &str| Some(BaseText { file: "middle.toml".into(), text: MIDDLE.into() });
        Profile::parse("own.toml", text, &resolve).unwrap().variant_of
    }

    #[test]
    fn only_numbers_make_a_variant() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(variant_of(text).as_deref(), expected, "{text}");
        };
        check("base = \"generic-5400\"\n[geometry]\nrpm = 5900\n", Some("generic-5400"));
        check("base = \"generic-5400\"\n[seek]\nseek_average = \"12ms\"\n", Some("generic-5400"));
        check("base = \"middle.toml\"\n[geometry]\nheads = 2\n", Some("generic-5400"));
        // Mechanisms: another order, other sectors, a buffer that is not there.
        check("base = \"generic-5400\"\n[queue]\nuncached_writes = \"fifo\"\n", None);
        check("base = \"generic-5400\"\n[drive]\nsector_bytes = 4096\n", None);
        check("base = \"generic-5400\"\n[buffer]\nread_segments = 0\n", None);
        check("base = \"generic-5400\"\n[drive]\nindependent = \"on\"\n", None);
    }

    #[test]
    fn a_file_that_names_no_drive_says_what_it_changes() {
        let model = |text: &str| {
            let resolve = |_: &str| None::<BaseText>;
            Profile::parse("own.toml", text, &resolve).unwrap().model
        };
        let changed = "base = \"generic-5400\"\n[geometry]\nrpm = 5900\n";
        assert_eq!(model(changed), "generic 5400 rpm laptop drive, rpm 5900");
        let named = format!("{changed}[drive]\nmodel = \"mine\"\n");
        assert_eq!(model(&named), "mine");
        let many = format!("{changed}heads = 2\nhead_switch = \"2ms\"\nzone_count = 8\n");
        assert_eq!(
            model(&many),
            "generic 5400 rpm laptop drive, rpm 5900, heads 2, zone_count 8 and 1 more"
        );
        assert_eq!(model("base = \"generic-5400\"\n"), "generic 5400 rpm laptop drive");
    }

    #[test]
    fn built_in_profiles_are_no_variants_but_of_volumes() {
        let all = crate::profile::names().into_iter();
        let variants =
            all.filter_map(|name| Some((name, Profile::embedded(name).unwrap().variant_of?)));
        assert_eq!(variants.collect::<Vec<_>>(), [("aws-io2", "aws-gp3".to_owned())]);
    }
}
