//! Several files of one job: each has a thread, and its part of the job's work.

use drivelab_core::units::{Bytes, Span};
use drivelab_core::{JOBS_MAX, Refusal};

use super::super::number::Part;
use super::Section;

/// Maximum number of files of a job.
const FILES_MAX: usize = 256;

impl Section {
    /// Divides the work among the files, and returns their number with that of the files which have
    /// one outstanding request more than the others. In fio they take turns for the requests of one
    /// queue; parts of the queue, one for each file, send about as many to each.
    pub(super) fn divided(&mut self) -> Result<(u32, u32), Refusal> {
        let names = &self.filenames;
        let parts = u32::try_from(names.len().max(1)).unwrap_or(u32::MAX);
        if parts == 1 {
            return Ok((1, 0));
        }
        if names.len() > FILES_MAX || parts.saturating_mul(self.numjobs.unwrap_or(1)) > JOBS_MAX {
            let wrong = format!("the job `{}` has {parts} files: too many threads", self.name);
            return Err(Refusal::request(wrong).hint("give each file a section"));
        }
        let depth = self.workload.iodepth.unwrap_or(1);
        if depth < parts || self.workload.thinktime.is_some_and(|it| it > Span::ZERO) {
            return Err(self.indivisible(depth, parts));
        }
        self.workload.iodepth = Some(depth / parts);
        let workload = &mut self.workload;
        let each = u64::from(parts);
        let batches = [
            &mut workload.iodepth_batch_submit,
            &mut workload.iodepth_batch_complete_min,
            &mut workload.iodepth_batch_complete_max,
        ];
        for batch in batches {
            *batch = batch.map(|requests| requests.min(depth / parts));
        }
        workload.number_ios = workload.number_ios.map(|all| all.div_ceil(each));
        workload.rate = workload.rate.map(|all| Bytes::new(all.get().div_ceil(each)));
        workload.rate_iops = workload.rate_iops.map(|all| all.div_ceil(each));
        for part in [&mut self.extent.size, &mut self.extent.io_size] {
            // A percentage is one of each file.
            if let Some(Part::Bytes(all)) = part {
                *all = Bytes::new(all.get() / each);
            }
        }
        let deeper = depth % parts;
        debug_assert!(deeper < parts, "at least one file has no request more");
        let or_more = if deeper > 0 { format!(" or {}", depth / parts + 1) } else { String::new() };
        let why = format!(
            "each of {parts} files has a thread, with {}{or_more} of {depth} outstanding requests; \
             in fio the files take turns in one",
            depth / parts
        );
        self.note("filename", &why);
        if self.in_sequence {
            self.note("file_service_type", "all files are used at the same time");
        }
        Ok((parts, deeper))
    }

    /// A refusal of several files whose requests cannot be sent by one thread for each.
    fn indivisible(&self, depth: u32, parts: u32) -> Refusal {
        let wrong = format!(
            "the job `{}` uses several files, `{}` and `{}`, and {depth} outstanding requests \
             cannot be shared by {parts}: as in fio, each `filename` adds to those before \
             it and in `[global]`",
            self.name, self.filenames[0], self.filenames[1]
        );
        Refusal::request(wrong).hint(format!(
            "`ioengine=libaio` and at least `iodepth={parts}`, or a section for each file: \
             they start together"
        ))
    }
}
