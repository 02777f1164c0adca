//! The lifetime of flash under a program that is run at some rate.

use super::bill::Bill;

/// The endurance that vendors of a class of drives promise, in writes of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Endurance {
    /// The class.
    pub class: &'static str,
    /// The capacity that the rating is stated for, in bytes.
    pub capacity_bytes: f64,
    /// Bytes that the host may write, lowest and highest rating of the class.
    pub rated_bytes: [f64; 2],
    /// The source of the ratings.
    pub source: &'static str,
}

const TB: f64 = 1e12;
/// 365.25 days.
const HOURS_A_YEAR: f64 = 8766.0;

impl Endurance {
    /// The classes of solid-state drives.
    pub const ALL: [Self; 3] = [
        Self {
            class: "sata-consumer",
            capacity_bytes: TB,
            rated_bytes: [360.0 * TB, 600.0 * TB],
            source: "ratings that reviews and shops quote for the Crucial BX500 and MX500 (360 TB) \
                     and the Samsung 870 EVO (600 TB, from its 500 GB model), 1 TB each",
        },
        Self {
            class: "nvme-consumer",
            capacity_bytes: TB,
            rated_bytes: [220.0 * TB, 600.0 * TB],
            source: "ratings that reviews and shops quote for the Crucial P3 (220 TB) and the \
                     Samsung 980 PRO (600 TB), 1 TB each",
        },
        Self {
            class: "datacenter",
            capacity_bytes: 1.92 * TB,
            // The capacity once and three times a day for five years.
            rated_bytes: [1.92 * TB * 1826.25, 3.0 * 1.92 * TB * 1826.25],
            source: "an estimate: 1 and 3 drive writes a day for five years, as drives for reading \
                     and for mixed use are usually rated, 1.92 TB",
        },
    ];
}

/// Years until a drive has taken what it is rated for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    /// The class and its rating.
    pub endurance: Endurance,
    /// Bytes that the host writes in a year.
    pub bytes_a_year: f64,
    /// Lowest and highest.
    pub years: [f64; 2],
}

/// Returns the lifetime of each class under a command that is run `per_hour` times an hour; nothing
/// for one that writes nothing.
pub fn lifetime(bill: &Bill, per_hour: f64) -> Vec<Lifetime> {
    debug_assert!(per_hour.is_finite(), "checked when it was read");
    #[expect(clippy::cast_precision_loss, reason = "a lifetime has two digits")]
    let bytes_a_year = bill.total.write_bytes as f64 * per_hour * HOURS_A_YEAR;
    if bytes_a_year <= 0.0 {
        return Vec::new();
    }
    let lifetimes = Endurance::ALL.into_iter().map(|endurance| {
        let years = endurance.rated_bytes.map(|rated| rated / bytes_a_year);
        Lifetime { endurance, bytes_a_year, years }
    });
    lifetimes.collect()
}

#[cfg(test)]
mod tests {
    use super::super::bill::tests::bill;
    use super::*;

    #[test]
    fn a_drive_lasts_as_long_as_its_rating() {
        // 10 MB a minute.
        let mut bill = bill(&[("fsync", "log", 1, 1)]);
        bill.total.write_bytes = 10_000_000;
        let found = lifetime(&bill, 60.0);
        let [low, high] = found[0].years;
        // 360 TB / (10 MB * 60 * 8766) = 68.4 years.
        assert!((low - 68.4).abs() < 0.1, "{low}");
        assert!((high / low - 600.0 / 360.0).abs() < 1e-9);
        assert_eq!(found.len(), 3);
        bill.total.write_bytes = 0;
        assert!(lifetime(&bill, 60.0).is_empty());
    }
}
