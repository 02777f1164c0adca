//! The disks of a guest at their adapters, and the names that Linux gives them.

use drivelab_core::{Bytes, Device as _, Refusal, Sectors};
use drivelab_guest::boot::ADAPTERS_MAX;
use drivelab_guest::machine::{Adapter, Hardware};
use drivelab_guest::stack::Stack;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_model::{About, Drive};
use drivelab_serve::drive::ServedDrive;
use drivelab_serve::medium::Memory;
use drivelab_serve::store::Store;

use super::super::seen::{SATA, Seen, TAGS_MAX, VIRTIO};
use super::{Channels, Disks, seed_of};
use crate::target;

/// A disk of a guest.
#[derive(Debug)]
pub(in crate::stage::kernel) struct Machine {
    pub(in crate::stage::kernel) spec: DriveSpec,
    pub(in crate::stage::kernel) about: About,
    pub(in crate::stage::kernel) seen: Seen,
    pub(in crate::stage::kernel) seed: u64,
    slot: Slot,
}

/// The slot of a disk in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    /// The number of its adapter.
    adapter: usize,
    /// A part of its path in sysfs.
    path: String,
}

/// All disks of a guest.
#[derive(Debug)]
pub(in crate::stage::kernel) struct Machines {
    /// The first is that of the run.
    pub(in crate::stage::kernel) all: Vec<Machine>,
    /// The device that the work is done on.
    pub(in crate::stage::kernel) target: String,
    /// The device that Linux makes of them.
    stack: Option<Stack>,
}

impl Machines {
    /// The disks of a run on `spec`, and their drives.
    ///
    /// # Errors
    /// A guest cannot have them together.
    pub(in crate::stage::kernel) fn new(
        (spec, profile): (&DriveSpec, &Profile),
        disks: &Disks,
        seed: u64,
    ) -> Result<(Self, Vec<Drive>), Refusal> {
        let (drive, visible) = machine(spec, profile, seed)?;
        let mut parts = vec![(spec.clone(), drive, visible)];
        let others = disks.named.iter().enumerate().skip(1);
        for (index, disk) in others {
            let spec = disk.spec.clone().expect("only the first has that of the run");
            let profile = target::profile(&spec)?;
            let (drive, visible) = machine(&spec, &profile, seed_of(seed, index))?;
            parts.push((spec, drive, visible));
        }
        let mut all: Vec<&mut Seen> = parts.iter_mut().map(|part| &mut part.2).collect();
        let slots = slots_of(&mut all, disks)?;
        let (mut all, mut drives) = (Vec::new(), Vec::new());
        for (index, ((spec, drive, visible), slot)) in parts.into_iter().zip(slots).enumerate() {
            let (about, seed) = (drive.about().clone(), seed_of(seed, index));
            all.push(Machine { spec, about, seen: visible, seed, slot });
            drives.push(drive);
        }
        let names: Vec<&str> = all.iter().map(|it: &Machine| it.seen.disk).collect();
        let target = target_among(&names, disks)?;
        Ok((Self { all, target, stack: disks.stack }, drives))
    }

    /// The adapters with drives that hold nothing, in the order of the kernel command line.
    pub(in crate::stage::kernel) fn adapters(
        &self,
        drives: Vec<Drive>,
    ) -> Vec<Adapter<ServedDrive>> {
        let disks = self
            .all
            .iter()
            .zip(drives)
            .map(|(machine, drive)| served(drive, machine.seen.physical_sector, machine.seed));
        self.adapters_of(disks.collect())
    }

    /// The adapters with these disks, in the order of the kernel command line.
    pub(in crate::stage::kernel) fn adapters_of<D>(&self, disks: Vec<D>) -> Vec<Adapter<D>> {
        debug_assert_eq!(disks.len(), self.all.len(), "a disk for each machine");
        let mut adapters: Vec<Adapter<D>> = Vec::new();
        for (machine, disk) in self.all.iter().zip(disks) {
            let Some(before) = adapters.get_mut(machine.slot.adapter) else {
                adapters.push(Adapter::of(disk, &machine.seen.hardware));
                continue;
            };
            // The second drive of a channel joins the adapter of the first.
            let Hardware::Ide(config, None) = &machine.seen.hardware else {
                unreachable!("only drives of an IDE channel share an adapter")
            };
            let Hardware::Ide(_, second) = &mut before.hardware else {
                unreachable!("the first drive of a channel is behind IDE")
            };
            *second = Some(Box::new(config.clone()));
            before.disks.push(disk);
        }
        adapters
    }

