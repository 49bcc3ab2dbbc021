//! Several servers that share a database and a data folder, as behind a load balancer.

use std::fs;
use std::time::Duration;

use assay_model::{JobStatus, ReviewReason, Sha256Digest, Verdict};
use assay_testkit::{Assay, Client, PATIENCE, Postgres, Server, example, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::connecting::caller::{self, Caller};
use crate::serve::events::Curl;
use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, STOP_LIMIT, assay, has_production_intervals};

/// Maximum time until a server knows what another one told.
const TOLD: Duration = PATIENCE;
/// Maximum time until the shards of a killed server run elsewhere: its lease, and the work itself.
const TAKEN_OVER: Duration = PATIENCE;

/// Pause between two requests that count towards a limit.
const PAUSE: Duration = Duration::from_millis(100);

/// Settings with limits that tests reach.
const LIMITS: &[&str] =
    &["limits.rate.verify_per_minute=6", "limits.rate.get_per_minute=60", "limits.account.streams=2"];

/// The lease of a lane, which its job waits for if its server is killed.
const SHORT_LEASE: &[&str] = &["intervals.lane_lease_s=4"];

/// Two servers of a site.
struct Site {
    assay: Assay,
    url: String,
    key: String,
    settings: &'static [&'static str],
}

impl Site {
    fn new(settings: &'static [&'static str]) -> Self {
        Self { assay: assay(), url: Postgres::shared().database(), key: String::new(), settings }
    }

    fn serve(&mut self, lanes: &str) -> (Server, Client) {
        let mut more = vec!["--store", &self.url, "--lanes", lanes, "--log-level", "info"];
        more.extend(self.settings.iter().flat_map(|setting| ["--set", setting]));
        let server = self.assay.serve(&self.assay.path("data"), &more);
        self.key = fs::read_to_string(self.assay.path("data/bootstrap-key")).unwrap().trim().to_owned();
        let client = server.client(&self.key);
        (server, client)
    }

    fn sql(&self, statement: &str) -> String {
        let database = self.url.rsplit('/').next().unwrap();
        Postgres::shared().sql(database, statement)
    }

    fn leader(&self) -> String {
        self.sql("SELECT process FROM site_leader")
    }
}

