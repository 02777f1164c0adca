//! The recipe of a kernel: configuration and patches.

use crate::trace::sha256;

/// Options that differ from `allnoconfig`.
pub(super) const CONFIG: &str = include_str!("../../kernel/config");

/// Changes of the source, by file name, in the order in which they are applied.
pub(super) const PATCHES: &[(&str, &str)] = &[
    ("fixed-entropy.patch", include_str!("../../kernel/patches/fixed-entropy.patch")),
    ("interrupt-line.patch", include_str!("../../kernel/patches/interrupt-line.patch")),
    ("lazy-registers.patch", include_str!("../../kernel/patches/lazy-registers.patch")),
    ("notices-in-page.patch", include_str!("../../kernel/patches/notices-in-page.patch")),
    ("posted-writes.patch", include_str!("../../kernel/patches/posted-writes.patch")),
    ("processor-cost.patch", include_str!("../../kernel/patches/processor-cost.patch")),
    ("register-set.patch", include_str!("../../kernel/patches/register-set.patch")),
    ("registers-in-page.patch", include_str!("../../kernel/patches/registers-in-page.patch")),
    ("virtual-clock.patch", include_str!("../../kernel/patches/virtual-clock.patch")),
    ("whole-xsave-image.patch", include_str!("../../kernel/patches/whole-xsave-image.patch")),
];

/// The version of Linux that is built: the first long-term one with the shared calendar.
pub(super) const SERIES: &str = "6.12";

/// Returns a hash of configuration and patches: one source and one recipe give one kernel.
pub fn recipe() -> String {
    let patches = PATCHES.iter().flat_map(|(name, text)| [*name, *text]);
    let all: Vec<&str> = [SERIES, CONFIG].into_iter().chain(patches).collect();
    sha256(all.join("\0").as_bytes())[..12].to_owned()
}

/// The end of the release that a kernel of this recipe reports.
pub(super) fn release_suffix() -> String {
    format!("-drivelab-{}", recipe())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_names_its_reason_and_licence() {
        for (name, text) in PATCHES {
            let (head, _) = text.split_once("\n--- ").unwrap();
            assert!(head.contains("SPDX-License-Identifier: GPL-2.0"), "{name}");
            assert!(head.contains("Reason: "), "{name}");
        }
    }

    #[test]
    fn a_recipe_is_short_enough_for_a_release() {
        // `__NEW_UTS_LEN` is 64, and the version takes less than 16 of it.
        assert!(release_suffix().len() <= 40, "{}", release_suffix());
        assert_eq!(recipe().len(), 12);
    }
}
