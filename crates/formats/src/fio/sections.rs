//! Jobs of one call, by section.

use std::collections::BTreeMap;
use std::fmt::Display;

/// Jobs of a call by section: copies of a job run together, in one group. Jobs of one name in
/// several groups ran one after the other, so that their rates do not add up.
pub(super) fn by_section<'a, G: Ord + Display, J>(
    jobs: impl Iterator<Item = (&'a str, G, J)>,
) -> BTreeMap<String, Vec<J>> {
    let mut names: BTreeMap<&str, BTreeMap<G, Vec<J>>> = BTreeMap::new();
    for (name, group, job) in jobs {
        names.entry(name).or_default().entry(group).or_default().push(job);
    }
    let mut sections: BTreeMap<String, Vec<J>> = BTreeMap::new();
    for (name, groups) in names {
        let is_only = groups.len() == 1;
        for (group, jobs) in groups {
            let name = if is_only { name.to_owned() } else { format!("{name}_g{group}") };
            sections.entry(name).or_default().extend(jobs);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_one_section_and_groups_are_several() {
        let jobs = [("a", 0, 1), ("a", 0, 2), ("b", 0, 3), ("b", 1, 4)];
        let sections: Vec<(String, Vec<i32>)> = by_section(jobs.into_iter()).into_iter().collect();
        let of = |name: &str, jobs: &[i32]| (name.to_owned(), jobs.to_vec());
        assert_eq!(sections, [of("a", &[1, 2]), of("b_g0", &[3]), of("b_g1", &[4])]);
    }
}
