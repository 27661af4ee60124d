/**
 * Fastify over PostgreSQL or Redis, as an alternative to Laurel. The databases come from Debian's
 * packages.
 */
import { type ChildProcess, fork } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { controls } from "./children.ts"
import { type Database, programOf, startPostgres, startRedis } from "./databases.ts"
import { checkTotal } from "./laurel.ts"
import { signalFamily } from "./load/family.ts"
import type { Target } from "./load/wrk.ts"
import type { Stored } from "./Subject.ts"

const peersFolder = fileURLToPath(new URL("peers/", import.meta.url))
export const peersAreInstalled = existsSync(path.join(peersFolder, "node_modules"))

export interface PeerTuning {
  readonly driver: "pg" | "postgres" | "ioredis" | "redis"
  readonly connections: number
}

/** The settings that the trials of `peers/README.md` chose. */
const tuned = {
  postgres: { driver: "postgres", connections: 8 },
  redis: { driver: "ioredis", connections: 1 },
} satisfies Record<"postgres" | "redis", PeerTuning>

const startServer = async (
  name: string,
  store: "postgres" | "redis",
  database: Database,
  tuning: PeerTuning,
): Promise<Stored> => {
  const input = { store, socket: database.socket, key: randomUUID(), ...tuning }
  const start = async (again: boolean): Promise<readonly [ChildProcess, Target]> => {
    const child = fork(
      path.join(peersFolder, "server.mjs"),
      [JSON.stringify({ ...input, again })],
      { stdio: ["ignore", "inherit", "inherit", "ipc"] },
    )
    const starting = new AbortController()
    const failed = once(child, "exit", starting).then(async () => {
      await database.stop()
      throw new Error(`${name} did not start`)
    })
    failed.catch(() => {})
    const [answer] = await Promise.race([once(child, "message"), failed])
    // From here on its end is no failure.
    starting.abort()
    return [child, answer]
  }
  let [child, answer] = await start(false)
  const ask = async (message: object): Promise<number> => {
    child.send(message)
    return (await once(child, "message"))[0]
  }
  // PostgreSQL's processes stop and continue one by one.
  const signal = (name: NodeJS.Signals) => signalFamily(database.process.pid!, name)
  return {
    name,
    get answer() {
      return answer
    },
    get roots() {
      return [child.pid!, database.process.pid!]
    },
    pause: () => {
      controls(child).pause()
      signal("SIGSTOP")
    },
    resume: () => {
      signal("SIGCONT")
      controls(child).resume()
    },
    stop: async () => {
      signal("SIGCONT")
      await controls(child).stop()
      await database.stop()
    },
    check: async (answered, unread) => {
      const xp = await ask({ verb: "total" })
      await checkTotal({ totalXp: async () => xp }, answered, unread)
    },
    load: async (users) => {
      await ask({ verb: "load", users })
      return 0
    },
    settle: async () => {
      await ask({ verb: "settle" })
    },
    // The log of PostgreSQL is not counted: its files are used again, however many events there
    // are.
    folders: [store === "postgres" ? path.join(database.data, "base") : database.data],
    end: async (how) => {
      await controls(child).stop()
      await database.end(how)
    },
    startAgain: async () => {
      await database.startAgain()
      ;[child, answer] = await start(true)
    },
  }
}

/** Why a peer is left out, or how to start it. */
type Peer =
  | { readonly missing: string }
  | { readonly start: (tuning?: PeerTuning) => Promise<Stored> }

const peerOf = (
  store: "postgres" | "redis",
  programName: string,
  debianPackage: string,
  name: string,
  startDatabase: (program: string) => Promise<Database>,
): Peer => {
  if (!peersAreInstalled) {
    return { missing: `${name} is left out; install its packages: npm ci --prefix bench/peers` }
  }
  const program = programOf(programName)
  if (program === undefined) {
    return { missing: `${name} is left out; install it: apt-get install ${debianPackage}` }
  }
  return {
    start: async (tuning = tuned[store]) =>
      startServer(name, store, await startDatabase(program), tuning),
  }
}

export const peers = {
  postgres: peerOf("postgres", "postgres", "postgresql", "Fastify + PostgreSQL", startPostgres),
  always: peerOf("redis", "redis-server", "redis-server", "Fastify + Redis always", (program) =>
    startRedis(program, "always"),
  ),
  everysec: peerOf("redis", "redis-server", "redis-server", "Fastify + Redis everysec", (program) =>
    startRedis(program, "everysec"),
  ),
}
