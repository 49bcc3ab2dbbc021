-- What only matters while several processes share the records. The tables are not logged: a crash of the server empties
-- them, and the processes meet again within a second.

-- The identity of these records, which a data folder remembers.
CREATE TABLE site (id uuid NOT NULL DEFAULT gen_random_uuid());
INSERT INTO site DEFAULT VALUES;

CREATE UNLOGGED TABLE server_processes (
    process  uuid PRIMARY KEY,
    bulletin text NOT NULL,                        -- JSON, as another version may write it
    met_at   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The process that does the upkeep, at most one row.
CREATE UNLOGGED TABLE site_leader (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    process     uuid NOT NULL,
    leads_until timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE UNLOGGED TABLE request_counts (
    name           text COLLATE "C" NOT NULL,      -- key and kind of request
    counted_window bigint NOT NULL,
    requests       bigint NOT NULL,
    PRIMARY KEY (name, counted_window)
) WITH (fillfactor = 50);
