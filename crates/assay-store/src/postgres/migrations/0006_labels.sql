-- Labels that a job demands of its workers: a JSON list of NAME=VALUE, or null. Programs of the version before do not know
-- of them, and give such a job to any worker.
ALTER TABLE shards ADD COLUMN labels text;
