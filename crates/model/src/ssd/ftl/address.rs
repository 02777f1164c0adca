//! Addresses of the translation layer: units of the host, slots and blocks of the flash.

/// No unit, slot or block.
pub(super) const NONE: u32 = u32::MAX;

/// A mapping unit of the host's address space, usually 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit(pub u32);

/// A location on the flash that holds one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// An erase unit: the blocks of all planes of one die at one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block(pub u32);

/// A die, with a write frontier, free blocks and a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Die(pub u32);

impl Unit {
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Slot {
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Block {
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Die {
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Numbers of dies, blocks, slots and units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Dies.
    pub dies: u32,
    /// Erase blocks of one die, including spares.
    pub blocks_per_die: u32,
    /// Units of one block.
    pub slots_per_block: u32,
    /// Units visible to the host.
    pub units: u32,
}

/// A shape that a translation layer cannot manage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A count is zero.
    #[error("dies, blocks, slots and units must all be at least 1")]
    Empty,
    /// An address does not fit 32 bits.
    #[error("{slots} slots exceed the limit of 2^32 - 2: choose a smaller scale")]
    TooLarge {
        /// The slots of the shape.
        slots: u64,
    },
    /// Pages do not fill a block.
    #[error("pages of {page_slots} slots do not fill a block evenly")]
    UnevenPages {
        /// Slots of a page.
        page_slots: u32,
    },
    /// Too little over-provisioning for collection.
    #[error(
        "{units} units leave no spare space on {slots} slots: collection needs {reserve} slots free"
    )]
    NoSpare {
        /// The units visible to the host.
        units: u32,
        /// The slots of the flash.
        slots: u64,
        /// The slots that must be free.
        reserve: u64,
    },
}

impl Shape {
    /// Slots of the whole drive.
    pub fn slots(&self) -> u64 {
        self.blocks() * u64::from(self.slots_per_block)
    }

    /// Blocks of the whole drive.
    pub fn blocks(&self) -> u64 {
        u64::from(self.dies) * u64::from(self.blocks_per_die)
    }

    /// Checks that collection with `low_water` free blocks on each die always finds space, if
    /// `page_slots` slots are programmed together.
    ///
    /// # Errors
    /// A count of zero, more slots than 32 bits address, or too little space beyond the units.
    pub fn check(&self, low_water: u32, page_slots: u32) -> Result<(), ShapeError> {
        if [self.dies, self.blocks_per_die, self.slots_per_block, self.units].contains(&0) {
            return Err(ShapeError::Empty);
        }
        let total = self.slots();
        if total >= u64::from(NONE) {
            return Err(ShapeError::TooLarge { slots: total });
        }
        if page_slots == 0 || !self.slots_per_block.is_multiple_of(page_slots) {
            return Err(ShapeError::UnevenPages { page_slots });
        }
        // One block more than the free ones, so that some closed block has invalid slots: without
        // it, collection would copy whole blocks and gain nothing.
        let blocks = (u64::from(low_water) + 1) * u64::from(self.slots_per_block);
        let per_die = blocks + u64::from(page_slots - 1);
        let reserve = u64::from(self.dies) * per_die;
        let units = self.units;
        let die_slots = u64::from(self.blocks_per_die) * u64::from(self.slots_per_block);
        if die_slots <= per_die || u64::from(units) + reserve > total {
            return Err(ShapeError::NoSpare { units, slots: total, reserve });
        }
        Ok(())
    }

    #[inline]
    pub(super) const fn block_of(&self, slot: Slot) -> Block {
        Block(slot.0 / self.slots_per_block)
    }

    /// The die of a block.
    #[inline]
    pub const fn die_of(&self, block: Block) -> Die {
        Die(block.0 / self.blocks_per_die)
    }

    /// The die of a slot.
    #[inline]
    pub const fn die_of_slot(&self, slot: Slot) -> Die {
        self.die_of(self.block_of(slot))
    }

    #[inline]
    pub(super) const fn first_slot(&self, block: Block) -> Slot {
        Slot(block.0 * self.slots_per_block)
    }
}
