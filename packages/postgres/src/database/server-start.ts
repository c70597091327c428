/** SQL of when the server was started, in microseconds since 1970: no two have the same time. */
export const SERVER_START = "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";
