//! The selection of kept runs for a page, as typed into its form.

use crate::page::html::escape;

/// The fields of the form: the key in an address, the words before the field, an example.
const FIELDS: [(&str, &str, &str); 9] = [
    ("label", "Label or tag", "nightly"),
    ("metric", "Metric", "lat_p99_ns"),
    ("drive", "Drive", "st31000333as"),
    ("device", "Target or device", "sda"),
    ("suite", "Suite", "hdtune"),
    ("host", "Host", "id of the machine"),
    ("since", "Since", "2026-11-01, 7d, today"),
    ("until", "Until", "2026-12-01"),
    ("last", "Number of runs", "100"),
];

/// The text typed into each field, empty if there was none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked([String; FIELDS.len()]);

impl Asked {
    /// The fields by key.
    ///
    /// # Errors
    /// The key of no field, returned as it is.
    pub fn read<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, &'a str> {
        let mut asked = Self::default();
        for (key, value) in pairs {
            let index = FIELDS.iter().position(|(known, ..)| *known == key);
            let index = index.ok_or(key)?;
            value.trim().clone_into(&mut asked.0[index]);
        }
        Ok(asked)
    }

    /// The text typed into the field with this key; `None` if there was none.
    ///
    /// # Panics
    /// There is no such field.
    pub fn get(&self, key: &str) -> Option<&str> {
        let index = FIELDS.iter().position(|(known, ..)| *known == key);
        let value = &self.0[index.expect("the key of a field")];
        (!value.is_empty()).then_some(value)
    }

    /// True if nothing was typed.
    fn is_empty(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    /// The form of the page at `here`: its buttons list the runs, draw a metric of them over time,
    /// or hold the disks of a fleet against their peers.
    pub fn form(&self, here: &str) -> String {
        let fields = FIELDS.iter().zip(&self.0).map(|((key, words, example), typed)| {
            format!(
                "<label>{words}<input name=\"{key}\" value=\"{}\" placeholder=\"{example}\" \
                 autocomplete=\"off\"></label>\n",
                escape(typed)
            )
        });
        let fields: String = fields.collect();
        let buttons =
            [("/", "List"), ("/course", "Draw over time"), ("/fleet", "Disks of a fleet")];
        let buttons = buttons.map(|(action, words)| {
            let class = if action == here { " class=\"first\"" } else { "" };
            format!("<button formaction=\"{action}\"{class}>{words}</button>\n")
        });
        // The page over time is about a choice of runs, so its form is open.
        let open = if self.is_empty() && here != "/course" { "" } else { " open" };
        format!(
            "<details class=\"filter\"{open}><summary>Filter</summary>\n<form>\n{fields}<p>{}</p>\n\
             </form></details>\n",
            buttons.concat()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_stands_in_the_form_again() {
        let pairs = [("label", " a\"b "), ("metric", "iops")];
        let asked = Asked::read(pairs.into_iter()).unwrap();
        assert_eq!(asked.get("label"), Some("a\"b"));
        assert_eq!(asked.get("drive"), None);
        let form = asked.form("/");
        assert!(form.contains("name=\"label\" value=\"a&quot;b\""), "{form}");
        assert!(form.contains(" open>"), "{form}");
        assert_eq!(Asked::read([("sort", "x")].into_iter()), Err("sort"));
    }
}
