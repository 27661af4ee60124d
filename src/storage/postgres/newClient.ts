/**
 * The client of one session, for an address that is read as libpq reads it, PostgreSQL's own library: `sslmode=require` encrypts,
 * `verify-ca` also checks the server's certificate against `sslrootcert`, `verify-full` its host name, too.
 *
 * By default `pg` takes all three for `verify-full`, and warns that this will change. The files of certificates are read with each
 * session, so that a replaced one needs no restart.
 */
import pg from "pg"
import { limits } from "../../Limits.ts"

/** `options` are those of `pg`; throws where the address names a file that cannot be read. */
export const newClient = (url: string, options: pg.ClientConfig): pg.Client =>
  new pg.Client({
    ...options,
    connectionString: `${url}${url.includes("?") ? "&" : "?"}uselibpqcompat=true`,
    connectionTimeoutMillis: limits.postgresConnectMs,
  })
