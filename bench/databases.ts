/** PostgreSQL and Redis from Debian's packages, each in a temporary folder, on a socket in it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
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
import { type Ending, endChild } from "./load/family.ts"

const isRoot = process.getuid?.() === 0
const ready = "ready to accept connections"

const idOf = (user: string, kind: "-u" | "-g"): number =>
  Number(execFileSync("id", [kind, user], { encoding: "utf8" }))

/** A program of a Debian package: on the path, or in PostgreSQL's folders. */
export const programOf = (name: string): string | undefined => {
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

export interface Database {
  /** The process that runs now. */
  readonly process: ChildProcess
  readonly socket: string
  /** The folder of its data. */
  readonly data: string
  /** Ends it: in order, or by killing all its processes. */
  readonly end: (how: Ending) => Promise<void>
  /** Starts it on its data on disk. */
  readonly startAgain: () => Promise<void>
  /** Ends it and removes its folder. */
  readonly stop: () => Promise<void>
}

interface Kind {
  /** The user of the program if this process is root: PostgreSQL refuses to run as root. */
  readonly user?: string
  readonly prepare: (folder: string, owner: object) => ReadonlyArray<string>
  readonly socketIn: (folder: string) => string
}

/** Resolves when the program says that it is ready, which both do once they have recovered. */
const launch = async (
  program: string,
  args: ReadonlyArray<string>,
  options: object,
): Promise<ChildProcess> => {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
  let printed = ""
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed = (printed + text).slice(-4_000)
        if (printed.toLowerCase().includes(ready)) resolve()
      })
    }
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`${program} ended early: ${printed}`)))
  })
  return child
}

const startDatabase = async (
  program: string,
  { prepare, socketIn, user }: Kind,
): Promise<Database> => {
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-peer-"))
  const owner = isRoot && user !== undefined ? { uid: idOf(user, "-u"), gid: idOf(user, "-g") } : {}
  if ("uid" in owner) chownSync(folder, owner.uid!, owner.gid!)
  const args = prepare(folder, owner)
  const start = () => launch(program, args, { ...owner, cwd: folder })
  let child = await start()
  // PostgreSQL: a fast end, that does not wait for clients.
  const end: Database["end"] = (how) => endChild(child, how, "SIGINT")
  return {
    get process() {
      return child
    },
    socket: socketIn(folder),
    data: path.join(folder, "data"),
    end,
    startAgain: async () => {
      child = await start()
    },
    stop: async () => {
      await end("in order")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const startPostgres = (program: string): Promise<Database> =>
  startDatabase(program, {
    user: "postgres",
    prepare: (folder, owner) => {
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
      const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
      return ["-D", data, ...given]
    },
    socketIn: (folder) => folder,
  })

/** `fsync`: of the append-only file; `off`: nothing is kept on disk. */
export const startRedis = (
  program: string,
  fsync: "always" | "everysec" | "off",
): Promise<Database> =>
  startDatabase(program, {
    prepare: (folder) => {
      mkdirSync(path.join(folder, "data"))
      const places = [
        "--unixsocket",
        path.join(folder, "socket"),
        "--dir",
        path.join(folder, "data"),
      ]
      const kept =
        fsync === "off" ? ["--appendonly", "no"] : ["--appendonly", "yes", "--appendfsync", fsync]
      return ["--port", "0", ...places, ...kept, "--save", "", "--daemonize", "no"]
    },
    socketIn: (folder) => path.join(folder, "socket"),
  })
