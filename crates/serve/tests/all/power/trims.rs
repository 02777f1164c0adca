//! Trims that a power cut interrupts: a physical sector is trimmed in whole or not at all.

use drivelab_core::disk::Data;
use drivelab_core::{Bytes, Lba, Sectors, Time};
use drivelab_serve::medium::Memory;
use drivelab_serve::store::{Choose, Store};

/// Does every other piece of a trim.
struct EveryOther(bool);

impl Choose for EveryOther {
    fn choose(&mut self, options: usize) -> usize {
        self.0 = !self.0;
        if self.0 { options - 1 } else { 0 }
    }
}

#[test]
fn a_trim_that_begins_within_a_physical_sector_is_cut_between_physical_sectors() {
    let capacity = Sectors::new(16 << 10);
    for (lba, sectors) in [(4, 24), (7, 2), (1, 40), (3, 9000), (8, 16), (2044, 4100)] {
        for begins in [false, true] {
            let medium = Memory::new(capacity, Bytes::mib(64));
            let mut store = Store::new(Box::new(medium), Sectors::new(8));
            let data = Data::Bytes(vec![7; 512 << 14].into_boxed_slice());
            let write = store.begin_write(Time::ZERO, Lba::ZERO, data).unwrap();
            store.complete(&write, true).unwrap();
            store.begin_trim(Lba::new(lba), Sectors::new(sectors)).unwrap();
            store.cut(&mut EveryOther(begins), |_, _| None).unwrap();
            let mut found = vec![0; 512 << 14];
            store.read(Lba::ZERO, &mut found).unwrap();
            for (number, physical) in found.chunks(4096).enumerate() {
                let first = number as u64 * 8;
                let trimmed: Vec<bool> = (first..)
                    .zip(physical.chunks(512))
                    .filter(|(sector, _)| (lba..lba + sectors).contains(sector))
                    .map(|(_, sector)| sector[0] == 0)
                    .collect();
                let whole = trimmed.iter().all(|is| *is) || !trimmed.iter().any(|is| *is);
                assert!(whole, "trim {lba}+{sectors}, physical sector {number}: {trimmed:?}");
            }
        }
    }
}
