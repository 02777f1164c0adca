//! A guest for a user to look around in.

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

use drivelab_core::{AtPath as _, Refusal};
use drivelab_guest::boot::{End, Guest, Limit, Terminal};
use drivelab_guest::initramfs::Initramfs;
use drivelab_guest::kernel::Kernel;
use drivelab_model::options::DriveSpec;

use super::disks::machines::{machine, served};
use super::has::MEMORY;
use super::inside::failed;
use super::root::{add_program, find_busybox, with_this_program};
use super::seen::{Seen, TAGS_MAX};
use crate::interrupt;
use crate::target;

/// Of what is random in the drive.
const SEED: u64 = 1;

/// Boots the kernel on a drive and connects the terminal with its console.
pub fn shell(kernel: &Kernel, spec: &DriveSpec, programs: &[PathBuf]) -> Result<(), Refusal> {
    let profile = target::profile(spec)?;
    let (drive, seen) = machine(spec, &profile, SEED)?;
    let root = shell_root(&seen, &greeting(kernel, spec, &seen), programs)?;
    let guest = Guest {
        kernel: &kernel.path,
        initramfs: &root.to_bytes(),
        memory: MEMORY,
        tags: seen.setting.as_ref().map_or(TAGS_MAX, |setting| setting.tags),
        arguments: &["quiet".into()],
        tick: None,
        limit: Limit::NONE,
        stop: interrupt::flag(),
    };
    let (input, mut output) = (io::stdin(), io::stdout());
    let terminal = Terminal { input: input.as_fd(), output: &mut output };
    let disk = served(drive, seen.physical_sector, SEED);
    let (ended, _) = guest.attend(disk, &seen.hardware, terminal).map_err(Refusal::from)?;
    match ended.how {
        End::PoweredOff => Ok(()),
        _ => Err(failed(&ended, None)),
    }
}

fn shell_root(seen: &Seen, greeting: &str, programs: &[PathBuf]) -> Result<Initramfs, Refusal> {
    let mut lines = seen.setting.as_ref().map_or_else(Vec::new, |it| it.commands(seen.disk));
    lines.push(greeting.to_owned());
    let busybox = find_busybox()?;
    let root = Initramfs::interactive(busybox, &lines.join("\n")).at_path("read", busybox)?;
    let mut root = with_this_program(root)?;
    for program in programs {
        add_program(&mut root, program)?;
    }
    Ok(root)
}

/// Lines of a shell that say where the user is.
fn greeting(kernel: &Kernel, spec: &DriveSpec, seen: &Seen) -> String {
    let disk = seen.disk;
    format!(
        "export PS1='guest# '\n\
         cat <<'END'\n\
         Linux {}; the disk is /dev/{disk}: {spec}.\n\
         Look around: dmesg, ls /sys/block/{disk}/queue, drivelab inspect {disk},\n\
         \u{20} drivelab run /dev/{disk} --rw randread --runtime 5s\n\
         End with poweroff or Ctrl-C; nothing is kept.\n\
         END\n",
        kernel.release
    )
}
