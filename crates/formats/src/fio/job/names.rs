//! Names of files and directories.

/// The names in `value`, which colons separate; `\:` is a colon of a name. As in fio, an empty name
/// ends the list.
pub(super) fn split(value: &str) -> Vec<String> {
    if value.starts_with(DRIVE) {
        return vec![value.to_owned()];
    }
    let mut names = vec![String::new()];
    let mut rest = value;
    while let Some(at) = rest.find([':', '\\']) {
        let (before, from) = rest.split_at(at);
        let name = names.last_mut().expect("it begins with one");
        name.push_str(before);
        rest = if let Some(behind) = from.strip_prefix("\\:") {
            name.push(':');
            behind
        } else if let Some(behind) = from.strip_prefix('\\') {
            name.push('\\');
            behind
        } else {
            names.push(String::new());
            &from[1..]
        };
    }
    names.last_mut().expect("it begins with one").push_str(rest);
    let end = names.iter().position(String::is_empty).unwrap_or(names.len());
    names.truncate(end);
    names
}

/// The prefix of a modelled drive's name; it contains the colon that separates files in fio.
const DRIVE: &str = "drive:";

/// The path of `name` in the directory of `copy`. As in fio, an absolute name lies in it, too.
pub(super) fn within(directories: &[String], copy: u32, name: &str) -> String {
    if directories.is_empty() || name.starts_with(DRIVE) {
        return name.to_owned();
    }
    format!("{}/{name}", directories[copy as usize % directories.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_separate_names_unless_they_are_escaped() {
        let check = |value: &str, names: &[&str]| assert_eq!(split(value), names, "{value}");
        check("f", &["f"]);
        check("/dev/a:/dev/b", &["/dev/a", "/dev/b"]);
        check("/dev/pci-0000\\:00\\:1f:b", &["/dev/pci-0000:00:1f", "b"]);
        check("back\\slash", &["back\\slash"]);
        check("a::b", &["a"]);
        check("", &[]);
        check("drive:x,seed=1", &["drive:x,seed=1"]);
    }

    #[test]
    fn every_name_lies_in_the_directory() {
        let within = |directories, copy, name| within(&split(directories), copy, name);
        assert_eq!(within("d", 0, "f"), "d/f");
        assert_eq!(within("d", 0, "/f"), "d//f");
        assert_eq!(within("d:e\\:f", 3, "f"), "e:f/f");
        assert_eq!(within("", 3, "/f"), "/f");
        assert_eq!(within("d", 0, "drive:x"), "drive:x");
    }
}