    /// The least capacity of a disk: no stack has less, but for what its own data take.
    pub(in crate::stage::kernel) fn capacity(&self) -> Bytes {
        let least = self.all.iter().map(|machine| machine.seen.capacity).min();
        let least = least.expect("a guest has a disk");
        let Some(stack) = self.stack else { return least };
        // Superblocks and bitmaps of md, and those of other stacks, take far less than an eighth.
        let most = Bytes::new(least.get() - least.get() / 8);
        stack.size().map_or(most, |size| size.min(most))
    }

    /// The most requests that the driver of virtio sends.
    pub(in crate::stage::kernel) fn tags(&self) -> u16 {
        let mut virtio =
            self.all.iter().filter(|it| matches!(it.seen.hardware, Hardware::Block(_)));
        let setting = virtio.find_map(|it| it.seen.setting.as_ref());
        let first = self.all[0].seen.setting.as_ref();
        setting.or(first).map_or(TAGS_MAX, |setting| setting.tags)
    }

    /// The lines of a shell that prepare the disks, and make the stack of them.
    pub(in crate::stage::kernel) fn commands(&self, disks: &Disks) -> Vec<String> {
        let mut lines = self.settings(disks);
        if let Some(stack) = &disks.stack {
            lines.extend(stack.commands(&self.names()));
        }
        lines
    }

    /// The names of the disks in the guest.
    pub(in crate::stage::kernel) fn names(&self) -> Vec<&'static str> {
        self.all.iter().map(|machine| machine.seen.disk).collect()
    }

    /// The lines of a shell that look for the disks where they must be, give them their names, and
    /// set their queues.
    pub(in crate::stage::kernel) fn settings(&self, disks: &Disks) -> Vec<String> {
        let mut lines = Vec::new();
        if !disks.is_one() {
            lines.push("mkdir -p /dev/disk".to_owned());
        }
        for (index, machine) in self.all.iter().enumerate() {
            let device = machine.seen.disk;
            if let Some(named) = disks.named.get(index).filter(|_| !disks.is_one()) {
                let (name, path) = (&named.name, &machine.slot.path);
                lines.push(format!(
                    "case $(readlink -f /sys/block/{device}) in *{path}*) ;; *) echo \"{device} is \
                     not disk {name}\" >&2; exit 2 ;; esac; ln -s /dev/{device} /dev/disk/{name}"
                ));
            }
            lines.extend(machine.seen.setting.iter().flat_map(|it| it.commands(device)));
        }
        lines
    }
}

/// A drive, and what a guest sees of it.
pub(in crate::stage::kernel) fn machine(
    spec: &DriveSpec,
    profile: &Profile,
    seed: u64,
) -> Result<(Drive, Seen), Refusal> {
    let host = target::describe(profile, &spec.options, seed)?;
    // The guest's kernel is the host side: the drive behind it has no separate elevator.
    let drive = target::build_bare(profile, &spec.options, seed)?;
    let attributes = target::attributes(profile, drive.about());
    Ok((drive, Seen::new(&host, profile, attributes)?))
}

/// A drive with bytes, which are in memory.
pub(in crate::stage::kernel) fn served(
    drive: Drive,
    physical_sector: Sectors,
    seed: u64,
) -> ServedDrive {
    let medium = Memory::new(drive.capacity(), Memory::limit_here());
    let store = Store::new(Box::new(medium), physical_sector);
    ServedDrive::new(drive, store, seed)
}

/// Refuses disks that a guest cannot have together.
///
/// # Errors
/// Says which.
pub(in crate::stage::kernel) fn check(spec: &DriveSpec, disks: &Disks) -> Result<(), Refusal> {
    if disks.is_one() {
        return Ok(());
    }
    target(spec, disks).map(|_| ())
}

