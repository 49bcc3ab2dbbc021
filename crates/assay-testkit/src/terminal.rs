//! Runs the program in a terminal of a given width.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::Assay;

impl Assay {
    /// Runs the program to its end and returns its output to a terminal of this width, with the line ends of files.
    ///
    /// # Panics
    /// Panics if the system provides no terminal.
    #[must_use]
    pub fn in_terminal(&self, columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal =
            rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let stdio = |terminal: &OwnedFd| Stdio::from(terminal.try_clone().unwrap());
        let mut command = Command::new(self.program());
        command.args(arguments).env_remove("NO_COLOR").envs(self.environment()).envs(environment.iter().copied());
        command.current_dir(self.path("")).stdin(Stdio::null()).stdout(stdio(&terminal)).stderr(stdio(&terminal));
        let mut child = command.spawn().unwrap();
        // Closes this process's ends of the terminal, so that reading ends when those of the child are closed.
        drop((command, terminal));
        let reader = thread::spawn(move || {
            let mut written = Vec::new();
            // The end of a terminal is reported as an error.
            drop(File::from(master).read_to_end(&mut written));
            String::from_utf8_lossy(&written).replace("\r\n", "\n")
        });
        child.wait().unwrap();
        reader.join().unwrap()
    }
}
