//! Kept runs as a command line names them.

use crate::archive::{Archive, Detail};
use crate::entry::{RunId, Whole};
use crate::error::ArchiveError;
use crate::filter::Filter;
use crate::when::Period;
use drivelab_core::{Invalid, invalid};

/// Kept runs by what was typed: the beginning of an id, `label:NAME`, or `@WHEN[,key=value...]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// The one whose id begins so.
    Id(String),
    /// All that a filter means.
    Filter(Box<Filter>),
}

/// The prefix of a label.
const LABEL: &str = "label:";

impl Query {
    /// The runs that `text` names where it is `now_ms` (milliseconds since 1970); `None` where it
    /// is not a name of kept runs. Ids begin with `0` until the year 3084.
    ///
    /// # Errors
    /// A time that is none, or a key that is unknown.
    pub fn read(text: &str, now_ms: u64) -> Result<Option<Self>, Invalid> {
        if let Some(label) = text.strip_prefix(LABEL) {
            let label = Some(label.to_owned());
            return Ok(Some(Self::Filter(Box::new(Filter { label, ..Filter::default() }))));
        }
        if let Some(rest) = text.strip_prefix('@') {
            return filter(rest, now_ms).map(|filter| Some(Self::Filter(Box::new(filter))));
        }
        // The name of a file has an ending, or may be written as ./0file.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Ok((text.starts_with('0') && is_plain).then(|| Self::Id(text.to_owned())))
    }

    /// Passes the runs that are meant to `then`, the oldest first; at least one.
    ///
    /// # Errors
    /// No such run, several ids that begin so, a damaged record, or an error of `then`.
    pub fn each<E: From<ArchiveError>>(
        &self,
        archive: &Archive,
        typed: &str,
        detail: Detail,
        mut then: impl FnMut(Whole) -> Result<(), E>,
    ) -> Result<(), E> {
        let filter = match self {
            Self::Id(text) => return then(archive.whole(archive.find(text)?)?),
            Self::Filter(filter) => filter,
        };
        match archive.each(filter, detail, then)? {
            0 => Err(ArchiveError::NoSuchRun(typed.to_owned()).into()),
            _ => Ok(()),
        }
    }

    /// The ids of the runs that are meant.
    ///
    /// # Errors
    /// No such run, or several ids that begin so.
    pub fn ids(&self, archive: &Archive, typed: &str) -> Result<Vec<RunId>, ArchiveError> {
        let Self::Filter(filter) = self else { return Ok(vec![archive.find(typed)?]) };
        let found = archive.ids(filter)?;
        if found.is_empty() {
            return Err(ArchiveError::NoSuchRun(typed.to_owned()));
        }
        let ids =
            found.into_iter().map(|run| run.parse().map_err(|_| ArchiveError::NoSuchRun(run)));
        ids.collect()
    }
}

fn filter(text: &str, now_ms: u64) -> Result<Filter, Invalid> {
    let mut parts = text.split(',');
    let Period { from_ms, until_ms } = Period::read(parts.next().unwrap_or_default(), now_ms)?;
    let mut filter = Filter { since_ms: Some(from_ms), until_ms, ..Filter::default() };
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let field = match key {
            "host" => &mut filter.host,
            "device" => &mut filter.target,
            "drive" => &mut filter.drive,
            "suite" => &mut filter.suite,
            "label" => &mut filter.label,
            "commit" => &mut filter.commit,
            _ => {
                return Err(invalid!(
                    "`{key}` is not a filter of kept runs: host, device, drive, suite, label or \
                     commit, each as key=value"
                ));
            }
        };
        // `label=` without a value sets no filter.
        *field = Some(value.to_owned()).filter(|value| !value.is_empty());
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_000 * 86_400_000 + 43_200_000;

    #[test]
    fn what_is_typed_is_an_id_a_label_or_a_time_with_filters() {
        let read = |text: &str| Query::read(text, NOON).unwrap();
        assert_eq!(read("01ka9z"), Some(Query::Id("01ka9z".into())));
        let label = |label: &str| Filter { label: Some(label.into()), ..Filter::default() };
        assert_eq!(read("label:a b"), Some(Query::Filter(Box::new(label("a b")))));
        let today = Filter { since_ms: Some(1_000 * 86_400_000), ..Filter::default() };
        assert_eq!(read("@today"), Some(Query::Filter(Box::new(today.clone()))));
        let narrow = Filter { label: Some("n".into()), drive: Some("st3".into()), ..today };
        assert_eq!(read("@today,label=n,drive=st3"), Some(Query::Filter(Box::new(narrow))));
        for file in ["run.json", "", "0/1.json", "results"] {
            assert_eq!(read(file), None, "{file}");
        }
    }

    #[test]
    fn what_is_no_time_or_no_filter_is_named() {
        let check = |text: &str, expected: &str| {
            let error = Query::read(text, NOON).unwrap_err();
            assert!(error.0.contains(expected), "{error}");
        };
        check("@", "`` is not a time");
        check("@tomorrow", "`tomorrow` is not a time");
        check("@today,lable=x", "`lable` is not a filter");
    }
}
