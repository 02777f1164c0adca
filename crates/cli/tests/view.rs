//! The viewer: where it listens, and that it ends.

use crate::common::{drivelab, folder};

#[cfg(not(feature = "view"))]
#[test]
fn a_build_without_the_viewer_says_how_to_get_it() {
    let folder = folder();
    drivelab(folder.path(), &["view", "--archive", "runs.db"])
        .failed(3, &["built without the viewer", "--features view", "drivelab report"]);
}

#[cfg(feature = "view")]
mod served {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::path::Path;
    use std::process::{Child, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::common::{PROGRAM, command, starter};

    /// A viewer and its address.
    fn viewer(folder: &Path) -> (Child, String) {
        viewer_with(folder, &[])
    }

    fn viewer_with(folder: &Path, more: &[&str]) -> (Child, String) {
        let view = ["view", "--port", "0", "--archive", "runs.db"];
        let mut viewer = command(folder, &[&view[..], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = address_of(&mut viewer);
        (viewer, address)
    }

    fn address_of(viewer: &mut Child) -> String {
        let mut line = String::new();
        BufReader::new(viewer.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned()
    }

    fn page(address: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn kept_runs_are_listed_compared_and_drawn_until_ctrl_c() {
        let folder = folder();
        for (seed, label) in [("1", "one"), ("2", "two")] {
            let load = ["--rw", "randread", "--runtime", "1s", "--seed", seed, "--label", label];
            let run = ["run", "drive:generic-5400", "--archive", "runs.db"];
            let said = drivelab(folder.path(), &[&run[..], &load].concat());
            assert_eq!(said.code, 0, "{said:?}");
        }
        let (mut viewer, address) = viewer(folder.path());
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        let list = page(&address, "/");
        assert!(list.starts_with("HTTP/1.1 200") && list.contains("2 runs"), "{list}");
        let ids = list.split("name=\"run\" value=\"").skip(1);
        let ids: Vec<&str> = ids.map(|rest| rest.split('"').next().unwrap()).collect();
        let compared = page(&address, &format!("/compare?run={}&run={}", ids[0], ids[1]));
        assert!(compared.contains("<h1>two against one</h1>"), "{compared}");
        assert!(
            compared.contains(&format!("drivelab compare {} {}", ids[1], ids[0])),
            "{compared}"
        );
        let labels = page(&address, "/compare?run=label:two&run=label:one&margin=5%25");
        assert!(labels.contains("<h1>one against two</h1>"), "{labels}");
        assert!(page(&address, &format!("/run/{}", ids[0])).contains("<h1>two</h1>"));
        assert!(page(&address, "/course?metric=iops").matches("<circle").count() == 2);
        // A name is looked up in the archive alone, even where a file has it.
        std::fs::write(folder.path().join("label:file"), "{}").unwrap();
        let file = page(&address, "/compare?run=label:file&run=label:one");
        assert!(file.starts_with("HTTP/1.1 400") && file.contains("no run"), "{file}");
        // A connection that is left open does not keep it.
        let _open = TcpStream::connect(&address).unwrap();
        kill_process(Pid::from_child(&viewer), Signal::INT).unwrap();
        assert_eq!(viewer.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn the_laboratory_is_a_page_where_its_file_is_named() {
        const PAGE: &str =
            "<script type=\"text/plain\" id=\"module\">AA==</script><script>go()</script>";
        let folder = folder();
        let view = ["view", "--port", "0", "--archive", "runs.db", "--lab"];
        std::fs::write(folder.path().join("other.html"), "<p>another page</p>").unwrap();
        let refused: [(&str, &[&str]); 3] = [
            ("lab.html", &["`lab.html` cannot be read", "scripts/package-web"]),
            ("other.html", &["`other.html` is not the page", "scripts/package-web"]),
            (".", &["cannot be read"]),
        ];
        for (file, words) in refused {
            drivelab(folder.path(), &[&view[..], &[file]].concat()).failed(2, words);
        }
        std::fs::write(folder.path().join("lab.html"), PAGE).unwrap();
        let (mut viewer, address) = viewer_with(folder.path(), &["--lab", "lab.html"]);
        let lab = page(&address, "/lab");
        assert!(lab.starts_with("HTTP/1.1 200") && lab.ends_with(PAGE), "{lab}");
        assert!(lab.contains("'wasm-unsafe-eval'"), "{lab}");
        assert!(page(&address, "/").contains("href=\"/lab\""));
        viewer.kill().unwrap();
        viewer.wait().unwrap();
        // A package has the page in PREFIX/share, and the program in PREFIX/bin.
        for part in ["bin", "share/drivelab"] {
            std::fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        let installed = folder.path().join("bin/drivelab");
        if std::fs::hard_link(PROGRAM, &installed).is_err() {
            std::fs::copy(PROGRAM, &installed).unwrap();
        }
        std::fs::rename(
            folder.path().join("lab.html"),
            folder.path().join("share/drivelab/lab.html"),
        )
        .unwrap();
        let mut viewer = starter(folder.path(), installed.to_str().unwrap())
            .args(&view[..view.len() - 1])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        assert!(page(&address_of(&mut viewer), "/lab").ends_with(PAGE));
        viewer.kill().unwrap();
        viewer.wait().unwrap();
    }

    /// Keeps runs of one label, which differ in their seeds.
    fn keep_labelled(folder: &Path, label: &str, seeds: std::ops::Range<u64>) {
        let run = ["run", "drive:generic-5400", "--rw=randread", "--number_ios=20", "--no-archive"];
        let one = drivelab(folder, &[&run[..], &["--json", "--label", label]].concat()).json();
        let lines = seeds.map(|seed| {
            let mut run = one.clone();
            run["config"]["seed"] = seed.into();
            run.to_string() + "\n"
        });
        std::fs::write(folder.join("runs.json"), lines.collect::<String>()).unwrap();
        let import = drivelab(folder, &["archive", "import", "runs.json", "--archive", "runs.db"]);
        assert_eq!(import.code, 0, "{import:?}");
    }

    #[test]
    fn runs_are_counted_behind_their_labels() {
        let folder = folder();
        keep_labelled(folder.path(), "many", 0..201);
        keep_labelled(folder.path(), "few", 1000..1003);
        let (mut viewer, address) = viewer(folder.path());
        let refused = page(&address, "/compare?run=label:many&run=label:few");
        assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
        assert!(refused.contains("204 runs were chosen"), "{refused}");
        let once = page(&address, "/compare?run=label:many&run=label:many");
        assert!(once.contains("a comparison needs two runs"), "{once}");
        let list = page(&address, "/?last=0&label=few");
        assert!(list.contains("3 runs"), "{list}");
        viewer.kill().unwrap();
        viewer.wait().unwrap();
    }

    #[test]
    fn what_lies_in_a_results_folder_stops_no_page() {
        let folder = folder();
        let at = |name: &str| folder.path().join("drivelab-results").join(name);
        for name in ["a", "b"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        for name in ["a/plan.json", "a/runs.jsonl", "a/study.toml"] {
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, at(name), kind, mode, 0).unwrap();
        }
        std::fs::write(folder.path().join("study.toml"), crate::common::SMALL).unwrap();
        let out = ["study", "study.toml", "--out", "drivelab-results/c", "--no-archive"];
        let study = drivelab(folder.path(), &out);
        assert!([0, 1, 4].contains(&study.code), "{study:?}");
        for name in ["plan.json", "study.toml"] {
            std::fs::copy(at("c").join(name), at("b").join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/dev/zero", at("b/runs.jsonl")).unwrap();
        let (mut viewer, address) = viewer(folder.path());
        for _ in 0..5 {
            let running = page(&address, "/running");
            assert!(running.starts_with("HTTP/1.1 200"), "{running}");
            assert!(running.contains("drivelab-results/c"), "{running}");
        }
        viewer.kill().unwrap();
        viewer.wait().unwrap();
    }
}