fn cartpole(episodes: &str) -> [(&'static str, &str); 3] {
    [("scenario", CARTPOLE), ("num_episodes", episodes), ("record", "none")]
}

fn slow() -> Vec<u8> {
    assay_testkit::archive(&[("policy.py", SLOW)])
}

#[test]
fn servers_of_a_site_answer_as_one() {
    let mut site = Site::new(&[]);
    let (first, a) = site.serve("1");
    let (second, b) = site.serve("0");
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let post = |client: &Client| client.try_verify_once("same", &zip, &cartpole("4")).unwrap();
    let (one, other) = (post(&a), post(&b));
    assert_eq!((one.status, &one.body["job_id"]), (other.status, &other.body["job_id"]), "one job: {}", other.text);
    let id = one.body["job_id"].as_str().unwrap();
    // The lane is at the first server; its progress and its end are known at the second.
    let job = b.ended_job(id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    // The page has links that end at different seconds; the document is the same.
    let report = |client: &Client| client.get(&format!("/verify/{id}/report.json")).text;
    assert_eq!(report(&a), report(&b));

    let running = a.verify(&slow(), &cartpole("2"));
    let waiting: Vec<_> = (0..3).map(|_| b.verify(&zip, &cartpole("4"))).collect();
    let mut stream = Curl::follow(second.address(), &site.key, &running, None);
    let told = std::iter::from_fn(|| stream.event())
        .find(|(_, data)| data["message"].as_str().is_some_and(|text| text.contains("is at step")));
    assert!(told.is_some(), "steps of an episode at the first server are told by the second");
    for id in &waiting {
        let position = |client: &Client| client.get(&format!("/verify/{id}")).body["queue_position"].clone();
        wait_for("one position", TOLD, || (position(&a) == position(&b)).then_some(()));
        assert!(position(&a).is_u64(), "{}", position(&a));
    }
    for id in waiting.iter().chain([&running]) {
        assert_eq!(b.post(&format!("/verify/{id}/cancel")).status, 200);
        assert_eq!(a.ended_job(id, JOB_LIMIT).status, JobStatus::Cancelled);
    }
    assert_eq!(second.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assert_eq!(first.stop(Signal::TERM, STOP_LIMIT).code, 0);
    site.assay.assert_clean();
}

#[test]
fn a_policy_that_connects_is_evaluated_by_the_server_that_it_reaches() {
    let mut site = Site::new(&[]);
    let (first, a) = site.serve("1");
    let connects = [("connect", "true"), ("scenario", CARTPOLE), ("num_episodes", "4"), ("record", "none")];
    let id = a.verify_server(&connects);
    let waits = |client: &Client| {
        let waits = || client.get(&format!("/verify/{id}")).body["waiting_for"] == "its policy, which is not connected";
        wait_for("an episode that waits for its policy", JOB_LIMIT, || waits().then_some(()));
    };
    waits(&a);
    let (second, b) = site.serve("1");
    waits(&b);
    // A third server, on another kind of machine, of which only the others know.
    let other = "f".repeat(64);
    let bulletin = json!({"lanes": 1, "machine": other});
    site.sql(&format!(
        "INSERT INTO server_processes VALUES (gen_random_uuid(), '{bulletin}', now() + interval '1 hour')"
    ));
    // The lane of the first server waits, and the policy reaches the second.
    let token = caller::token(&a, &id);
    let mut caller = Caller::open(second.address(), &id, &token).unwrap();
    assert_eq!(Caller::open(first.address(), &id, &token).err(), Some(401), "a used one");
    caller.greet();
    caller.serve_episode();
    drop(caller);
    // A server on another kind of machine than that of the job's episodes cannot run the others.
    // It is known once the episode's result is stored.
    let machine = format!("SELECT machine FROM jobs JOIN episodes USING (job_id) WHERE job_id = '{id}'");
    let pinned = wait_for("a stored result", JOB_LIMIT, || Some(site.sql(&machine)).filter(|found| !found.is_empty()));
    let pin = |machine: &str| site.sql(&format!("UPDATE jobs SET machine = '{machine}' WHERE job_id = '{id}'"));
    pin(&other);
    assert_eq!(Caller::open(first.address(), &id, &caller::token(&a, &id)).err(), Some(503), "another kind of machine");
    pin(&pinned);
    // The next connection reaches the first one, whose lane runs the rest.
    let mut caller = Caller::greeted(first.address(), &b, &id);
    caller.serve_episode();
    // It notices late that it cannot, and closes the connection after the running episode.
    pin(&other);
    wait_for("a closed connection", TOLD, || first.log().contains("closing the connection of a policy").then_some(()));
    pin(&pinned);
    caller.serve_episode();
    assert!(caller.receive().is_err(), "the connection is closed before the job's end");
    let mut caller = Caller::greeted(first.address(), &b, &id);
    let (third, c) = site.serve("0");
    assert_eq!(Caller::open(third.address(), &id, &caller::token(&c, &id)).err(), Some(503), "a server without lanes");
    caller.serve_episode();
    let job = c.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.progress.episodes_done), (JobStatus::Completed, 4), "{:?}", job.error_message);
    assert!(job.episode_details.iter().all(|episode| episode.error.is_none() && episode.trace_hash.is_some()));
    assert_eq!(job.review_reasons, [ReviewReason::DeclaredIdentity], "no attempt was replaced");
    for server in [third, second, first] {
        assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    }
    site.assay.assert_clean();
}

/// Returns the number of the current window of requests.
fn minute() -> i64 {
    assay_model::Clock::now(&assay_model::SystemClock).as_second() / 60
}

/// Does something with the key of an account of its own, again with another one if that took two windows of requests.
fn within_a_minute<T>(site: &Site, scopes: &[&str], mut action: impl FnMut(&str) -> T) -> T {
    let scopes = scopes.join(",");
    for number in 0.. {
        let account = format!("lab{number}-{}", scopes.len());
        let command = ["keys", "create", "--account", &account, "--scopes", &scopes];
        let key = site.assay.run(&[&command[..], &["--data", "data", "--store", &site.url]].concat());
        assert_eq!(key.code, 0, "{key:?}");
        let began = minute();
        let done = action(key.stdout.trim());
        if minute() == began {
            return done;
        }
    }
    unreachable!("there are more numbers")
}

/// Sends POSTs to both servers at once. Returns how many were accepted and refused, and one of the jobs.
fn post_at_once(clients: &[Client; 2]) -> (usize, usize, String) {
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let post = &|client: &Client| client.try_verify(&zip, &cartpole("1")).unwrap();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let posts: Vec<_> = (0..10).map(|number| scope.spawn(move || post(&clients[number % 2]))).collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    });
    let accepted: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    (accepted.len(), refused, accepted[0].body["job_id"].as_str().unwrap().to_owned())
}

/// Reads at one server, then at the other until it refuses. Returns how many were served there.
fn read_at_both(site: &Site, key: &str, [one, other]: &[Client; 2]) -> u32 {
    const READS: u32 = 40;
    let id = key.split('_').nth(1).unwrap();
    let sql = format!("SELECT coalesce(max(requests), 0) FROM request_counts WHERE name LIKE '%{id}%'");
    let counted = || site.sql(&sql).parse::<u32>().unwrap();
    for _ in 0..READS {
        assert_eq!(one.get("/verify").status, 200);
    }
    wait_for("reads that the first server has told", TOLD, || (counted() >= READS).then_some(()));
    let mut served = 0;
    // It learns of them once a second.
    wait_for("the limit of reads", TOLD, || {
        std::thread::sleep(PAUSE);
        served += 1;
        (other.get("/verify").status == 429).then_some(served)
    })
}

