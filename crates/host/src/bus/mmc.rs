//! The bus of a memory card or an eMMC, and the mode in which it runs.

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// The mode of a card's bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardBus {
    /// `default speed`, `high speed`, `UHS SDR104`, `HS200`.
    pub mode: String,
    /// The rate that the mode carries, in MB/s of a million bytes; null for faster ones.
    pub limit_mb_per_s: Option<u32>,
    /// The line or the attribute that reports it.
    pub seen: String,
}

impl CardBus {
    /// Reads `mmc0: new high speed SDHC card at address 59b4`, in `text` without the name of the
    /// host (`mmc_add_card` in `drivers/mmc/core/bus.c`). Cards on SPI have no such modes.
    pub(crate) fn of_log(text: &str, message: &str) -> Option<Self> {
        let (mode, _) = text.strip_prefix("new ")?.split_once(" card at address")?;
        let (mode, kind) = mode.rsplit_once(' ').unwrap_or(("", mode));
        let is_sd = match kind {
            "SD" | "SDHC" | "SDXC" | "SDUC" => true,
            "MMC" => false,
            _ => return None,
        };
        let mode = match mode.strip_prefix("ultra high speed") {
            // Linux before 3.19 does not say which one.
            Some(mode) => format!("UHS {}", mode.trim()).trim().to_owned(),
            None if mode.is_empty() => "default speed".to_owned(),
            None => mode.strip_prefix("high speed ").unwrap_or(mode).to_owned(),
        };
        Some(Self::new(mode, if is_sd { 4 } else { 8 }, format!("log: {message}")))
    }

    /// Reads `ios` of the host, which only root can see: `timing spec:\t2 (sd high-speed)`.
    pub(crate) fn of_host(root: &Root, host: &str) -> Option<Self> {
        let path = format!("sys/kernel/debug/{host}");
        let settings = root.node(&path)?.lines("ios")?;
        let value = |key: &str| {
            let line = settings.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.split_once('(')?.1.split(')').next()?.trim())
        };
        let timing = value("timing spec:")?;
        let bits = value("bus width:")?.split(' ').next()?.parse().ok()?;
        let mode = match timing {
            "legacy" => "default speed".to_owned(),
            "sd high-speed" | "mmc high-speed" => "high speed".to_owned(),
            _ => timing.replace("sd uhs ", "UHS ").replace("mmc ", ""),
        };
        Some(Self::new(mode, bits, format!("/{path}/ios: timing spec {timing}, {bits} bits")))
    }

    fn new(mode: String, bits: u32, seen: String) -> Self {
        // SD Physical Layer 3.01, 3.9.4, and JEDEC 84-B51, 5.3.2: 25 and 50 MHz, 26 and 52 MHz.
        let clock_mhz = match (mode.as_str(), bits) {
            ("default speed", 8) => Some(26),
            ("default speed", _) => Some(25),
            ("high speed", 8) => Some(52),
            ("high speed", _) => Some(50),
            _ => None,
        };
        debug_assert!(bits <= 8, "a card has at most eight lines");
        Self { mode, limit_mb_per_s: clock_mhz.map(|clock| clock * bits / 8), seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_cards_in_the_log() {
        let check = |text: &str, expected: Option<(&str, Option<u32>)>| {
            let found = CardBus::of_log(text, "");
            let found = found.as_ref().map(|it| (it.mode.as_str(), it.limit_mb_per_s));
            assert_eq!(found, expected, "{text}");
        };
        check("new SDHC card at address 59b4", Some(("default speed", Some(12))));
        check("new high speed SDHC card at address 59b4", Some(("high speed", Some(25))));
        check("new ultra high speed SDR104 SDXC card at address 1", Some(("UHS SDR104", None)));
        check("new ultra high speed SDHC card at address 1", Some(("UHS", None)));
        check("new MMC card at address 0001", Some(("default speed", Some(26))));
        check("new high speed MMC card at address 0001", Some(("high speed", Some(52))));
        check("new high speed DDR MMC card at address 0001", Some(("DDR", None)));
        check(
            "new HS400 Enhanced strobe MMC card at address 0001",
            Some(("HS400 Enhanced strobe", None)),
        );
        check("new high speed SDIO card at address 0001", None);
        check("new SD card on SPI", None);
    }
}