/// The device of a guest that work on these disks is done on.
///
/// # Errors
/// A guest cannot have them together.
pub(in crate::stage::kernel) fn target(spec: &DriveSpec, disks: &Disks) -> Result<String, Refusal> {
    let others = disks.named.iter().filter_map(|disk| disk.spec.as_ref());
    let seen = std::iter::once(spec).chain(others).map(described);
    let mut seen = seen.collect::<Result<Vec<Seen>, Refusal>>()?;
    slots_of(&mut seen.iter_mut().collect::<Vec<_>>(), disks)?;
    let names: Vec<&str> = seen.iter().map(|seen| seen.disk).collect();
    target_among(&names, disks)
}

/// The same, where the disks have these names.
fn target_among(names: &[&str], disks: &Disks) -> Result<String, Refusal> {
    let target = match (disks.target()?, &disks.stack) {
        (Some(index), _) => names[index],
        // A file system over several disks is known by the first.
        (None, stack) => stack.as_ref().and_then(Stack::device).unwrap_or(names[0]),
    };
    Ok(target.to_owned())
}

/// A disk as a guest sees it, without its drive.
fn described(spec: &DriveSpec) -> Result<Seen, Refusal> {
    let profile = target::profile(spec)?;
    let host = target::describe(&profile, &spec.options, 1)?;
    Seen::new(&host, &profile, target::attributes(&profile, &host))
}

/// Puts disks at their adapters, and names them as Linux does.
fn slots_of(seen: &mut [&mut Seen], disks: &Disks) -> Result<Vec<Slot>, Refusal> {
    let ports: Vec<u8> = disks.named.iter().map(|disk| disk.port).collect();
    let ports = if disks.is_one() { &[0][..] } else { &ports };
    let adapters = at_adapters(seen, ports, disks.channels)?;
    let mut tags: Option<u16> = None;
    // `virtio_blk.queue_depth` is a parameter of the driver, not of a disk.
    for seen in seen.iter().filter(|seen| matches!(seen.hardware, Hardware::Block(_))) {
        let own = seen.setting.as_ref().map_or(TAGS_MAX, |setting| setting.tags);
        if tags.is_some_and(|tags| tags != own) {
            let message = "the driver of virtio sends one number of commands to all its disks";
            return Err(Refusal::request(message).hint(format!("give them all `tags={own}`")));
        }
        tags = Some(own);
    }
    let mut slots: Vec<Slot> = Vec::new();
    for (index, (adapter, is_second)) in adapters.iter().copied().enumerate() {
        let path = if is_pci(seen[index]) {
            // The bus numbers its functions in the order of their adapters.
            let mut before: Vec<usize> =
                (0..index).filter(|it| is_pci(seen[*it])).map(|it| adapters[it].0).collect();
            before.dedup();
            let device = before.iter().filter(|it| **it < adapter).count();
            let drive = usize::from(is_second);
            match seen[index].hardware {
                Hardware::Ide(..) => format!("/0000:00:{device:02x}.0/*/target*:0:{drive}/"),
                _ => format!("/0000:00:{device:02x}.0/"),
            }
        } else {
            format!("/virtio-uml.{adapter}/")
        };
        slots.push(Slot { adapter, path });
    }
    name(seen);
    Ok(slots)
}

/// Returns whether a disk is behind a function on the PCI bus.
fn is_pci(seen: &Seen) -> bool {
    !matches!(seen.hardware, Hardware::Block(_))
}

/// Returns whether a disk is on a channel of an IDE controller.
fn is_ide(seen: &Seen) -> bool {
    matches!(seen.hardware, Hardware::Ide(..))
}

/// The number of each disk's adapter, and true for the second drive of a channel.
fn at_adapters(
    seen: &[&mut Seen],
    ports: &[u8],
    channels: Channels,
) -> Result<Vec<(usize, bool)>, Refusal> {
    let (mut next, mut found) = (0, Vec::new());
    for (index, (disk, port)) in seen.iter().zip(ports).enumerate() {
        let shares = is_ide(disk) && channels == Channels::Shared;
        if !shares || port % 2 == 0 || ports.len() == 1 {
            found.push((next, false));
            next += 1;
            continue;
        }
        // Both are next to each other in the order of the command line.
        let is_after_first =
            index > 0 && is_ide(seen[index - 1]) && ports[index - 1].checked_add(1) == Some(*port);
        if !is_after_first {
            let message = format!(
                "port {port} is the second drive of an IDE channel, and the disk before it is not an \
                 IDE drive at port {}",
                port - 1
            );
            return Err(Refusal::request(message)
                .hint("declare the two drives of a channel one after the other")
                .hint("or give each a channel: channels = \"own\""));
        }
        found.push((next - 1, true));
    }
    debug_assert!(next <= ADAPTERS_MAX, "a study has at most as many disks");
    Ok(found)
}