#[test]
fn limits_hold_across_servers() {
    let mut site = Site::new(LIMITS);
    let (first, a) = site.serve("0");
    let (second, _) = site.serve("0");
    let clients = |key: &str| [first.client(key), second.client(key)];
    let (accepted, refused, job) = within_a_minute(&site, &["verify", "read"], |key| post_at_once(&clients(key)));
    assert_eq!((accepted, refused), (6, 4), "POSTs are counted exactly");
    let served = within_a_minute(&site, &["read"], |key| read_at_both(&site, key, &clients(key)));
    assert!(served <= 30, "the second server counts the reads of the first: {served} more were served");

    // The job is of an account whose requests are used up; the administrator reads it as well.
    let follow = |server: &Server| Curl::follow(server.address(), &site.key, &job, None);
    let open = [follow(&first), follow(&second)];
    // Servers tell each other every second. One that is not refused has an event at once.
    wait_for("a stream that is refused", TOLD, || {
        std::thread::sleep(PAUSE);
        follow(&first).event().is_none().then_some(())
    });
    let third = a.get(&format!("/verify/{job}/events"));
    assert!(third.text.contains("2 of 2 streams"), "{}", third.text);
    drop(open);
    assert_eq!(second.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assert_eq!(first.stop(Signal::TERM, STOP_LIMIT).code, 0);
}

#[test]
fn a_killed_server_is_replaced_by_the_other() {
    let mut site = Site::new(if has_production_intervals() { &[] } else { SHORT_LEASE });
    let (first, a) = site.serve("1");
    let led = wait_for("a leader", TOLD, || Some(site.leader()).filter(|leader| !leader.is_empty()));
    let (second, b) = site.serve("1");
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = a.verify(&zip, &cartpole("60"));
    let mut stream = Curl::follow(first.address(), &site.key, &id, None);
    let mut had = Vec::new();
    while had.len() < 6 {
        had.extend(stream.event().unwrap().0);
    }
    let killed = first.into_running();
    killed.signal(Signal::KILL);
    drop(killed.wait(STOP_LIMIT));
    // The follower reconnects to the other server with the number of its last event.
    let mut stream = Curl::follow(second.address(), &site.key, &id, had.last().copied());
    had.extend(stream.rest().into_iter().filter_map(|(number, _)| number));
    let job = b.ended_job(&id, TAKEN_OVER);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert_eq!(job.progress.episodes_done, 60);
    had.dedup();
    let first_number = had[0];
    assert!(had.iter().copied().eq(first_number..=*had.last().unwrap()), "without gap or repetition: {had:?}");
    assert!(wait_for("another leader", TOLD, || Some(site.leader()).filter(|leader| *leader != led)).len() > 8);

    // A server that starts again joins without removing what the other one uses.
    let slow = b.verify(&slow(), &cartpole("1"));
    let (third, c) = site.serve("1");
    assert_eq!(c.get(&format!("/verify/{id}/report")).status, 200);
    assert_eq!(c.post(&format!("/verify/{slow}/cancel")).status, 200);
    assert_eq!(second.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assert_eq!(third.stop(Signal::TERM, STOP_LIMIT).code, 0);

    // The folder does not serve another database.
    let other = Postgres::shared().database();
    let refused = site.assay.begin_serving(&site.assay.path("data"), &["--store", &other]).wait(STOP_LIMIT);
    assert!(refused.code != 0 && refused.stderr.contains("set store.url"), "{refused:?}");
    site.assay.assert_clean();
}

#[test]
fn a_model_is_uploaded_through_several_servers() {
    let mut site = Site::new(&["models.min_chunk_bytes=4"]);
    let (first, a) = site.serve("0");
    let (second, b) = site.serve("0");
    let content = b"0123456789";
    let sha256 = Sha256Digest::of(content);
    let announced = a.post_json("/models", &json!({"sha256": sha256, "size_bytes": content.len()}));
    let upload = announced.body["upload_id"].as_str().unwrap();
    let send = |server: &Server, offset: usize, piece: &[u8]| {
        ureq::patch(format!("http://{}/models/{upload}", server.address()))
            .config()
            .http_status_as_error(false)
            .build()
            .header("Authorization", &format!("Bearer {}", site.key))
            .header("Upload-Offset", offset.to_string())
            .content_type("application/offset+octet-stream")
            .send(piece)
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(send(&first, 0, &content[..4]), 200, "{}", announced.text);
    assert_eq!(send(&second, 4, &content[4..8]), 200);
    assert_eq!(send(&first, 4, &content[4..8]), 409, "the offset is that of all servers");
    assert_eq!(send(&first, 8, &content[8..]), 200);
    let model = b.get(&format!("/models/{sha256}"));
    assert_eq!((model.status, &model.body["state"]), (200, &Value::from("READY")), "{}", model.text);
    let locks: Vec<_> =
        fs::read_dir(site.assay.path("data/locks")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(locks, ["models"], "locks of uploads are deleted");
    assert_eq!(second.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assert_eq!(first.stop(Signal::TERM, STOP_LIMIT).code, 0);
}
