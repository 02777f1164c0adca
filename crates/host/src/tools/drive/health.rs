//! The record that a drive keeps of itself: SMART attributes, health log, self-tests.

use serde::{Deserialize, Serialize};

/// A number of the record, and the text in which it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The number.
    pub value: u64,
    /// The line or key of the tool's output.
    pub seen: String,
}

impl Reading {
    pub(in crate::tools) fn new(value: u64, seen: impl AsRef<str>) -> Self {
        // A line is evidence on a terminal; a long one is none.
        let words: Vec<&str> = seen.as_ref().split_whitespace().collect();
        let seen = words.join(" ").chars().filter(|c| !c.is_control()).take(160).collect();
        Self { value, seen }
    }
}

/// Declares the readings of a record, each with its key.
macro_rules! readings {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// A drive's own record. Unknown values are absent: they are not in the capture.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Health {
            /// The tool and the file: `smartctl 7.3 (sda.txt)`.
            pub source: String,
            /// The drive's own verdict.
            #[serde(skip_serializing_if = "Option::is_none", default)]
            pub passed: Option<bool>,
            $(
                $(#[$doc])+
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub $name: Option<Reading>,
            )+
            /// Attributes at or below their threshold now.
            #[serde(skip_serializing_if = "Vec::is_empty", default)]
            pub failing: Vec<String>,
            /// Attributes that were below their threshold before.
            #[serde(skip_serializing_if = "Vec::is_empty", default)]
            pub failed_before: Vec<String>,
            /// Self-tests that failed since the last long one that passed.
            #[serde(skip_serializing_if = "Vec::is_empty", default)]
            pub failed_tests: Vec<String>,
            /// Remarks of the tool on this firmware.
            #[serde(skip_serializing_if = "Vec::is_empty", default)]
            pub warnings: Vec<String>,
        }

        impl Health {
            /// Adds what another output says and this one does not.
            pub(in crate::tools) fn add(&mut self, other: &Self) {
                let Self { source, passed, failing, failed_before, failed_tests, warnings, .. } =
                    other;
                if self.source.is_empty() {
                    self.source.clone_from(source);
                } else if !self.source.contains(source.as_str()) {
                    self.source = format!("{}, {source}", self.source);
                }
                self.passed = self.passed.or(*passed);
                $( self.$name = self.$name.take().or_else(|| other.$name.clone()); )+
                for (own, more) in [
                    (&mut self.failing, failing),
                    (&mut self.failed_before, failed_before),
                    (&mut self.failed_tests, failed_tests),
                    (&mut self.warnings, warnings),
                ] {
                    if own.is_empty() {
                        own.clone_from(more);
                    }
                }
            }
        }
    };
}

readings! {
    /// Sectors that were replaced by spare ones.
    reallocated,
    /// Sectors that could not be read and wait to be written.
    pending,
    /// Sectors that the drive's own scan could not read.
    uncorrectable,
    /// Errors that the drive reported to the host because it could not correct them.
    reported,
    /// Entries of the list of defects that grew in use (SCSI).
    grown_defects,
    /// Data that could not be read or was wrong (NVMe).
    media_errors,
    /// Transfers on the cable with a wrong check sum.
    crc_errors,
    /// Wear in percent of the life that the maker states.
    percentage_used,
    /// Spare flash in percent.
    spare,
    /// The limit of the spare flash.
    spare_threshold,
    /// The bits of the critical warning (NVMe).
    critical_warning,
    /// Minutes above the critical temperature (NVMe).
    critical_heat_minutes,
    /// Minutes above the warning temperature (NVMe).
    warning_heat_minutes,
    /// Hours of operation.
    hours,
    /// Power failures without a preceding flush.
    unsafe_shutdowns,
    /// Error recovery time of reads in tenths of a second; 0 if the drive has no limit.
    recovery_limit,
}
