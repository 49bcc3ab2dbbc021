//! Jails around programs of the host, and the copies that they read.

mod jail;
mod stage;
mod work_limit;
