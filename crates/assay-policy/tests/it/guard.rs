//! The address guard, tested through a fake resolver. The tests connect to loopback addresses only.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_policy::remote::guard::{AddressClass, AddressGuard, DialError, Resolve, Resolver, standing};
use assay_policy::remote::{EndpointError, ServerEndpoint};

/// A name service with a few names, and a machine with one public address.
#[derive(Debug, Default)]
struct Names {
    looked_up: AtomicUsize,
}

const OWN: &str = "8.8.4.4";

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolve<'a> {
        let turn = self.looked_up.fetch_add(1, Ordering::SeqCst);
        let found: &[&str] = match (name, turn) {
            ("public.test", _) => &["8.8.8.8", "2606:4700::1111"],
            ("private.test", _) => &["10.0.0.5"],
            ("mixed.test", _) => &["8.8.8.8", "127.0.0.1"],
            ("mapped.test", _) => &["::ffff:169.254.169.254"],
            ("own.test", _) => &[OWN],
            ("nothing.test", _) => &[],
            // Public at the first look-up, private at the next.
            ("turns.test", 0) => &["8.8.8.8"],
            ("turns.test", _) => &["192.168.1.1"],
            _ => return Box::pin(async { Err(io::Error::new(io::ErrorKind::NotFound, "no such name")) }),
        };
        Box::pin(async move { Ok(found.iter().map(|text| text.parse().unwrap()).collect()) })
    }

    fn is_own(&self, ip: IpAddr) -> bool {
        ip.to_string() == OWN
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns `ok`, or the kind of refusal.
fn verdict(guard: &AddressGuard, url: &str) -> &'static str {
    let endpoint = match ServerEndpoint::parse(url) {
        Ok(endpoint) => endpoint,
        Err(EndpointError::Scheme) => return "scheme",
        Err(_) => return "no url",
    };
    match runtime().block_on(guard.vet(&endpoint)) {
        Ok(_) => "ok",
        Err(DialError::Port(..)) => "port",
        Err(DialError::Never(..)) => "never",
        Err(DialError::Closed(..)) => "closed",
        Err(DialError::NoAddress(_)) => "no address",
        Err(DialError::LookUp(..)) => "look-up",
        Err(DialError::Connect(..) | DialError::Peer(..)) => "connect",
    }
}

