//! What splits, spreads, criteria and drives of the command line read, they print and read again.
#![no_main]

use drivelab_core::config::Value as _;
use drivelab_core::units::Bytes;
use drivelab_core::workload::{BlockSizes, Criterion, Distribution, Requests, WorkloadOptions};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(criterion) = text.parse::<Criterion>() {
        assert_eq!(criterion.to_string().parse(), Ok(criterion));
    }
    let bssplit = BlockSizes::of_percentages(text).ok();
    if let Some(sizes) = &bssplit {
        // A record holds weights, which need not be percentages; of one size it needs none.
        let printed = sizes.to_string();
        assert_eq!(printed.parse().map(|again: BlockSizes| again.to_string()), Ok(printed));
    }
    let random_distribution = Distribution::read(text).ok();
    if let Some(spread) = &random_distribution {
        assert_eq!(spread.to_string().parse().as_ref(), Ok(spread));
    }
    let options = WorkloadOptions { bssplit, random_distribution, ..WorkloadOptions::default() };
    let Ok(workload) = options.check() else { return };
    for capacity in [Bytes::new(1_000_001), Bytes::gib(3), Bytes::new(u64::MAX)] {
        let Ok(mut requests) = Requests::new(&workload, capacity, 1) else { continue };
        for id in 0..50 {
            let end = requests.next(drivelab_core::RequestId(id)).end().byte_offset();
            assert!(end <= capacity, "{workload:?}: beyond {capacity}");
        }
    }
});
