//! From the blocks of a `.parv` file to its one disk with the bus in front of it.

use drivelab_core::Span;
use drivelab_model::profile::BaseText;

use super::disk;
use super::error::{At, DiskSimError};
use super::fields::Fields;
use super::tree::{Block, Item};
use crate::disk::params::{Bus, Params};

/// The disk that a parameter file describes.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    /// What the file calls the drive.
    pub(crate) model: String,
    pub(crate) params: Params,
}

/// What a file says besides its blocks.
#[derive(Default)]
struct System {
    blocks: Vec<Block>,
    /// Component name to block name.
    instances: Vec<(String, String)>,
    topology: Option<(At, Vec<(String, String)>)>,
    start: Option<At>,
}

/// Blocks that describe output or a workload: no drive answers differently for them.
const WITHOUT_EFFECT: &[&str] =
    &["disksim_global", "disksim_stats", "disksim_logorg", "disksim_pf", "disksim_synthio"];

pub(super) fn read(
    items: Vec<Item>,
    resolve: &dyn Fn(&str) -> Option<BaseText>,
) -> Result<Described, DiskSimError> {
    let system = System::collect(items)?;
    let Some((at, components)) = &system.topology else {
        let at = system.start.clone();
        let nothing = || DiskSimError {
            file: "parameter file".to_owned(),
            line: 1,
            message: "expected a `topology` with one disk".to_owned(),
        };
        return Err(at.map_or_else(nothing, |at| at.error("there is no `topology ...` block")));
    };
    let disks = components.iter().filter(|(kind, _)| kind == "disksim_disk").count();
    if disks != 1 {
        return Err(at.error(format!("expected one disksim_disk in the topology, found {disks}")));
    }
    let mut bus = Wire::default();
    let mut disk = None;
    for (kind, name) in components {
        let block = system.block_of(at, name)?;
        if &block.what != kind {
            let message = format!("`{name}` is a `{}`, not a `{kind}`", block.what);
            return Err(at.error(message));
        }
        let fields = Fields::of(block.clone());
        match kind.as_str() {
            "disksim_iodriver" => driver(fields)?,
            "disksim_bus" => bus.carry(fields)?,
            "disksim_ctlr" => bus.pass_controller(fields)?,
            "disksim_disk" => disk = Some(block.clone()),
            other => return Err(at.error(format!("a `{other}` is not modelled"))),
        }
    }
    let disk = disk.ok_or_else(|| at.error("expected a disksim_disk in the topology"))?;
    let model = disk.name.clone();
    let bus = Bus {
        read_sector: Span::from_ns(bus.read),
        write_sector: Span::from_ns(bus.write),
        held_in_reads: false,
        never_disconnects: false,
    };
    Ok(Described { model, params: disk::read(disk, bus, resolve)? })
}

impl System {
    fn collect(items: Vec<Item>) -> Result<Self, DiskSimError> {
        let mut system = Self::default();
        for item in items {
            match item {
                Item::Block(block) => {
                    system.start.get_or_insert_with(|| block.at.clone());
                    let known = WITHOUT_EFFECT.contains(&block.what.as_str());
                    if !known {
                        system.blocks.push(block);
                    }
                }
                Item::Instance { at, names, of } => {
                    for name in names {
                        if system.instances.iter().any(|(known, _)| *known == name) {
                            return Err(at.error(format!("`{name}` is instantiated twice")));
                        }
                        system.instances.push((name, of.clone()));
                    }
                }
                Item::Topology { at, components } => {
                    if system.topology.is_some() {
                        return Err(at.error("there is a second topology"));
                    }
                    system.topology = Some((at, components));
                }
            }
        }
        Ok(system)
    }

    fn block_of(&self, at: &At, component: &str) -> Result<&Block, DiskSimError> {
        let instance = self.instances.iter().find(|(name, _)| name == component);
        let Some((_, of)) = instance else {
            return Err(at.error(format!(
                "`{component}` is in the topology but never instantiated: add `instantiate [ \
                 {component} ] as ...`"
            )));
        };
        self.blocks.iter().find(|block| block.name == *of).ok_or_else(|| {
            at.error(format!("`{component}` is instantiated as `{of}`, but there is no such block"))
        })
    }
}

/// The host's driver: it has no time of its own, and hands on what comes in order.
fn driver(mut fields: Fields) -> Result<(), DiskSimError> {
    fields.only("type", 1.0)?;
    fields.only("Constant access time", 0.0)?;
    let mut scheduler = fields.block("Scheduler", "disksim_ioqueue")?;
    scheduler.only("Scheduling policy", 1.0)?;
    fields.ignore(&["Use queueing in subsystem"]);
    fields.finish()
}

/// What the way between host and disk costs, in nanoseconds per sector.
#[derive(Default)]
struct Wire {
    read: u64,
    write: u64,
}

impl Wire {
    /// The slowest part of the way sets the pace.
    fn carry(&mut self, mut fields: Fields) -> Result<(), DiskSimError> {
        fields.only("type", 1.0)?;
        fields.only("Arbitration time", 0.0)?;
        fields.ignore(&["Arbitration type", "Print stats"]);
        self.read = self.read.max(fields.time("Read block transfer time")?);
        self.write = self.write.max(fields.time("Write block transfer time")?);
        fields.finish()
    }

    fn pass_controller(&mut self, mut fields: Fields) -> Result<(), DiskSimError> {
        fields.only("type", 1.0)?;
        fields.only("Scale for delays", 0.0)?;
        let sector = fields.time("Bulk sector transfer time")?;
        (self.read, self.write) = (self.read.max(sector), self.write.max(sector));
        fields.ignore(&["Maximum queue length", "Print stats", "Max per-disk pending count"]);
        fields.finish()
    }
}
