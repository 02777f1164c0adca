//! Firmware whose faults its maker has published.

use drivelab_core::outline::Severity;

use super::super::context::{Context, Findings};
use crate::device::Kind;
use crate::found::FindingId;

/// One drive with a faulty firmware.
struct Faulty {
    /// The beginning of the model's name.
    model: &'static str,
    versions: &'static [&'static str],
    fault: &'static str,
    /// The first version without the fault.
    mended: &'static str,
}

const FAULTY: &[Faulty] = &[
    // Samsung's firmware page; fwupd issue 5481.
    Faulty {
        model: "Samsung SSD 980 PRO",
        versions: &["1B2QGXA7", "2B2QGXA7", "3B2QGXA7"],
        fault: "it can become read-only for good",
        mended: "5B2QGXA7",
    },
    Faulty {
        model: "Samsung SSD 990 PRO",
        versions: &["0B2QJXD7"],
        fault: "its health value falls within weeks",
        mended: "1B2QJXD7",
    },
    // Linux has a quirk for its deepest power state (`drivers/nvme/host/pci.c`, 2646:2263).
    Faulty {
        model: "KINGSTON SA2000M8",
        versions: &["S5Z42102", "S5Z42105"],
        fault: "it can hang in its deepest power state",
        mended: "S5Z42109",
    },
    // Crucial's release notes of firmware 0309.
    Faulty {
        model: "M4-CT",
        versions: &["0001", "0002", "0009"],
        fault: "it stops answering once an hour after 5184 hours of use",
        mended: "0309",
    },
];

pub(super) fn check(context: &Context<'_>, findings: &mut Findings) {
    let device = context.device;
    let Some((model, firmware)) = device.model.as_deref().zip(device.firmware.as_deref()) else {
        return;
    };
    let faulty = FAULTY.iter().find(|it| {
        let is_model = model.starts_with(it.model) || model.contains(&format!(" {}", it.model));
        is_model && it.versions.contains(&firmware.trim())
    });
    let Some(Faulty { fault, mended, .. }) = faulty else { return };
    let read_back = if device.kind == Kind::Nvme {
        format!("`cat /sys/block/{}/device/firmware_rev`", device.name)
    } else {
        format!("`sudo smartctl -i /dev/{}`", device.name)
    };
    findings
        .add(FindingId::FirmwareFault, Severity::Warn)
        .says(format!("the drive's firmware {firmware} has a known fault: {fault}"))
        .seen(vec![format!("model: {model}"), format!("firmware: {firmware}")])
        .fix(format!(
            "save the data, then install version {mended} or later (`fwupdmgr update`, or the \
             maker's own tool or image) and read the version back with {read_back}; an update \
             cannot be undone"
        ));
}
