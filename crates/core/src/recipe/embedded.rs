//! The recipes that are part of the program.

/// Name and text of each, in the order of the list.
pub const RECIPES: &[(&str, &str)] = &[
    ("crystaldiskmark2", include_str!("../../../../suites/crystaldiskmark2.toml")),
    ("crystaldiskmark8", include_str!("../../../../suites/crystaldiskmark8.toml")),
    ("crystaldiskmark8-nvme", include_str!("../../../../suites/crystaldiskmark8-nvme.toml")),
    ("crystaldiskmark8-peak", include_str!("../../../../suites/crystaldiskmark8-peak.toml")),
    ("crystaldiskmark8-real", include_str!("../../../../suites/crystaldiskmark8-real.toml")),
    ("kdiskmark", include_str!("../../../../suites/kdiskmark.toml")),
    ("hdtune", include_str!("../../../../suites/hdtune.toml")),
];

/// The text of the recipe called `name`.
pub fn text(name: &str) -> Option<&'static str> {
    RECIPES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
