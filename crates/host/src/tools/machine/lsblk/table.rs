//! The tables of `lsblk`, which people paste.

use super::{Entry, Row};

/// Signs with which the tree of names is drawn.
const BRANCHES: &[char] =
    &['├', '─', '└', '│', '|', '`', '-', ' ', '?', 'â', '\u{94}', '\u{9c}', '\u{80}'];
/// Maximum number of rows.
const ROWS_MAX: usize = 1 << 16;

/// Returns whether a line is the head of a table: `NAME   MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT`.
pub(in crate::tools) fn is_header(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let known = [
        "MAJ:MIN",
        "SIZE",
        "TYPE",
        "MOUNTPOINT",
        "MOUNTPOINTS",
        "FSTYPE",
        "ROTA",
        "MODEL",
        "DISC-MAX",
        "PHY-SEC",
        "SCHED",
        "TRAN",
        "KNAME",
    ];
    let first = words.first().is_some_and(|word| matches!(*word, "NAME" | "KNAME"));
    let count = words.iter().filter(|word| known.contains(word)).count();
    first
        && count >= 1
        && words.iter().all(|word| {
            word.bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b":-%._".contains(&b))
        })
}

/// One column: its name, and where its head stands.
struct Column {
    name: String,
    from: usize,
    to: usize,
}

/// The devices of a table, whose first line is its head; ends at a line that is none of it.
pub(in crate::tools) fn rows(lines: &[&str]) -> Vec<Entry> {
    let Some((head, rest)) = lines.split_first() else { return Vec::new() };
    let heads = columns(head);
    let mut found: Vec<Entry> = Vec::new();
    // The names above the current line, with the columns in which they begin.
    let mut above: Vec<(usize, String)> = Vec::new();
    for line in rest.iter().take(ROWS_MAX) {
        if line.trim().is_empty() {
            break;
        }
        let Some((at, row)) = row(line, &heads) else { continue };
        above.retain(|(from, _)| *from < at);
        let entry = Entry { row, below: above.last().map(|(_, name)| name.clone()) };
        if let Some(name) = entry.name() {
            above.push((at, name));
            found.push(entry);
        }
    }
    found
}

fn columns(head: &str) -> Vec<Column> {
    words(head)
        .map(|(from, to, word)| Column { name: word.to_ascii_lowercase(), from, to })
        .collect()
}

/// The words of a line: first and last slot, in characters, and text.
fn words(line: &str) -> impl Iterator<Item = (usize, usize, String)> {
    let mut found = Vec::new();
    let mut from = None;
    let signs: Vec<char> = line.chars().chain([' ']).collect();
    for (at, sign) in signs.iter().enumerate() {
        match (sign.is_whitespace(), from) {
            (false, None) => from = Some(at),
            (true, Some(start)) => {
                found.push((start, at, signs[start..at].iter().collect()));
                from = None;
            }
            _ => {}
        }
    }
    found.into_iter()
}

/// The start of the name, and the cells; `None` for a line that only continues the one above.
fn row(line: &str, columns: &[Column]) -> Option<(usize, Row)> {
    let mut cells = Row::new();
    let name_ends = columns.get(1).map_or(usize::MAX, |column| column.from);
    let at = line.chars().position(|sign| !BRANCHES.contains(&sign))?;
    // A second mount point stands below the first.
    if at >= name_ends {
        return None;
    }
    for (index, (from, to, word)) in words(line).enumerate() {
        let word = word.trim_start_matches(BRANCHES).to_owned();
        if word.is_empty() {
            continue;
        }
        let column = if index == 0 || from <= at { 0 } else { column_of(from, to, columns) };
        let cell = cells.entry(columns[column].name.clone()).or_default();
        if !cell.is_empty() {
            cell.push(' ');
        }
        cell.push_str(&word);
    }
    Some((at, cells))
}

/// The column of a word: of numbers the head ends where they end, of texts it begins where they
/// begin.
fn column_of(from: usize, to: usize, columns: &[Column]) -> usize {
    let ends = columns.iter().position(|column| column.to == to);
    let overlaps = columns.iter().position(|column| from < column.to && column.from < to);
    let left = columns.iter().rposition(|column| column.from <= from).unwrap_or(0);
    ends.or(overlaps).unwrap_or(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_table_is_read_by_its_columns() {
        let text = [
            "NAME            MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT",
            "sda               8:0    0 931.5G  0 disk ",
            "├─sda1            8:1    0     1G  0 part /boot",
            "└─sda2            8:2    0 930.5G  0 part ",
            "  ├─vg-root     253:0    0    50G  0 lvm  /",
            "  └─vg-home     253:1    0   880G  0 lvm  /home",
            "                                          /srv",
            "nvme0n1         259:0    0 476.9G  0 disk ",
        ];
        let entries = rows(&text);
        let names: Vec<(String, Option<&str>)> =
            entries.iter().map(|entry| (entry.name().unwrap(), entry.below.as_deref())).collect();
        assert_eq!(
            names,
            [
                ("sda".into(), None),
                ("sda1".into(), Some("sda")),
                ("sda2".into(), Some("sda")),
                ("vg-root".into(), Some("sda2")),
                ("vg-home".into(), Some("sda2")),
                ("nvme0n1".into(), None),
            ]
        );
        assert_eq!(entries[0].row["size"], "931.5G");
        assert_eq!(entries[3].row["type"], "lvm");
        assert_eq!(entries[1].row["mountpoint"], "/boot");
    }

    #[test]
    fn models_of_several_words_are_one_cell() {
        let text = [
            "NAME  MODEL                SIZE ROTA",
            "sda   WDC WD10EZEX-08W    931.5G    1",
            "sdb   Samsung SSD 860     465.8G    0",
        ];
        let entries = rows(&text);
        assert_eq!(entries[0].row["model"], "WDC WD10EZEX-08W");
        assert_eq!(entries[1].row["rota"], "0");
        assert_eq!(entries[1].row["size"], "465.8G");
    }

    #[test]
    fn heads_are_told_from_sentences() {
        assert!(is_header("NAME   MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS"));
        assert!(is_header("NAME FSTYPE LABEL UUID FSAVAIL FSUSE% MOUNTPOINT"));
        assert!(!is_header("NAME of the disk"));
        assert!(!is_header("sda 8:0"));
    }
}
