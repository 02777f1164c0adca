//! Finds the one disk of a `.parv` file and the bus in front of it.

use drivelab_core::Span;

use super::disk;
use super::error::{At, DiskSimResult};
use super::fields::Fields;
use super::include::Resolve;
use super::tree::{Block, Item};
use crate::disk::params::{Bus, Params};

#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) model: String,
    pub(crate) params: Params,
}

/// The content of a file except its blocks.
#[derive(Default)]
struct System {
    blocks: Vec<Block>,
    /// Component name to block name.
    instances: Vec<(String, String)>,
    topology: Option<(At, Vec<(String, String)>)>,
}

/// Blocks that describe output or a workload: they do not change any answer.
const WITHOUT_EFFECT: &[&str] =
    &["disksim_global", "disksim_stats", "disksim_logorg", "disksim_pf", "disksim_synthio"];

pub(super) fn read(file: &At, items: Vec<Item>, resolve: Resolve) -> DiskSimResult<Description> {
    let system = System::collect(items)?;
    let Some((at, components)) = &system.topology else {
        let missing = "there is no `topology ...` that says how one disk is attached";
        return Err(file.error(missing));
    };
    let disks = components.iter().filter(|(kind, _)| kind == "disksim_disk").count();
    if disks != 1 {
        return Err(at.error(format!("expected one disksim_disk in the topology, found {disks}")));
    }
    let mut bus = Bus::default();
    let mut disk = None;
    for (kind, name) in components {
        let block = system.block_of(at, name)?;
        if &block.what != kind {
            let message = format!("`{name}` is a `{}`, not a `{kind}`", block.what);
            return Err(at.error(message));
        }
        let fields = Fields::of(block.clone());
        match kind.as_str() {
            "disksim_iodriver" => check_driver(fields)?,
            "disksim_bus" => read_bus(fields, &mut bus)?,
            "disksim_ctlr" => read_controller(fields, &mut bus)?,
            "disksim_disk" => disk = Some(block.clone()),
            other => return Err(at.error(format!("a `{other}` is not modelled"))),
        }
    }
    let disk = disk.ok_or_else(|| at.error("expected a disksim_disk in the topology"))?;
    Ok(Description { model: disk.name.clone(), params: disk::read(disk, bus, resolve)? })
}

impl System {
    fn collect(items: Vec<Item>) -> DiskSimResult<Self> {
        let mut system = Self::default();
        for item in items {
            match item {
                Item::Block(block) => {
                    // Blocks that nothing names are kept too: a library of drives may be included.
                    if !WITHOUT_EFFECT.contains(&block.what.as_str()) {
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

    fn block_of(&self, at: &At, component: &str) -> DiskSimResult<&Block> {
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

/// The host's driver: it takes no time, and passes requests on in order.
fn check_driver(mut fields: Fields) -> DiskSimResult<()> {
    fields.only("type", 1.0)?;
    fields.only("Constant access time", 0.0)?;
    let mut scheduler = fields.block("Scheduler", "disksim_ioqueue")?;
    scheduler.only("Scheduling policy", 1.0)?;
    fields.ignore(&["Use queueing in subsystem"]);
    fields.finish()
}

fn read_bus(mut fields: Fields, bus: &mut Bus) -> DiskSimResult<()> {
    fields.only("type", 1.0)?;
    fields.only("Arbitration time", 0.0)?;
    fields.ignore(&["Arbitration type", "Print stats"]);
    let read_sector = Span::from_ns(fields.time("Read block transfer time")?);
    let write_sector = Span::from_ns(fields.time("Write block transfer time")?);
    bus.slow_down(read_sector, write_sector);
    fields.finish()
}

fn read_controller(mut fields: Fields, bus: &mut Bus) -> DiskSimResult<()> {
    fields.only("type", 1.0)?;
    fields.only("Scale for delays", 0.0)?;
    let sector = Span::from_ns(fields.time("Bulk sector transfer time")?);
    bus.slow_down(sector, sector);
    fields.ignore(&["Maximum queue length", "Print stats", "Max per-disk pending count"]);
    fields.finish()
}
