//! The refusal of requests before anything is touched.

use std::path::Path;

use drivelab_core::Refusal;
use drivelab_core::workload::{Workload, WorkloadOptions};

use super::{Load, Permissions, Request, Work};
use crate::target::Target;

impl Request {
    /// Refuses a request that no options describe: one that was read as JSON, in a guest or by
    /// another rank, was checked by the process that sent it, if that is what it claims to be.
    ///
    /// # Errors
    /// A load of it is invalid.
    pub fn check(&self) -> Result<(), Refusal> {
        match &self.work {
            Work::Load(load) => load.check(),
            Work::Cell(loads) if loads.is_empty() => {
                Err(Refusal::request("the cell has no load").hint("give it a target"))
            }
            Work::Cell(loads) => loads.iter().try_for_each(|one| one.load.check()),
            Work::Suite(_) | Work::Commands { .. } => Ok(()),
        }
    }

    /// Refuses what its permissions forbid.
    pub(crate) fn check_permitted(&self) -> Result<(), Refusal> {
        let path = match &self.target {
            Target::Path(path) => Some(path.as_path()),
            Target::Drive(_) => None,
        };
        match &self.work {
            Work::Load(load) => self.permissions.check_load(&load.workload, path),
            Work::Suite(suite) if self.permissions.readonly && suite.writes => {
                Err(forbidden(&format!("the suite `{}`", suite.name)))
            }
            Work::Suite(_) => self.permissions.check_exists(path),
            Work::Cell(loads) => loads.iter().try_for_each(|one| {
                self.permissions.check_load(&one.load.workload, path.map(|_| one.path.as_path()))
            }),
            Work::Commands { .. } if self.permissions.readonly => {
                Err(forbidden("a command may write: it"))
            }
            Work::Commands { .. } => Ok(()),
        }
    }
}

impl Load {
    /// Refuses a load that no options describe.
    fn check(&self) -> Result<(), Refusal> {
        let checked = WorkloadOptions::from(&self.workload).check().map_err(|error| {
            let hint = error.hint();
            Refusal::request_error(error).hint(hint)
        })?;
        if checked != self.workload {
            return Err(Refusal::request("no options describe this workload").hint(
                "make the request with this version of drivelab: `drivelab run --in kernel`",
            ));
        }
        Ok(())
    }
}

impl Permissions {
    /// Refuses a load on the file or device at `path`, if any, that writes without the permission.
    ///
    /// # Errors
    /// It writes, or would lay out a missing file.
    pub fn check_load(&self, workload: &Workload, path: Option<&Path>) -> Result<(), Refusal> {
        if self.readonly && workload.rw.writes() {
            return Err(forbidden(&format!("`--rw={}`", workload.rw)));
        }
        self.check_exists(path)
    }

    /// Refuses to lay a missing file out.
    fn check_exists(&self, path: Option<&Path>) -> Result<(), Refusal> {
        let Some(path) = path.filter(|path| self.readonly && !path.exists()) else { return Ok(()) };
        let wrong =
            format!("{} does not exist, and `--readonly` forbids its layout", path.display());
        Err(Refusal::request(wrong).hint("create it first, or omit `--readonly`"))
    }
}

/// The refusal of a writer of a run that must not write.
pub(super) fn forbidden(writer: &str) -> Refusal {
    Refusal::request(format!("{writer} writes, which `--readonly` forbids"))
        .hint("omit `--readonly`, or choose reads: `rw=read`, `rw=randread`")
}

#[cfg(test)]
mod tests {
    use drivelab_core::units::Bytes;
    use drivelab_core::workload::Rw;
    use serde_json::{Value, json};

    use super::*;
    use crate::request::CellLoad;

    fn load(rw: Rw) -> Load {
        let options = WorkloadOptions { rw: Some(rw), ..WorkloadOptions::default() };
        Load::new(WorkloadOptions { size: Some(Bytes::mib(1)), ..options }.check().unwrap())
    }

    fn request(work: Work) -> Request {
        let permissions = Permissions { readonly: true, ..Permissions::default() };
        Request::on_path("/dev/null".into(), work, 1).permitting(permissions)
    }

    #[test]
    fn what_may_not_write_does_not_write_whatever_its_work() {
        let cell = |rw| vec![CellLoad { path: "/dev/null".into(), load: load(rw), seed: 1 }];
        let check = |work, is_permitted: bool| {
            let checked = request(work).check_permitted();
            assert_eq!(checked.is_ok(), is_permitted, "{checked:?}");
        };
        check(Work::Load(Box::new(load(Rw::RandRead))), true);
        check(Work::Load(Box::new(load(Rw::RandRw))), false);
        check(Work::Cell(cell(Rw::Read)), true);
        check(Work::Cell(cell(Rw::Write)), false);
        check(Work::Commands { steps: Vec::new(), programs: Vec::new() }, false);
        let missing = Request {
            target: Target::Path("/none".into()),
            ..request(Work::Load(Box::new(load(Rw::Read))))
        };
        let error = missing.check_permitted().unwrap_err().to_string();
        assert!(error.contains("/none does not exist"), "{error}");
    }

    #[test]
    fn a_load_that_was_read_is_one_that_options_describe() {
        let asked = request(Work::Load(Box::new(load(Rw::RandRead))));
        let json = serde_json::to_value(&asked).unwrap();
        let read = |json: &Value| serde_json::from_value::<Request>(json.clone()).unwrap();
        read(&json).check().unwrap();
        let refused = |key: &str, value: Value| {
            let mut json = json.clone();
            let workload = &mut json["work"]["Load"]["workload"];
            assert!(workload.get(key).is_some(), "{key}: {workload}");
            workload[key] = value;
            read(&json).check().unwrap_err();
        };
        refused("streams", json!(0));
        refused("pace", json!({"closed": {"iodepth": 0, "think_time": "0s"}}));
        refused("pace", json!({"fixed": {"per_s": 0, "iodepth": 4}}));
        refused("offset", json!("100"));
        refused("stride", json!("4k"));
        request(Work::Cell(Vec::new())).check().unwrap_err();
    }
}
