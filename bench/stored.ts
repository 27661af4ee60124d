/**
 * The servers that keep events, as benches of their disk use them: loaded by the best way of each,
 * measured, started again.
 */
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { controls } from "./children.ts"
import { userIdAt } from "./events.ts"
import { fill } from "./fill.ts"
import { checkTotal, serve, startLaurel } from "./laurel.ts"
import { endChild } from "./load/family.ts"
import { peers } from "./peers.ts"
import type { Stored } from "./Subject.ts"

export const bytesIn = (folder: string): number => {
  let bytes = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    // Blocks: LMDB's file may have holes.
    if (entry.isFile()) bytes += statSync(path.join(entry.parentPath, entry.name)).blocks * 512
  }
  return bytes
}

export const bytesOnDisk = ({ folders }: Stored): number =>
  folders.reduce((sum, folder) => sum + bytesIn(folder), 0)

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("No port")
  return address.port
}

const startStoredLaurel = async (): Promise<Stored> => {
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-bench-"))
  const directory = path.join(folder, "data")
  const port = await freePort()
  const laurel = await startLaurel({ directory, settings: { LAUREL_PORT: String(port) } })
  let child = laurel.process
  // Killed with the process of its jobs, which would otherwise scan a folder that may be removed by
  // then.
  const end: Stored["end"] = (how) => endChild(child, how, "SIGTERM")
  return {
    name: "Laurel",
    answer: laurel.answer,
    get roots() {
      return [child.pid!]
    },
    pause: () => controls(child).pause(),
    resume: () => controls(child).resume(),
    stop: async () => {
      await end("in order")
      await laurel.stop()
      rmSync(folder, { recursive: true, force: true })
    },
    check: (answered, unread) => checkTotal(laurel, answered, unread),
    // One caller: each batch follows the reply to the batch before.
    load: (users) => fill(laurel.answer, users, 1),
    // An orderly shutdown writes a full snapshot.
    settle: async () => {},
    folders: [directory],
    end,
    startAgain: async () => {
      child = serve(directory, port)
    },
  }
}

/**
 * Laurel and each peer that can run here, one after the other: `use` has the machine for itself.
 */
export const withEachStored = async <A>(
  use: (stored: Stored) => Promise<A>,
): Promise<ReadonlyArray<A>> => {
  const results: Array<A> = []
  const starts = [startStoredLaurel]
  for (const peer of Object.values(peers)) {
    if ("missing" in peer) console.error(peer.missing)
    else starts.push(peer.start)
  }
  for (const start of starts) {
    const stored = await start()
    try {
      results.push(await use(stored))
    } finally {
      await stored.stop()
    }
  }
  return results
}

const askEveryMs = 5
const answerDeadlineMs = 600_000

/** Starts a server again. Returns the milliseconds until it answers with a user. */
export const firstAnswerMs = async (stored: Stored): Promise<number> => {
  const startedAt = performance.now()
  await stored.startAgain()
  const { host = "127.0.0.1", key, port } = stored.answer
  while (performance.now() - startedAt < answerDeadlineMs) {
    const reply = await fetch(`http://${host}:${port}/v1/users/${userIdAt(0)}`, {
      headers: { authorization: `Bearer ${key}` },
    }).catch(() => undefined)
    await reply?.text()
    if (reply?.status === 200) return performance.now() - startedAt
    await sleep(askEveryMs)
  }
  throw new Error(`${stored.name} did not answer within ${answerDeadlineMs} ms of its start`)
}
