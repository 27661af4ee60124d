/** Fastify over PostgreSQL or Redis: what one builds instead of Laurel. The databases come from Debian's packages. */
import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { controls } from "./children.ts"
import { checkTotal } from "./laurel.ts"
import { signalFamily } from "./load/family.ts"
import type { Subject } from "./subjects.ts"

const isRoot = process.getuid?.() === 0
const ready = "ready to accept connections"

const idOf = (user: string, kind: "-u" | "-g"): number =>
  Number(execFileSync("id", [kind, user], { encoding: "utf8" }))

/** A program of a Debian package: on the path, or in PostgreSQL's folders. */
const programOf = (name: string): string | undefined => {
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : []
  return [
    ...versions
      .toSorted()
      .toReversed()
      .map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...(process.env.PATH ?? "").split(path.delimiter),
  ]
    .map((folder) => path.join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

interface Database {
  readonly process: ChildProcess
  readonly socket: string
  readonly stop: () => Promise<void>
}

/** Runs a database in a temporary folder, on a socket in it, until `stop`. PostgreSQL refuses to run as root. */
const startDatabase = async (
  program: string,
  user: string | undefined,
  prepare: (folder: string, owner: object) => ReadonlyArray<string>,
  socketOf: (folder: string) => string,
): Promise<Database> => {
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-peer-"))
  const owner = isRoot && user !== undefined ? { uid: idOf(user, "-u"), gid: idOf(user, "-g") } : {}
  if ("uid" in owner) chownSync(folder, owner.uid!, owner.gid!)
  const args = prepare(folder, owner)
  const child = spawn(program, args, { ...owner, cwd: folder, stdio: ["ignore", "pipe", "pipe"] })
  let printed = ""
  const isReady = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed = (printed + text).slice(-4_000)
        if (printed.toLowerCase().includes(ready)) resolve()
      })
    }
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`${program} ended early: ${printed}`)))
  })
  await isReady
  return {
    process: child,
    socket: socketOf(folder),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, "exit")
        // PostgreSQL: a fast end, that does not wait for clients.
        child.kill("SIGINT")
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const startPostgres = (program: string): Promise<Database> =>
  startDatabase(
    program,
    "postgres",
    (folder, owner) => {
      const data = path.join(folder, "data")
      const initdb = path.join(path.dirname(program), "initdb")
      const args = ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C"]
      execFileSync(initdb, args, { ...owner, cwd: folder, stdio: "ignore" })
      const settings = {
        listen_addresses: "",
        unix_socket_directories: folder,
        synchronous_commit: "on",
        shared_buffers: "1GB",
        max_wal_size: "4GB",
        wal_compression: "on",
        checkpoint_timeout: "15min",
        random_page_cost: "1.1",
        jit: "off",
      }
      return [
        "-D",
        data,
        ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
      ]
    },
    (folder) => folder,
  )

const startRedis = (program: string, appendfsync: string): Promise<Database> =>
  startDatabase(
    program,
    undefined,
    (folder) => {
      mkdirSync(path.join(folder, "data"))
      return [
        ...[
          "--port",
          "0",
          "--unixsocket",
          path.join(folder, "socket"),
          "--dir",
          path.join(folder, "data"),
        ],
        ...["--appendonly", "yes", "--appendfsync", appendfsync, "--save", "", "--daemonize", "no"],
      ]
    },
    (folder) => path.join(folder, "socket"),
  )

const peersFolder = fileURLToPath(new URL("peers/", import.meta.url))

export interface PeerTuning {
  readonly driver: "pg" | "postgres" | "ioredis" | "redis"
  readonly connections: number
}

/** What the trials of `peers/README.md` chose. */
const tuned = {
  postgres: { driver: "postgres", connections: 8 },
  redis: { driver: "ioredis", connections: 1 },
} satisfies Record<"postgres" | "redis", PeerTuning>

const startServer = async (
  name: string,
  store: "postgres" | "redis",
  database: Database,
  tuning: PeerTuning,
): Promise<Subject> => {
  const input = { store, socket: database.socket, key: randomUUID(), ...tuning }
  const child = fork(path.join(peersFolder, "server.mjs"), [JSON.stringify(input)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  })
  const failed = once(child, "exit").then(async () => {
    await database.stop()
    throw new Error(`${name} did not start`)
  })
  failed.catch(() => {})
  const [answer] = await Promise.race([once(child, "message"), failed])
  const server = controls(child)
  // PostgreSQL's processes stop and continue one by one.
  const signal = (name: NodeJS.Signals) => signalFamily(database.process.pid!, name)
  return {
    name,
    answer,
    roots: [child.pid!, database.process.pid!],
    pause: () => {
      server.pause()
      signal("SIGSTOP")
    },
    resume: () => {
      signal("SIGCONT")
      server.resume()
    },
    stop: async () => {
      signal("SIGCONT")
      await server.stop()
      await database.stop()
    },
    check: async (answered, unread) => {
      child.send("total")
      const [xp] = await once(child, "message")
      await checkTotal({ totalXp: async () => xp }, answered, unread)
    },
  }
}

/** Why a peer is left out, or how to start it. */
type Peer =
  | { readonly missing: string }
  | { readonly start: (tuning?: PeerTuning) => Promise<Subject> }

const peerOf = (
  store: "postgres" | "redis",
  programName: string,
  debianPackage: string,
  name: string,
  startDatabase: (program: string) => Promise<Database>,
): Peer => {
  if (!existsSync(path.join(peersFolder, "node_modules"))) {
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
