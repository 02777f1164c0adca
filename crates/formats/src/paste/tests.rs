//! What people paste, and what the readers see of it.

use super::*;

#[track_caller]
fn check(given: &[u8], text: &str, note: &str) {
    let paste = clean(given.to_vec());
    assert_eq!(paste.text, text);
    assert_eq!(paste.notes.join(" "), note);
}

#[test]
fn plain_text_is_left_alone() {
    for text in
        ["", "a\n\tb\r\n", "{\n  \"fio version\": 1\n}\n", "grün 1 µs\n", "#  fs_mark -d a\n"]
    {
        check(text.as_bytes(), text, "");
    }
}

#[test]
fn utf_16_is_read_with_and_without_its_mark() {
    let text = "READ: 1 µs\r\nb\n";
    let units: Vec<u16> = text.encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    let read = "Of the text: read as UTF-16.";
    check(&little, text, read);
    check(&big, text, read);
    check(&[&[0xff, 0xfe], &little[..]].concat(), text, read);
    check(&[&[0xfe, 0xff], &big[..]].concat(), text, read);
    let cut = "Of the text: read as UTF-16; replaced 1 sequence of bytes that is not UTF-8 by `?`.";
    check(&[&[0xff, 0xfe], &little[..], b"x"].concat(), text, cut);
}

#[test]
fn bytes_that_are_no_characters_are_replaced_and_counted() {
    let one = "Of the text: replaced 1 sequence of bytes that is not UTF-8 by `?`.";
    check(b"Dur\xe9e: 1\n", "Dur?e: 1\n", one);
    let lost = "Of the text: replaced 1 character that an earlier conversion had lost by `?`.";
    check("a \u{fffd}\n".as_bytes(), "a ?\n", lost);
}

#[test]
fn binary_data_stays_binary() {
    let zip = (&b"PK\x03\x04aaaa"[..], "compressed with zip");
    for (bytes, kind) in [zip, (b"\0\0\0", "binary"), (b"a\0b\x01", "binary")] {
        let error = crate::results::parse(&clean(bytes.to_vec()).text).unwrap_err().to_string();
        assert!(error.contains(kind), "{error}");
    }
}

#[test]
fn a_time_before_each_line_is_skipped() {
    let note = "Of the text: skipped 3 times before lines.";
    check(
        b"2026-11-27 21:33:57.516\tLinux\n2026-11-27 21:33:57.517\t\n2026-11-27 21:33:58\ta  1\n",
        "Linux\n\na  1\n",
        note,
    );
    check(b"Nov 27 21:33:57 a\nNov 27 21:33:57 b\nNov 27 21:33:58  c\n", "a\nb\n c\n", note);
    for rows in [
        "2026-11-27 21:33:57,1,2\n2026-11-27 21:33:57,1,2\n2026-11-27 21:33:57,1,2\n",
        "2026-11-27 21:33:57 a\nb\n2026-11-27 21:33:57 c\n",
        "Nov 27 21:33:57 a\n",
        "Nov\u{e9} 27\nNov\nNo\n",
    ] {
        check(rows.as_bytes(), rows, "");
    }
}

#[test]
fn what_a_terminal_adds_is_skipped() {
    check(
        b"\x1b[1mtps\x1b[0m = 5\x1b]0;title\x07\n",
        "tps = 5\n",
        "Of the text: skipped 3 escape sequences.",
    );
    check(b"1 %\r2 %\rdone\n", "done\n", "Of the text: skipped 2 overwritten parts of lines.");
    check(b"done\r\r\n", "done\n", "");
    check(b"a\x7fb\n", "ab\n", "Of the text: skipped 1 control character.");
    check(b"a\rb\r", "a\nb\n", "");
    check("\u{feff}a\u{a0}1\n".as_bytes(), "a 1\n", "");
}

