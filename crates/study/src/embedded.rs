//! The studies that come with the program.

/// Name and text of each, in the order they are listed.
pub const STUDIES: &[(&str, &str)] = &[
    ("ahci-or-ide", include_str!("../../../studies/ahci-or-ide.toml")),
    ("ahci-or-nvme", include_str!("../../../studies/ahci-or-nvme.toml")),
    ("buffered-or-direct", include_str!("../../../studies/buffered-or-direct.toml")),
    ("over-provisioning", include_str!("../../../studies/over-provisioning.toml")),
    ("ssd-or-disk", include_str!("../../../studies/ssd-or-disk.toml")),
    ("steady-state", include_str!("../../../studies/steady-state.toml")),
    ("tag-dispatch", include_str!("../../../studies/tag-dispatch.toml")),
    ("trim-or-not", include_str!("../../../studies/trim-or-not.toml")),
    ("two-controllers", include_str!("../../../studies/two-controllers.toml")),
];

/// The text of the study called `name`.
pub fn text(name: &str) -> Option<&'static str> {
    STUDIES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