#[test]
fn every_form_of_an_address_is_classified() {
    let guard = AddressGuard::with_resolver(Vec::new(), Arc::new(Names::default()));
    let table = [
        // All forms of loopback addresses.
        ("http://127.0.0.1:8000", "closed"),
        ("http://127.1:8000", "closed"),
        ("http://2130706433:8000", "closed"),
        ("ws://0x7f.1:8000", "closed"),
        ("ws://0x7f000001:8000", "closed"),
        ("http://0177.0.0.1:8000", "closed"),
        ("http://017700000001:8000", "closed"),
        ("http://127.0.0.1.:8000", "closed"),
        ("http://%31%32%37.0.0.1:8000", "closed"),
        ("http://①②⑦.0.0.1:8000", "closed"),
        ("http://127。0。0。1:8000", "closed"),
        ("http://[::1]:8000", "closed"),
        ("http://[0:0:0:0:0:0:0:1]:8000", "closed"),
        ("http://[::ffff:127.0.0.1]:8000", "closed"),
        ("http://[::ffff:7f00:1]:8000", "closed"),
        ("http://[::127.0.0.1]:8000", "closed"),
        ("http://[64:ff9b::127.0.0.1]:8000", "closed"),
        ("http://[64:ff9b:1::7f00:1]:8000", "closed"),
        ("http://[2002:7f00:1::]:8000", "closed"),
        ("http://[::ffff:0:127.0.0.1]:8000", "closed"),
        ("http://[2606:4700::200:5efe:127.0.0.1]:8000", "closed"),
        ("http://user:password@127.0.0.1:8000", "closed"),
        ("http://8.8.8.8@127.0.0.1:8000", "closed"),
        // Private, shared, documentation, benchmarks.
        ("ws://10.255.255.255:8000", "closed"),
        ("ws://100.64.0.1:8000", "closed"),
        ("ws://100.127.255.255:8000", "closed"),
        ("ws://172.16.0.1:8000", "closed"),
        ("ws://172.31.255.255:8000", "closed"),
        ("ws://192.168.0.1:8000", "closed"),
        ("ws://192.0.0.8:8000", "closed"),
        ("ws://192.0.2.1:8000", "closed"),
        ("ws://198.18.0.1:8000", "closed"),
        ("ws://198.19.255.255:8000", "closed"),
        ("ws://198.51.100.1:8000", "closed"),
        ("ws://203.0.113.9:8000", "closed"),
        ("ws://[fc00::1]:8000", "closed"),
        ("ws://[fdff::1]:8000", "closed"),
        ("ws://[100::1]:8000", "closed"),
        ("ws://[2001::f7f7:f7f7]:8000", "closed"),
        ("ws://[2001:db8::1]:8000", "closed"),
        ("ws://[4000::1]:8000", "closed"),
        // Never open.
        ("http://169.254.169.254/latest/meta-data", "never"),
        ("http://[::ffff:169.254.169.254]/", "never"),
        ("http://[64:ff9b::a9fe:a9fe]/", "never"),
        ("http://[2002:a9fe:a9fe::]/", "never"),
        ("http://168.63.129.16/", "never"),
        ("http://100.100.100.200/", "never"),
        ("http://[fd00:ec2::254]/", "never"),
        ("http://[fd00:ec2::23]/", "never"),
        ("http://[fd20:ce::254]/", "never"),
        ("http://[fd00:c1::a9fe:a9fe]/", "never"),
        ("http://[fd00:42::42]/", "never"),
        ("http://192.0.0.192/", "never"),
        ("http://[::ffff:0:169.254.169.254]/", "never"),
        ("http://[::169.254.169.254]/", "never"),
        ("http://[2001:0:4136:e378:8000:63bf:5601:5601]/", "never"),
        ("http://[2606:4700::5efe:169.254.169.254]/", "never"),
        ("http://[fe80::1]/", "never"),
        ("http://0.0.0.0:8000", "never"),
        ("http://0:8000", "never"),
        ("http://[::]:8000", "never"),
        ("http://224.0.0.1/", "never"),
        ("http://255.255.255.255/", "never"),
        ("http://[ff02::1]/", "never"),
        // Addresses next to the ranges, and names.
        ("ws://8.8.8.8:8000", "ok"),
        ("ws://100.63.255.255:8000", "ok"),
        ("ws://100.128.0.1:8000", "ok"),
        ("ws://172.15.255.255:8000", "ok"),
        ("ws://172.32.0.1:8000", "ok"),
        ("ws://198.17.255.255:8000", "ok"),
        ("ws://198.20.0.1:8000", "ok"),
        ("ws://[2606:4700::1111]:8000", "ok"),
        ("wss://public.test/path", "ok"),
        ("wss://private.test", "closed"),
        ("wss://mixed.test", "closed"),
        ("wss://mapped.test", "never"),
        ("wss://own.test", "closed"),
        ("wss://nothing.test", "no address"),
        ("wss://unknown.test", "look-up"),
        // Ports and schemes.
        ("http://public.test:22", "port"),
        ("http://public.test:25", "port"),
        ("ws://public.test:5432", "port"),
        ("ws://public.test:6379", "port"),
        ("ftp://public.test", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("http://", "no url"),
        ("http://256.1.1.1:8000", "no url"),
        ("http://[::1", "no url"),
    ];
    assert!(table.len() >= 40);
    for (url, expected) in table {
        assert_eq!(verdict(&guard, url), expected, "{url}");
    }
}

#[test]
fn a_name_that_changes_is_judged_at_every_connection() {
    let guard = AddressGuard::with_resolver(Vec::new(), Arc::new(Names::default()));
    assert_eq!(verdict(&guard, "ws://turns.test"), "ok");
    assert_eq!(verdict(&guard, "ws://turns.test"), "closed");
}

#[test]
fn a_literal_address_never_reaches_the_name_service() {
    let names = Arc::new(Names::default());
    let guard = AddressGuard::with_resolver(Vec::new(), Arc::clone(&names) as Arc<dyn Resolver>);
    for url in ["http://8.8.8.8", "http://134744072", "http://0x08.8.8.8", "http://[2606:4700::1111]"] {
        assert_eq!(verdict(&guard, url), "ok", "{url}");
    }
    assert_eq!(names.looked_up.load(Ordering::SeqCst), 0);
}

#[test]
fn an_operator_opens_networks_but_never_the_metadata_services() {
    let open = ["127.0.0.0/8", "0.0.0.0/0", "::/0"].map(|text| text.parse().unwrap());
    let everything = AddressGuard::with_resolver(open[1..].to_vec(), Arc::new(Names::default()));
    for url in ["ws://127.0.0.1", "ws://10.0.0.1", "ws://[::1]", "ws://own.test", "ws://mixed.test"] {
        assert_eq!(verdict(&everything, url), "ok", "{url}");
    }
    let never = [
        "[64:ff9b::a9fe:a9fe]",
        "[::ffff:0:169.254.169.254]",
        "[fd20:ce::254]",
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "0.0.0.0",
    ];
    for host in never {
        assert_eq!(verdict(&everything, &format!("ws://{host}")), "never", "{host}");
    }
    assert_eq!(verdict(&everything, "ws://127.0.0.1:22"), "port");
    let loopback = AddressGuard::with_resolver(open[..1].to_vec(), Arc::new(Names::default()));
    assert_eq!(verdict(&loopback, "ws://127.0.0.1"), "ok");
    assert_eq!(verdict(&loopback, "ws://[::ffff:127.0.0.1]"), "ok");
    assert_eq!(verdict(&loopback, "ws://10.0.0.1"), "closed");
    assert_eq!(verdict(&loopback, "ws://mixed.test"), "ok");
}

#[test]
fn a_client_gets_the_same_message_for_every_reason() {
    let guard = AddressGuard::with_resolver(Vec::new(), Arc::new(Names::default()));
    let refusal = |url: &str| runtime().block_on(guard.vet(&ServerEndpoint::parse(url).unwrap())).unwrap_err();
    let urls = ["ws://private.test", "ws://unknown.test", "ws://own.test"];
    let messages = urls.map(|url| guard.client_message(&refusal(url)));
    assert!(
        messages.iter().all(|text| text == &messages[0] && text.starts_with("the policy server can't be reached")),
        "{messages:?}"
    );
    assert!(!messages[0].contains("10.0.0.5"), "{messages:?}");
    let in_full = refusal("ws://private.test").in_full();
    assert!(in_full.contains("10.0.0.5") && in_full.contains("--policy-networks"), "{in_full}");
}

#[test]
fn a_connection_goes_to_the_judged_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("IPv4") };
    let endpoint = ServerEndpoint::parse(&format!("ws://{address}")).unwrap();
    runtime().block_on(async {
        let open = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let stream = open.dial(&endpoint).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), SocketAddr::V4(address));
        assert!(matches!(AddressGuard::new(Vec::new()).dial(&endpoint).await, Err(DialError::Closed(..))));
    });
    // The refused connection never arrived.
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_ok());
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn the_system_knows_its_own_address() {
    let system = assay_policy::remote::guard::SystemResolver;
    assert!(system.is_own("127.0.0.1".parse().unwrap()));
    assert_eq!(standing("127.0.0.1".parse().unwrap()), AddressClass::Closed("a loopback address"));
}

#[test]
fn an_address_prints_without_its_secrets() {
    let endpoint = ServerEndpoint::parse("https://user:pass@policy.test/base?token=t#f").unwrap();
    assert_eq!(endpoint.to_string(), "https://policy.test:443/base");
    assert_eq!(format!("{endpoint:?}"), "ServerEndpoint(https://policy.test:443/base)");
    assert_eq!(endpoint.in_full(), "https://policy.test:443/base?token=t");
}
