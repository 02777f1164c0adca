//! Heat, as the sensor of a drive reports it.

use serde::{Deserialize, Serialize};

use crate::root::Node;

/// The reading of the sensor of `drivetemp` or `nvme`, in whole degrees.
///
/// Each read sends the drive a command (SMART or SCT, Get Log Page), which may reset its spin-down
/// timer (`Documentation/hwmon/drivetemp.rst`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heat {
    /// The present temperature.
    pub celsius: Option<i32>,
    /// The temperature from which on the drive protects itself.
    pub limit_celsius: Option<i32>,
    /// True if the drive reports that a limit was reached.
    pub alarm: Option<bool>,
}

impl Heat {
    pub(crate) fn read(device: &Node<'_>) -> Self {
        let folder = device.child("hwmon").unwrap_or_else(|| device.clone());
        let names = folder.folders();
        let sensor = names.iter().find(|it| it.starts_with("hwmon") && it.as_str() != "hwmon");
        let Some(sensor) = sensor.and_then(|name| folder.child(name)) else {
            return Self::default();
        };
        // In thousandths of a degree.
        let degrees = ["temp1_input", "temp1_crit"]
            .map(|name| sensor.number::<i32>(name).map(|thousandths| thousandths / 1000));
        let [celsius, limit_celsius] = degrees;
        // A drive without a limit reports zero.
        let limit_celsius = limit_celsius.filter(|limit| *limit > 0);
        Self { celsius, limit_celsius, alarm: sensor.flag("temp1_alarm") }
    }

    /// Returns whether nothing is known of it.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a limit is reached.
    pub(crate) fn is_reached(&self) -> bool {
        let hot = self.celsius.zip(self.limit_celsius).is_some_and(|(now, limit)| now >= limit);
        hot || self.alarm == Some(true)
    }
}
