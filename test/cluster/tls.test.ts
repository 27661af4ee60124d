/** A server of a cluster whose PostgreSQL has a certificate of its operator's own authority. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import os from "node:os"
import path from "node:path"
import { Effect, Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PgConnection } from "../../src/storage/postgres/PgConnection.ts"
import { checkServer } from "../../src/storage/postgres/ServerCheck.ts"
import { authority } from "../storage/postgres/certificates.ts"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { authority as otherAuthority } from "../webhooks/certificates.ts"
import { eventually, Runner } from "./Runner.ts"

describe("A server that reaches PostgreSQL by TLS", () => {
  let postgres: Postgres
  let folder: string

  beforeAll(async () => {
    postgres = await Postgres.makeWithTls()
    folder = mkdtempSync(path.join(os.tmpdir(), "laurel-tls-"))
    writeFileSync(path.join(folder, "ca.pem"), authority)
    writeFileSync(path.join(folder, "other.pem"), otherAuthority)
  })

  afterAll(async () => {
    await postgres?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  const address = (tls: string) =>
    `${postgres.urlOf("public")}&${tls.replace("FOLDER", encodeURIComponent(folder))}`

  it("serves, with all its sessions encrypted", async () => {
    const url = address("sslmode=verify-full&sslrootcert=FOLDER/ca.pem")
    const runner = await Runner.make({ LAUREL_CLUSTER: url })
    try {
      await runner.start()
      await eventually("its partitions", async () => ((await runner.serves()) ? true : undefined))
      const [sessions] = await postgres.query(
        `SELECT count(*)::int AS all, count(*) FILTER (WHERE ssl)::int AS encrypted FROM pg_stat_ssl
        JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'laurel%'`,
      )
      expect(sessions!.all).toBeGreaterThan(0)
      expect(sessions!.encrypted).toBe(sessions!.all)
    } finally {
      await runner.remove()
    }
  })

  it.each([
    ["sslmode=verify-full", /unable to (verify|get)/],
    ["sslmode=verify-full&sslrootcert=FOLDER/other.pem", /unable to (verify|get)/],
    ["sslmode=verify-ca&sslrootcert=FOLDER/other.pem", /unable to (verify|get)/],
    ["sslmode=verify-full&sslrootcert=FOLDER/none.pem", /LAUREL_CLUSTER: ENOENT.*none.pem/],
  ])("ends its start with 78 and the reason for %s", async (tls, words) => {
    const runner = await Runner.make({ LAUREL_CLUSTER: address(tls) })
    try {
      await expect(runner.start()).rejects.toThrow(words)
      expect(await runner.process.ended).toBe(78)
    } finally {
      await runner.remove()
    }
  })

  it.each([
    // As in libpq: encrypted, the server's certificate is not verified.
    "sslmode=require",
    "sslmode=require&sslrootcert=FOLDER/ca.pem",
    "sslmode=verify-ca&sslrootcert=FOLDER/ca.pem",
  ])("takes %s without a warning", async (tls) => {
    const warnings: Array<Error> = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on("warning", warn)
    const connection = new PgConnection({ url: address(tls) })
    try {
      const text = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
      expect(await Effect.runPromise(connection.run({ text }))).toEqual([{ ssl: true }])
    } finally {
      await Effect.runPromise(connection.close)
      process.off("warning", warn)
    }
    expect(warnings).toEqual([])
  })

  it("checks the host's name with verify-full alone", async () => {
    const { port } = postgres
    const named = (mode: string) =>
      `postgres://laurel@localhost:${port}/postgres?sslmode=${mode}&sslrootcert=${folder}/ca.pem`
    const check = (mode: string) => Effect.runPromise(Effect.result(checkServer(named(mode))))
    expect(Result.isSuccess(await check("verify-ca"))).toBe(true)
    expect(await check("verify-full")).toMatchObject({ failure: { isRefusal: true } })
  })
})
