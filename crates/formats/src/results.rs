//! Results of other tools, whichever tool wrote them.

use drivelab_core::csv::{ParseError, lines};
use drivelab_core::foreign::Imported;

use crate::bonnie;
use crate::fio::results as fio;

/// Reads a result of any known tool.
pub fn parse(text: &str) -> Result<Imported, ParseError> {
    if fio::is_fio(text) {
        return fio::parse(text);
    }
    // What is empty or binary gets its own message.
    let is_empty = lines(text)?.is_empty();
    if bonnie::is_bonnie(text) {
        return bonnie::parse(text);
    }
    let what = if is_empty { "it is empty" } else { "not the output of a known tool" };
    let hint = "give fio's JSON (`--output-format=json`, version 3) or bonnie++'s CSV line \
                (versions 1.03, 1.96, 1.97 or 1.98)";
    Err(ParseError::new(0, what, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_told_by_the_text() {
        let check = |text: &str, expected: Result<&str, &str>| match (parse(text), expected) {
            (Ok(imported), Ok(tool)) => assert_eq!(imported.tool, tool),
            (Err(error), Err(start)) => assert!(error.to_string().starts_with(start), "{error}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        };
        check("{\"fio version\": \"fio-3.1\", \"jobs\": []}", Err("it contains no results of fio"));
        check("1.98,2.00a,vm,1,1795319432,64M,,8192,5", Err("line 1: there are 9 fields"));
        check("kvm,4G,439,99,52686,15,,,,,,,,,,,,,,,,,,,,,", Ok("bonnie++"));
        check("block,arm,value\n1,ide,75\n", Err("not the output of a known tool"));
        check("{\"schema\": \"drivelab.run/1\"}", Err("not the output of a known tool"));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        let check = |text, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("", "it is empty");
        check("hello", "not the output of a known tool");
        check("\0\0\0", "line 1: this is binary data");
    }
}
