//! Zones that a job uses one after the other.

use drivelab_core::units::Bytes;
use drivelab_core::workload::Strided;
use drivelab_core::{Invalid, Refusal};

/// The options of `zonemode=strided`.
#[derive(Debug, Clone, Default)]
pub(in crate::fio::job) struct Zones {
    /// True for `zonemode=strided`, false for `none`.
    pub(in crate::fio::job) is_strided: Option<bool>,
    pub(in crate::fio::job) size: Option<Bytes>,
    pub(in crate::fio::job) range: Option<Bytes>,
    pub(in crate::fio::job) gap: Option<Bytes>,
}

impl Zones {
    /// The zones; as in fio, a size alone makes some, whose length it is.
    pub(in crate::fio::job) fn strided(&self) -> Result<Option<Strided>, Refusal> {
        let Some(size) = self.size.filter(|size| *size > Bytes::ZERO) else {
            return match self.is_strided {
                Some(true) => Err(Refusal::request("`zonemode=strided` needs `zonesize`")
                    .hint("write `zonesize=1m`, or another size above 0")),
                _ => Ok(None),
            };
        };
        if self.is_strided == Some(false) {
            let wrong = "`zonesize` contradicts `zonemode=none`";
            return Err(Refusal::request(wrong).hint("omit one of them"));
        }
        // An absent range is that of `zonesize`, as before there was `zonemode`.
        let length = self.range.filter(|range| *range > Bytes::ZERO).unwrap_or(size);
        let zones = Strided::new(size, length, self.gap.unwrap_or_default());
        zones.map(Some).map_err(|Invalid(wrong)| Refusal::request(wrong))
    }
}
