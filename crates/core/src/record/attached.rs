//! Attachment and configuration of a run's target immediately before the run.
//!
//! Names and values, so that any two runs can be compared: the names are those of `drivelab inspect
//! --json` if it has the fact.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A target and its components.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Attached {
    /// Settings of the whole machine: the processors' governor, options of the kernel.
    #[serde(default)]
    pub machine: BTreeMap<String, Fact>,
    /// The device under the target, then its components.
    #[serde(default)]
    pub devices: Vec<AttachedDevice>,
    /// The reason why there are none: the file is in memory, or on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
    /// The boot of the machine, for which the names of its devices hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// One device on the path from a target to the medium.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AttachedDevice {
    /// Its name: `sda`, `dm-0`, or the profile of a modelled drive.
    pub name: String,
    /// Its kind: `ata`, `nvme`, `lvm`, `model`.
    pub kind: String,
    /// The names of the devices that it is built on; none for a drive.
    #[serde(default)]
    pub made_of: Vec<String>,
    /// Sixteen digits that distinguish it from every other drive, regardless of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Its settings.
    #[serde(default)]
    pub facts: BTreeMap<String, Fact>,
    /// Faults found on it.
    #[serde(default)]
    pub findings: Vec<FoundFault>,
}

/// A finding of an inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundFault {
    /// Its id: `ncq-off`.
    pub id: String,
    /// `error`, `warn` or `info`.
    pub severity: String,
    /// Its description, in a sentence.
    pub message: String,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// A boolean.
    Flag(bool),
    /// A count, or a size in the unit given by the name.
    Number(u64),
    /// A word.
    Text(String),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(true) => f.pad("on"),
            Self::Flag(false) => f.pad("off"),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.pad(text),
        }
    }
}

macro_rules! facts_from {
    ($($from:ty => $kind:ident),+ $(,)?) => {$(
        impl From<$from> for Fact {
            fn from(value: $from) -> Self {
                Self::$kind(value.into())
            }
        }
    )+};
}
facts_from!(bool => Flag, u32 => Number, u64 => Number, &str => Text, String => Text);

impl AttachedDevice {
    /// Records a setting, if it is known.
    pub fn set(&mut self, name: &str, value: Option<impl Into<Fact>>) {
        if let Some(value) = value {
            self.facts.insert(name.to_owned(), value.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_plain_values_in_json() {
        let mut device = AttachedDevice { name: "sda".into(), ..AttachedDevice::default() };
        device.set("ncq", Some(true));
        device.set("queue_depth", Some(31_u32));
        device.set("scheduler", Some("none"));
        device.set("rpm", None::<u32>);
        let json = serde_json::to_value(&device).unwrap();
        let expected = serde_json::json!({ "ncq": true, "queue_depth": 31, "scheduler": "none" });
        assert_eq!(json["facts"], expected);
        assert_eq!(serde_json::from_value::<AttachedDevice>(json).unwrap(), device);
    }
}
