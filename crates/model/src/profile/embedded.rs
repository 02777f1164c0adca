//! The built-in profiles.

macro_rules! profiles {
    ($($name:literal),+ $(,)?) => {
        const PROFILES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../../drives/", $name, ".toml"))),)+
        ];
    };
}

profiles![
    "aws-gp2",
    "aws-gp3",
    "aws-io2",
    "aws-st1",
    "azure-p20",
    "crucial-bx500",
    "crucial-c300",
    "crucial-mx200",
    "fixed",
    "generic-10k",
    "generic-5400",
    "generic-advanced-format",
    "generic-emmc",
    "generic-nvme",
    "generic-nvme-consumer",
    "generic-nvme-datacenter",
    "generic-qlc",
    "generic-sata",
    "generic-sata-consumer",
    "generic-sata-datacenter",
    "generic-sd",
    "generic-smr",
    "generic-usb-stick",
    "hitachi-hts542516k9sa00",
    "intel-x25m",
    "micron-7300pro",
    "samsung-850evo",
    "samsung-860pro",
    "samsung-970pro",
    "samsung-pm9a3",
    "seagate-st2000dm006",
    "seagate-st250dm000",
    "seagate-st31000333as",
];

/// The names of the built-in profiles, sorted.
pub fn names() -> Vec<&'static str> {
    PROFILES.iter().map(|(name, _)| *name).collect()
}

/// The text of the built-in profile `name`, as in `drives/`.
pub fn text(name: &str) -> Option<&'static str> {
    PROFILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