/// Linux names disks of SATA in the order of their drivers, and then of their adapters.
fn name(seen: &mut [&mut Seen]) {
    let (mut sata, mut virtio) = (SATA.iter(), VIRTIO.iter());
    let kinds: [fn(&Hardware) -> bool; 3] = [
        |it| matches!(it, Hardware::Block(_)),
        |it| matches!(it, Hardware::Ahci(_)),
        |it| matches!(it, Hardware::Ide(..)),
    ];
    // virtio has names of another series; the drivers of libata are loaded in this order.
    for (number, kind) in kinds.into_iter().enumerate() {
        for seen in seen.iter_mut().filter(|seen| kind(&seen.hardware)) {
            let names = if number == 0 { &mut virtio } else { &mut sata };
            seen.disk = names.next().expect("at most eight disks");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NamedDisk;
    use super::*;

    fn machines(specs: &[&str], ports: &[u8], channels: Channels) -> Result<Machines, Refusal> {
        let specs: Vec<DriveSpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        let named = specs.iter().zip(ports).enumerate().map(|(index, (spec, port))| NamedDisk {
            name: format!("d{index}"),
            port: *port,
            spec: (index > 0).then(|| spec.clone()),
        });
        let disks = Disks { named: named.collect(), channels, ..Disks::default() };
        let profile = target::profile(&specs[0]).unwrap();
        Machines::new((&specs[0], &profile), &disks, 1).map(|(machines, drives)| {
            let adapters = machines.adapters(drives);
            let disks: usize = adapters.iter().map(|it| it.disks.len()).sum();
            assert_eq!(disks, specs.len());
            machines
        })
    }

    fn slots(machines: &Machines) -> Vec<(&str, usize, &str)> {
        let all = machines.all.iter();
        all.map(|it| (it.seen.disk, it.slot.adapter, it.slot.path.as_str())).collect()
    }

    const IDE: &str = "seagate-st31000333as,controller=ide";
    const AHCI: &str = "seagate-st31000333as";
    const NVME: &str = "samsung-970pro,tags=128";

    #[test]
    fn two_drives_share_a_channel_of_ide_unless_each_has_its_own() {
        let shared = machines(&[IDE; 4], &[0, 1, 2, 3], Channels::Shared).unwrap();
        let expected = [
            ("sda", 0, "/0000:00:00.0/*/target*:0:0/"),
            ("sdb", 0, "/0000:00:00.0/*/target*:0:1/"),
            ("sdc", 1, "/0000:00:01.0/*/target*:0:0/"),
            ("sdd", 1, "/0000:00:01.0/*/target*:0:1/"),
        ];
        assert_eq!(slots(&shared), expected);
        let own = machines(&[IDE; 2], &[0, 1], Channels::Own).unwrap();
        assert_eq!(slots(&own)[1], ("sdb", 1, "/0000:00:01.0/*/target*:0:0/"));
        let apart = machines(&[IDE; 2], &[0, 2], Channels::Shared).unwrap();
        assert_eq!(slots(&apart), slots(&own));
        let failure = machines(&[IDE; 2], &[0, 3], Channels::Shared).unwrap_err();
        assert!(failure.to_string().contains("port 3 is the second drive"), "{failure}");
    }

    #[test]
    fn disks_of_all_kinds_have_their_names_and_slots() {
        let mixed = machines(&[IDE, NVME, AHCI, NVME], &[0, 1, 2, 3], Channels::Shared).unwrap();
        let expected = [
            ("sdb", 0, "/0000:00:00.0/*/target*:0:0/"),
            ("vda", 1, "/virtio-uml.1/"),
            ("sda", 2, "/0000:00:01.0/"),
            ("vdb", 3, "/virtio-uml.3/"),
        ];
        assert_eq!(slots(&mixed), expected);
        assert_eq!((mixed.target.as_str(), mixed.tags()), ("sdb", 128));
        let other = "samsung-970pro,tags=4";
        let failure = machines(&[NVME, other], &[0, 1], Channels::Shared).unwrap_err();
        assert!(failure.to_string().contains("one number of commands"), "{failure}");
    }
}
