//! No job file or command line of fio's may panic, hang or allocate without bound, whatever the
//! target.
#![no_main]

use drivelab_core::units::Bytes;
use drivelab_core::workload::Requests;
use drivelab_formats::fio::job;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let variable = |name: &str| (name == "FILE").then(|| "data".to_owned());
    let Ok(jobs) = job::parse("fuzz.fio", text, &job::Reading::new(&variable)) else { return };
    for job in jobs {
        for length in [None, Some(Bytes::new(0)), Some(Bytes::new(1_000_001)), Some(Bytes::gib(9))] {
            let last = job.workload_of(job.numjobs - 1, length);
            assert!(last.is_err() || last.is_ok_and(|options| options.number_ios != Some(0)));
            let Ok(options) = job.workload(length) else { continue };
            let Ok(workload) = options.check() else { continue };
            let capacity = length.unwrap_or(Bytes::gib(1));
            let Ok(mut requests) = Requests::new(&workload, capacity, 1) else { continue };
            for id in 0..100 {
                let request = requests.next(drivelab_core::RequestId(id));
                let end = request.end().byte_offset().get();
                assert!(end <= capacity.get(), "{workload:?}: {request:?} ends beyond {capacity}");
            }
        }
    }
});