#[test]
fn what_a_mail_or_a_page_adds_is_skipped() {
    check(b"> a\n>\n> > b\n", "a\n\nb\n", "Of the text: skipped 3 quotation marks of a mail.");
    check(b"    a:\n      b\n\n    c\n", "a:\n  b\n\nc\n", "");
    check(b"```text\na\n```\n", "\na\n\n", "Of the text: skipped 2 fences of a code block.");
    // A mark alone may close a tag.
    check(b">= 5\n->\n<a\n>\n", ">= 5\n->\n<a\n>\n", "");
}

#[test]
fn a_line_that_is_code_as_a_whole_loses_its_marks() {
    let note = "Of the text: skipped 1 fence of a code block.";
    check(b"it was\n`3;fio-3.19;a`\n", "it was\n3;fio-3.19;a\n", note);
    check(b"`a` and `b`\n``\n", "`a` and `b`\n``\n", "");
}

#[test]
fn a_result_in_the_comment_of_a_program_is_read() {
    check(b"// a\n//   b\n\n", "a\n  b\n\n", "Of the text: skipped 2 marks of a comment.");
    check(b"// a\nb\n", "// a\nb\n", "");
}

#[test]
fn commands_lose_their_prompt() {
    let note = "Of the text: skipped 1 prompt.";
    check(b"[root@h ~]# dd if=/dev/zero\n", "dd if=/dev/zero\n", note);
    check(b"user@host:~/a b$ fio x\n", "user@host:~/a b$ fio x\n", "");
    check(b"user@host:~$ fio x\n", "fio x\n", note);
    check(b"root@h:/mnt# hdparm -t /dev/sda\n", "hdparm -t /dev/sda\n", note);
    check(b"$ fio x\n", "fio x\n", note);
    check(b"C:\\tools> diskspd -b4K\n", "diskspd -b4K\n", note);
    check(b"PS C:\\> diskspd\n", "diskspd\n", note);
    for text in ["[1s] a@b # c\n", "[Read]\n", "#[Mean = 1]\n", "$ 5\n", "a@b.c: $ 5\n"] {
        check(text.as_bytes(), text, "");
    }
}

#[test]
fn binary_data_that_is_cleaned_again_keeps_its_lines() {
    // As text, the marks of the first cleaning outweigh its one control character.
    let data = [&[0xf6; 40][..], &[1], b"a\rb"].concat();
    let once = clean(data).text;
    assert!(once.contains('\u{fffd}') && !once.contains('\r'), "{once:?}");
    assert_eq!(clean(once.into_bytes()).text.matches('\n').count(), 0);
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        clean(bytes);
    }

    #[test]
    fn lines_are_kept_and_a_second_pass_changes_no_line_count(
        text in "([ >`$#\\[\\]@:~\r\u{1b}\u{7f}\u{a0}a-c0-9m;]{0,12}\n){0,12}",
    ) {
        let once = clean(text.clone().into_bytes());
        proptest::prop_assert_eq!(once.text.lines().count(), text.lines().count());
        let is_left = once.text.contains(char::from(27)) || once.text.contains(char::from(127));
        proptest::prop_assert!(!is_left);
        let twice = clean(once.text.clone().into_bytes());
        proptest::prop_assert_eq!(twice.text.lines().count(), once.text.lines().count());
    }

    #[test]
    fn lines_that_are_cleaned_where_they_are_are_those_of_a_new_text(
        text in "([ >`$#\\[\\]@:~\r\u{1b}\u{7f}\u{a0}a-c0-9m;]{0,12}\n?){0,12}",
        indent in 0_usize..3,
    ) {
        let (mut expected, mut is_quoted) = (String::new(), false);
        for whole in text.split_inclusive('\n') {
            let line = Line::new(whole, indent).below(is_quoted);
            is_quoted = line.write(&mut expected, &mut Changes::default());
        }
        let cleaned = rewritten(text, 0, indent, &mut Changes::default());
        proptest::prop_assert_eq!(cleaned, expected);
    }

    #[test]
    fn text_that_a_tool_writes_is_left_alone(text in "([a-z][a-z0-9=.,;:% ()/-]{0,30}\n){0,12}") {
        proptest::prop_assert_eq!(clean(text.clone().into_bytes()).text, text);
    }
}
