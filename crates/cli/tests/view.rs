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
    use crate::common::command;

    /// A viewer and its address.
    fn viewer(folder: &Path) -> (Child, String) {
        let mut viewer = command(folder, &["view", "--port", "0", "--archive", "runs.db"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(viewer.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        (viewer, address)
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
}
