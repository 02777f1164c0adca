//! The pages that explain findings, which an installed program carries along.

use drivelab_core::Refusal;
use drivelab_host::FindingId;
use drivelab_report::text::json_text;
use serde_json::json;

use crate::exit::Outcome;
use crate::ui::Ui;

macro_rules! page {
    ($id:literal) => {
        include_str!(concat!("../../../../../docs/findings/", $id, ".md"))
    };
}

/// Prints the page of a finding.
pub(super) fn explain(name: &str, ui: Ui) -> Outcome {
    let Some(id) = FindingId::from_name(name) else {
        let refusal = Refusal::request(format!("unknown finding `{name}`"));
        return Err(refusal.hint(format!("the findings are {}", ids().join(", "))));
    };
    if ui.json {
        let document =
            json!({ "schema": "drivelab.inspect-explain/1", "id": id, "page": page(id) });
        return ui.result(&json_text(&document));
    }
    ui.document(page(id))
}

/// Returns the ids of all findings.
pub(crate) fn ids() -> Vec<String> {
    FindingId::ALL.iter().map(ToString::to_string).collect()
}

fn page(id: FindingId) -> &'static str {
    match id {
        FindingId::IdeEmulation => page!("ide-emulation"),
        FindingId::NcqOff => page!("ncq-off"),
        FindingId::LinkBelowCapability => page!("link-below-capability"),
        FindingId::LinkDownshift => page!("link-downshift"),
        FindingId::DeviceLost => page!("device-lost"),
        FindingId::MediumErrors => page!("medium-errors"),
        FindingId::HealthFailed => page!("health-failed"),
        FindingId::LinkErrors => page!("link-errors"),
        FindingId::CommandTimeouts => page!("command-timeouts"),
        FindingId::IoErrors => page!("io-errors"),
        FindingId::CommandErrors => page!("command-errors"),
        FindingId::ControllerErrors => page!("controller-errors"),
        FindingId::MemberFailed => page!("member-failed"),
        FindingId::FileSystemErrors => page!("file-system-errors"),
        FindingId::PcieErrors => page!("pcie-errors"),
        FindingId::PowerSaving => page!("power-saving"),
        FindingId::TransferMode => page!("transfer-mode"),
        FindingId::TooHot => page!("too-hot"),
        FindingId::WornOut => page!("worn-out"),
        FindingId::FirmwareFault => page!("firmware-fault"),
        FindingId::RemoteDisk => page!("remote-disk"),
        FindingId::ShingledRecording => page!("shingled-recording"),
        FindingId::RaidMode => page!("raid-mode"),
        FindingId::PcieDowngraded => page!("pcie-downgraded"),
        FindingId::Misaligned => page!("misaligned"),
        FindingId::UsbStorage => page!("usb-storage"),
        FindingId::WriteCacheViewDiffers => page!("write-cache-view-differs"),
        FindingId::WriteCacheVolatile => page!("write-cache-volatile"),
        FindingId::WriteCacheOff => page!("write-cache-off"),
        FindingId::SchedulerUnfit => page!("scheduler-unfit"),
        FindingId::ReadaheadExtreme => page!("readahead-extreme"),
        FindingId::QueueShallow => page!("queue-shallow"),
        FindingId::MdDegraded => page!("md-degraded"),
        FindingId::MdResyncing => page!("md-resyncing"),
        FindingId::MdMismatch => page!("md-mismatch"),
        FindingId::TimeLimit => page!("time-limit"),
        FindingId::Nobarrier => page!("nobarrier"),
        FindingId::MountOptions => page!("mount-options"),
        FindingId::DiscardOff => page!("discard-off"),
        FindingId::CryptQueues => page!("crypt-queues"),
        FindingId::SwapOnDisk => page!("swap-on-disk"),
        FindingId::NumaNode => page!("numa-node"),
        FindingId::KernelForced => page!("kernel-forced"),
        FindingId::DeviceBusy => page!("device-busy"),
        FindingId::IostatsOff => page!("iostats-off"),
    }
}
