/** A server that sends its archives to a bucket, and a machine that has nothing but the bucket. */
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { runCommand } from "../cli/commands.ts"
import { refuse, startS3 } from "../storage/bucket/server.ts"
import { everyByteOf, readServerFile, Server, temporaryFolder } from "./program.ts"

describe("A server with a bucket", () => {
  it("sends its archives there, from which another machine is restored; the secret is nowhere", async () => {
    const temporary = await temporaryFolder()
    const s3 = await startS3("laurel/")
    const { accessKeyId, endpoint, secretAccessKey: secret } = s3.place
    onTestFinished(s3.stop)
    const settings = {
      LAUREL_ARCHIVE_BUCKET: "s3://archives/laurel",
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secret,
    }
    const said: Array<string> = []
    const laurel = async (folder: string, args: ReadonlyArray<string>, more = {}) => {
      const end = await Effect.runPromise(
        runCommand(["snapshots", ...args], folder, { ...settings, ...more }),
      )
      said.push(end.stdout, end.stderr)
      return end
    }
    const folder = join(temporary, "data")
    const server = await Server.start(folder, settings)
    const key = await server.createKey()
    await server.request(key, "POST", "/v1/events", { userId: "ada", action: "A" })
    const id = (await laurel(folder, ["create"])).stdout.trim()
    await server.stderr.waitFor(new RegExp(`"message":"Archives were shipped".*${id}`))
    expect(await s3.keys()).toContain(`laurel/archives/${id}.request.json`)
    const { adminUrl } = await readServerFile(folder)
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/laurel_shipped_archives_total\{outcome="sent"\} 1\n/)
    expect(metrics).toMatch(/laurel_shipped_archive_age_seconds \d/)
    expect(await server.stop()).toBe(0)
    said.push(server.stderr.text, server.stdout.text, metrics)

    const both = await laurel(folder, ["list", "--json"])
    expect(JSON.parse(both.stdout)).toMatchObject([
      { id, inBucket: true, folder: join(folder, "archive", id), users: 1 },
    ])
    await rm(join(folder, "archive", id), { recursive: true })
    const table = await laurel(folder, ["list"])
    expect(table.stdout.split("\n")[2]).toMatch(new RegExp(`1 .* request .* bucket +${id}$`))

    // The other machine.
    const other = join(temporary, "other")
    expect(JSON.parse((await laurel(other, ["list", "--json"])).stdout)).toMatchObject([
      { id, inBucket: true, folder: null },
    ])
    expect((await laurel(other, ["verify", "--bucket"])).stdout).toContain("is good")
    const unknown = await laurel(other, ["restore", "x", "--yes"])
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      `Data directory: ${other}\nlaurel: Archive x not found. \`laurel snapshots list\` shows all.\n`,
    ])
    expect(await readdir(temporary)).toEqual(["data"])
    const restored = await laurel(other, ["restore", "newest", "--yes"])
    expect([restored.code, restored.stderr]).toEqual([
      0,
      expect.stringMatching(/The archive \(.+\) will be fetched from s3:\/\/archives\/laurel\.\n/),
    ])
    expect(restored.stdout).toContain("Restored: 1 user")
    expect(await readdir(join(other, "archive"))).toEqual([id])

    // Faults, in words and codes for scripts; what is here is listed all the same.
    const wrong = await laurel(other, ["list"], { AWS_SECRET_ACCESS_KEY: "wr0ng" })
    expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([
      78,
      expect.stringContaining(id),
      expect.stringContaining("check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ])
    const third = join(temporary, "third")
    s3.fault = (_, response) => refuse(response, 403, "RequestTimeTooSkewed", `${secret} is late`)
    const late = await laurel(third, ["restore", "newest", "--yes"])
    expect([late.code, late.stderr]).toEqual([
      78,
      expect.stringContaining(`${endpoint} refuses this machine's clock: set it`),
    ])
    const bytes = `${said.join("\n")}${await everyByteOf(temporary)}`
    for (const text of [secret, "wr0ng"]) expect(bytes.includes(text)).toBe(false)
  })
})
