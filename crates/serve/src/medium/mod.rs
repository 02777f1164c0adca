//! Media for the bytes of a drive: memory, an image file, or a fork of one of them.

mod fork;
mod image;
mod memory;

pub use fork::Fork;
pub use image::Image;
pub use memory::Memory;

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use drivelab_core::disk::{Extent, Medium};
    use drivelab_core::{Bytes, Lba, Sectors};

    use super::*;

    fn media(test: &str, capacity: Sectors) -> Vec<Box<dyn Medium>> {
        let name = format!("drivelab-medium-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = std::fs::File::create_new(&path).and_then(|file| {
            drop(file);
            std::fs::File::options().read(true).write(true).open(&path)
        });
        let image = Image::new(file.unwrap(), capacity).unwrap();
        std::fs::remove_file(&path).unwrap();
        let memory = || Memory::new(capacity, Bytes::mib(64));
        let fork = Fork::new(Rc::new(memory()), Bytes::mib(64));
        vec![Box::new(memory()), Box::new(image), Box::new(fork)]
    }

    fn check_holds(medium: &dyn Medium, lba: u64, expected: &[u8]) {
        let mut found = vec![0xEE; expected.len()];
        medium.read(Lba::new(lba), &mut found).unwrap();
        assert!(found == expected, "{medium:?} at {lba}");
    }

    #[test]
    fn what_is_written_is_read_and_what_is_freed_is_zero() {
        for mut medium in media("data", Sectors::new(1 << 20)) {
            let data: Vec<u8> = (0..512 * 300_u32).map(|byte| (byte % 251) as u8).collect();
            medium.write(Lba::new(100), &data).unwrap();
            check_holds(&*medium, 100, &data);
            check_holds(&*medium, 99, &[0; 512]);
            check_holds(&*medium, 400, &[0; 512]);
            medium.free(Lba::new(150), Sectors::new(200)).unwrap();
            check_holds(&*medium, 100, &data[..512 * 50]);
            check_holds(&*medium, 150, &vec![0; 512 * 200]);
            check_holds(&*medium, 350, &data[512 * 250..]);
            medium.sync().unwrap();
        }
    }

    #[test]
    fn zeros_that_are_written_take_no_memory() {
        let capacity = Sectors::new(1 << 30);
        let mut memory = Memory::new(capacity, Bytes::mib(1));
        let mut fork = Fork::new(Rc::new(Memory::new(capacity, Bytes::mib(1))), Bytes::mib(1));
        for medium in [&mut memory as &mut dyn Medium, &mut fork] {
            medium.write(Lba::new(100), &[7; 512]).unwrap();
            medium.write_zeros(Lba::new(3), Sectors::new((1 << 30) - 3)).unwrap();
            check_holds(medium, 99, &[0; 1024]);
        }
        for mut medium in media("zeros", Sectors::new(1 << 12)) {
            medium.write(Lba::new(0), &vec![7; 512 * 1024]).unwrap();
            medium.write_zeros(Lba::new(1), Sectors::new(1000)).unwrap();
            check_holds(&*medium, 0, &[7; 512]);
            check_holds(&*medium, 1, &vec![0; 512 * 1000]);
            check_holds(&*medium, 1001, &[7; 512 * 23]);
        }
    }

    #[test]
    fn extents_cover_the_range_and_tell_holes_from_data() {
        for mut medium in media("extents", Sectors::new(1 << 20)) {
            medium.write(Lba::new(4096), &vec![7; 65536]).unwrap();
            let extents = medium.extents(Lba::ZERO, Sectors::new(1 << 20), 8).unwrap();
            let extent = |sectors, hole| Extent { sectors: Sectors::new(sectors), hole };
            let expected = [extent(4096, true), extent(128, false), extent(1_044_352, true)];
            assert_eq!(extents, expected, "{medium:?}");
            let first = medium.extents(Lba::new(4100), Sectors::new(1000), 1).unwrap();
            assert_eq!(first, [extent(124, false)], "{medium:?}");
            medium.free(Lba::new(4096), Sectors::new(128)).unwrap();
            let freed = medium.extents(Lba::ZERO, Sectors::new(1 << 20), 8).unwrap();
            assert_eq!(freed, [extent(1 << 20, true)], "{medium:?}");
        }
    }
}
