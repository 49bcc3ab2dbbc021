-- Labels that a job demands of its workers: a JSON list of NAME=VALUE, or null.
ALTER TABLE shards ADD COLUMN labels TEXT;
