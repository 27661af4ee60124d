import { createSocket, type Socket } from "node:dgram"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { makeResolve, parseHosts } from "../../../src/webhooks/send/Resolver.ts"

const ends: Array<() => void> = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A name server on loopback that knows IPv4 addresses of names; `null` is silence. */
const nameServer = async (names: Record<string, ReadonlyArray<string> | null>) => {
  const asked: Array<string> = []
  const socket: Socket = createSocket("udp4")
  socket.on("message", (query, from) => {
    const labels: Array<string> = []
    let at = 12
    while (query[at]! > 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!))
      at += 1 + query[at]!
    }
    const question = query.subarray(12, at + 5)
    const name = labels.join(".").toLowerCase()
    const type = query.readUInt16BE(at + 1)
    asked.push(`${name} ${type === 1 ? "A" : "AAAA"}`)
    const known = names[name]
    if (known === null) return
    const answers = type === 1 ? (known ?? []) : []
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | (known === undefined ? 3 : 0), 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(answers.length, 6)
    const records = answers.map((address) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
    )
    socket.send(Buffer.concat([header, question, ...records]), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", () => resolve()))
  ends.push(() => socket.close())
  return { asked, server: `127.0.0.1:${socket.address().port}` }
}

const noHosts = { hostsFile: "/nonexistent/hosts" }

describe("A host's addresses", () => {
  it("are all addresses that the name server returns, resolved each time", async () => {
    const { asked, server } = await nameServer({ "receiver.test": ["192.0.2.1", "192.0.2.2"] })
    const resolve = makeResolve({ servers: [server], ...noHosts })
    for (let round = 0; round < 2; round++) {
      expect(await resolve("Receiver.test.")).toEqual(["192.0.2.1", "192.0.2.2"])
    }
    expect(asked.toSorted()).toEqual([
      "receiver.test A",
      "receiver.test A",
      "receiver.test AAAA",
      "receiver.test AAAA",
    ])
  })

  it("are none if the name is unknown or has no address", async () => {
    const { server } = await nameServer({ "empty.test": [] })
    const resolve = makeResolve({ servers: [server], ...noHosts })
    expect(await resolve("unknown.test")).toEqual([])
    expect(await resolve("empty.test")).toEqual([])
  })

  it("include those of the hosts file; localhost is loopback", async () => {
    const { asked, server } = await nameServer({})
    const folder = mkdtempSync(join(tmpdir(), "laurel-hosts-"))
    ends.push(() => rmSync(folder, { recursive: true }))
    const hostsFile = join(folder, "hosts")
    writeFileSync(hostsFile, "# a comment\n192.0.2.7 Listed.test other.test # more\nnonsense x\n")
    const resolve = makeResolve({ servers: [server], hostsFile })
    expect(await resolve("listed.test")).toEqual(["192.0.2.7"])
    for (const name of ["localhost", "LOCALHOST.", "a.localhost"]) {
      expect(await resolve(name)).toEqual(["127.0.0.1", "::1"])
    }
    expect(asked).toEqual([])
  })
})

describe("A hosts file", () => {
  it("lists names by address, in any case, with comments", () => {
    const hosts = parseHosts(
      "127.0.0.1 localhost\n::1 localhost ip6-localhost\n\n#1.2.3.4 no\nx y\n",
    )
    expect([...hosts]).toEqual([
      ["localhost", ["127.0.0.1", "::1"]],
      ["ip6-localhost", ["::1"]],
    ])
  })
})
