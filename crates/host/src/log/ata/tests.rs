use super::*;

fn port(text: &str, number: u32) -> AtaPortLog {
    KernelLog::parse(text).ports.remove(&number).unwrap_or_default()
}

#[test]
fn ncq_lines() {
    let check = |text, expected: Option<NcqLine>| {
        let text = format!("ata5.00: 1953525168 sectors, multi 16: LBA48 {text}, AA");
        assert_eq!(port(&text, 5).devices[&0].ncq, expected, "{text}");
    };
    check("NCQ (depth 31/32)", Some(NcqLine::Depth { host: 31, device: 32 }));
    check("NCQ (depth 32)", Some(NcqLine::Depth { host: 32, device: 32 }));
    check("NCQ (depth 0/32)", Some(NcqLine::Depth { host: 0, device: 32 }));
    check("NCQ (not used)", Some(NcqLine::NotUsed));
    check("", None);
    check("NCQ (depth x)", None);
}

#[test]
fn links_and_their_limits() {
    let link = |text| port(text, 1).links.remove(&None).unwrap();
    let up = link("ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)");
    assert_eq!((up.speed, up.limit), (Some(Speed::mbps(3000)), None));
    let limited = link("ata1: SATA link up 1.5 Gbps (SStatus 113 SControl 310)");
    assert_eq!(limited.limit, Some(Speed::mbps(1500)));
}

#[test]
fn two_links_on_one_port_are_ide_emulation_unless_multiplied() {
    let both = "ata2.00: limiting SATA link speed to 1.5 Gbps\n\
                ata2.01: limiting SATA link speed to 1.5 Gbps";
    assert!(port(both, 2).shares_port());
    let multiplied = format!("ata2.15: Port Multiplier 1.2, 0x197b:0x0325 r0, 5 ports\n{both}");
    assert!(!port(&multiplied, 2).shares_port());
    assert!(!port("ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)", 1).shares_port());
}

/// The kinds of fault by name.
fn faults(text: &str) -> Vec<(String, Class, u64)> {
    let log = KernelLog::parse(text);
    let all = log.faults.iter().flat_map(|(name, faults)| {
        let classes = faults.by_class.iter();
        classes.map(move |(class, lines)| (name.clone(), *class, lines.count))
    });
    all.collect()
}

fn check_faults(text: &str, expected: &[(&str, Class, u64)]) {
    let found = faults(text);
    let found: Vec<_> =
        found.iter().map(|(n, class, count)| (n.as_str(), *class, *count)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn faults_of_medium_link_and_time_are_distinguished() {
    check_faults("ata1.00: error: { UNC }", &[("ata1.00", Class::Medium, 1)]);
    // One failure, reported on two lines.
    let medium = "ata1.00: failed command: READ FPDMA QUEUED\n\
                  ata1.00: cmd 60/08:00 tag 0 res 41/40:00 Emask 0x409 (media error) <F>\n\
                  ata1.00: error: { UNC }";
    check_faults(medium, &[("ata1.00", Class::Medium, 1)]);
    let bus = "ata1.00: exception Emask 0x10 SAct 0xf SErr 0x400100 action 0x6 frozen\n\
               ata1: SError: { UnrecovData Handshk }\nata1: hard resetting link";
    check_faults(bus, &[("ata1.00", Class::Link, 1)]);
    let timeout = "ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen\n\
                   ata1.00: failed command: READ FPDMA QUEUED\n\
                   ata1.00: cmd 60/08:00\n         res 40/00:00 Emask 0x4 (timeout)";
    check_faults(timeout, &[("ata1.00", Class::Timeout, 1)]);
    check_faults("ata1: hard resetting link", &[]);
}

#[test]
fn drives_that_are_plugged_in_or_woken_have_no_fault() {
    let plugged = "ata2: exception Emask 0x10 SAct 0x0 SErr 0x4040000 action 0xe frozen\n\
                   ata2: SError: { CommWake DevExch }\nata2: link is slow to respond\n\
                   ata2: SATA link up 6.0 Gbps (SStatus 133 SControl 300)";
    check_faults(plugged, &[]);
    let pulled = "ata2: SATA link down (SStatus 0 SControl 300)\nata2.00: disable device";
    check_faults(pulled, &[]);
    check_faults("ata2.00: disable device", &[("ata2.00", Class::Lost, 1)]);
    let never = "ata2: COMRESET failed (errno=-16)";
    check_faults(never, &[("ata2", Class::Unsettled, 1)]);
}

#[test]
fn another_drive_begins_without_faults() {
    let first = "ata1.00: ATA-8: OLD, 1, max UDMA/133\nata1.00: error: { UNC }\n";
    check_faults(first, &[("ata1.00", Class::Medium, 1)]);
    check_faults(&format!("{first}ata1.00: ATA-8: NEW, 1, max UDMA/133"), &[]);
    check_faults(
        &format!("{first}ata1.00: ATA-8: OLD, 1, max UDMA/133"),
        &[("ata1.00", Class::Medium, 1)],
    );
}
