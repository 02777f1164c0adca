//! The studies that come with the program.

/// Name and text of each, in the order they are listed.
pub const STUDIES: &[(&str, &str)] = &[
    ("ahci-or-ide", include_str!("../../../studies/ahci-or-ide.toml")),
    ("ahci-or-nvme", include_str!("../../../studies/ahci-or-nvme.toml")),
    ("aligned-or-not", include_str!("../../../studies/aligned-or-not.toml")),
    ("bios-modes", include_str!("../../../studies/bios-modes.toml")),
    ("buffered-or-direct", include_str!("../../../studies/buffered-or-direct.toml")),
    ("libaio-or-io-uring", include_str!("../../../studies/libaio-or-io-uring.toml")),
    ("ncq-and-caching", include_str!("../../../studies/ncq-and-caching.toml")),
    ("none-or-deadline", include_str!("../../../studies/none-or-deadline.toml")),
    ("over-provisioning", include_str!("../../../studies/over-provisioning.toml")),
    ("piix-vs-ahci", include_str!("../../../studies/piix-vs-ahci.toml")),
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
