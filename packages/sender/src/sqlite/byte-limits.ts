/** Smaller than this, the schema itself does not fit. */
export const LEAST_BYTES = 262_144;

/** The most that a store in memory holds: SQLite's limit of a file there is 1 GiB. */
export const MAX_BYTES_IN_MEMORY = 1_000_000_000;
