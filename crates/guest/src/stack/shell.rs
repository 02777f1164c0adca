//! Lines of the shell of a guest.

/// A line of a shell that ends it where a file holds something else.
pub(super) fn has(file: &str, value: &str) -> String {
    format!(
        "[ \"$(cat {file})\" = {value} ] || {{ echo \"{file} is '$(cat {file})', not {value}\" >&2; \
         exit 2; }}"
    )
}
