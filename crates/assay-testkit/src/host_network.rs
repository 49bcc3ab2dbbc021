//! Hosts of a network that exists for one test: each in a network namespace of its own, all on one bridge.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::own_namespaces::{allows, run_again};

/// Environment variable of the test that runs in namespaces of its own.
const INSIDE: &str = "ASSAY_TEST_HOST_NETWORK";
/// Shell commands that create the bridge, at the first address of the network.
const BRIDGE: &str = "mount -t tmpfs none /run && ip link set lo up && ip link add bridge0 type bridge && \
                      ip addr add 10.77.0.1/24 dev bridge0 && ip link set bridge0 up";

/// A network. The test itself is on its bridge, and reaches every host.
#[derive(Debug)]
pub struct HostNetwork {
    hosts: AtomicU8,
}

/// A host of a network.
#[derive(Debug)]
pub struct NetHost {
    name: &'static str,
    address: Ipv4Addr,
}

impl HostNetwork {
    /// Runs `body` with a new network. The current test program is started again for the single test `name` (its path,
    /// as printed by the test harness), in namespaces with which the network disappears.
    ///
    /// # Panics
    /// Panics if the test fails there, or this user cannot create network namespaces, not even in a user namespace.
    #[track_caller]
    pub fn run(name: &str, body: impl FnOnce(&Self)) {
        if std::env::var_os(INSIDE).is_some() {
            return body(&Self { hosts: AtomicU8::new(1) });
        }
        let works =
            |namespaces: &[&str]| allows(namespaces, &format!("{BRIDGE} && ip netns add try && ss -K dst 10.77.0.9"));
        // Without root, a user namespace is needed.
        let namespaces = if works(&["-m", "-n"]) { &["-m", "-n"][..] } else { &["-r", "-m", "-n"] };
        let needs =
            "this test creates network namespaces: it needs ip and ss (Debian's iproute2), and root or user namespaces";
        assert!(works(namespaces), "{needs}");
        run_again(name, namespaces, BRIDGE, (INSIDE, Path::new("1")));
    }

    /// Adds a host.
    #[must_use]
    pub fn host(&self, name: &'static str) -> NetHost {
        let address = Ipv4Addr::new(10, 77, 0, self.hosts.fetch_add(1, Ordering::Relaxed) + 1);
        let host = NetHost { name, address };
        run("ip", &["netns", "add", name]);
        run("ip", &["link", "add", &host.port(), "type", "veth", "peer", "name", "eth0", "netns", name]);
        run("ip", &["link", "set", &host.port(), "master", "bridge0", "up"]);
        run("ip", &["-n", name, "link", "set", "lo", "up"]);
        run("ip", &["-n", name, "addr", "add", &format!("{address}/24"), "dev", "eth0"]);
        run("ip", &["-n", name, "link", "set", "eth0", "up"]);
        host
    }
}

impl NetHost {
    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Runs `action` on this host: the processes and threads that it starts, and the sockets that it opens, are there.
    ///
    /// # Panics
    /// Panics if `action` does.
    pub fn within<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(Path::new("/run/netns").join(self.name)).unwrap();
        let there = || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            action()
        };
        let done = std::thread::scope(|scope| scope.spawn(there).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Unplugs or plugs its cable.
    pub fn plug(&self, is_plugged: bool) {
        run("ip", &["link", "set", &self.port(), if is_plugged { "up" } else { "down" }]);
    }

    /// Loses (or no longer loses) everything that it sends to `other`, while what `other` sends arrives.
    pub fn lose_to(&self, other: &Self, is_lost: bool) {
        let address = other.address.to_string();
        if is_lost {
            // The hardware address of no host.
            let nobody = ["lladdr", "02:00:00:00:00:01", "nud", "permanent"];
            run("ip", &[&["-n", self.name, "neigh", "replace", &address, "dev", "eth0"], &nobody[..]].concat());
        } else {
            run("ip", &["-n", self.name, "neigh", "del", &address, "dev", "eth0"]);
        }
    }

    /// Resets its connections to `other`.
    pub fn reset(&self, other: &Self) {
        run("ip", &["netns", "exec", self.name, "ss", "-K", "dst", &other.address.to_string()]);
    }

    /// Returns the name of its port on the bridge.
    fn port(&self) -> String {
        format!("to-{}", self.name)
    }
}

#[track_caller]
fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}
