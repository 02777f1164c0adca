//! The content of the pages, supplied by the caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::Refusal;
use drivelab_report::history::Asked;
use drivelab_report::viewer::running::Running;

use crate::lab::Lab;

/// Runs that were chosen to be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Their ids, or `label:NAME`.
    pub runs: Vec<String>,
    /// The metric that decides.
    pub primary: Option<String>,
    /// The smallest effect worth acting on.
    pub margin: Option<String>,
    /// The settings in which the runs are meant to differ, separated by commas.
    pub factor: Option<String>,
}

/// The client of a page: once it has gone, the page is made for no reader and may be abandoned.
#[derive(Debug, Clone, Default)]
pub struct Client(Arc<AtomicBool>);

impl Client {
    /// Returns true once it has gone.
    pub fn has_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes that the connection is closed.
    pub(crate) fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The pages whose content is not known here, each as a whole document of `report`.
///
/// Every call stands alone and may take its time: it runs on another thread than the server.
pub trait Pages: Send + Sync + 'static {
    /// The kept runs that are asked for.
    ///
    /// # Errors
    /// A filter that is none, or an archive that cannot be read.
    fn list(&self, asked: &Asked, client: &Client) -> Result<String, Refusal>;
    /// A metric of them over time.
    ///
    /// # Errors
    /// As [`Self::list`].
    fn course(&self, asked: &Asked, client: &Client) -> Result<String, Refusal>;
    /// The disks of a fleet that differ from their peers.
    ///
    /// # Errors
    /// As [`Self::list`], or nothing was collected.
    fn fleet(&self, asked: &Asked, client: &Client) -> Result<String, Refusal>;
    /// One kept run, by its id.
    ///
    /// # Errors
    /// No such run.
    fn run(&self, id: &str, client: &Client) -> Result<String, Refusal>;
    /// The verdict about chosen runs.
    ///
    /// # Errors
    /// No such run, or runs that cannot be compared.
    fn compare(&self, chosen: &Chosen, client: &Client) -> Result<String, Refusal>;
    /// The folder of studies whose progress is shown.
    fn studies(&self) -> String;
    /// The progress of each.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn running(&self) -> Result<Vec<Running>, Refusal>;
    /// The laboratory in a browser, where its page is installed.
    fn lab(&self) -> Option<&Lab>;
    /// The disks of this machine and their attachment.
    ///
    /// # Errors
    /// Nothing can be inspected here.
    fn inspection(&self) -> Result<String, Refusal>;
}
