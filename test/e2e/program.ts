/** The real program in a process of its own: servers that listen on any free port, and commands. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { beforeAll, onTestFinished } from "vitest"
import { commandEnd, endedWithin } from "../cli/commands.ts"
import { waitMs } from "../waitMs.ts"

type Variables = { readonly [variable: string]: string }

type End = () => Promise<void>

/** A program ends with its test, or with all tests that share it. */
let whenFinished: (end: End) => void = onTestFinished

/** Starts once, before the tests of a `describe`, what they share; it ends after them. */
export const sharedByAll = (start: () => Promise<void>): void => {
  beforeAll(async () => {
    const ends: Array<End> = []
    whenFinished = (end) => ends.unshift(end)
    try {
      await start()
    } finally {
      whenFinished = onTestFinished
    }
    return async () => {
      for (const end of ends) await end()
    }
  })
}

/** A folder that is gone when the test is. */
export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "laurel-"))
  whenFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The folder of package.json. */
export const root = resolve(import.meta.dirname, "../..")

/** Growing text; a waiter for a pattern resumes when it appears or the text has ended. */
export class Output {
  text = ""
  #ended = false
  readonly #waiting = new Set<() => void>()

  constructor(stream: NodeJS.ReadableStream) {
    stream.setEncoding("utf8")
    stream.on("data", (chunk: string) => {
      this.text += chunk
      for (const look of this.#waiting) look()
    })
    stream.on("close", () => {
      this.#ended = true
      for (const look of this.#waiting) look()
    })
  }

  waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((found, failed) => {
      const look = () => {
        const match = pattern.exec(this.text)
        if (match === null && !this.#ended) return
        this.#waiting.delete(look)
        if (match !== null) found(match)
        else failed(new Error(`The output ended without ${pattern}:\n${this.text}`))
      }
      this.#waiting.add(look)
      look()
    })
  }
}

export class Running {
  readonly process: ChildProcess
  readonly stdout: Output
  readonly stderr: Output
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>

  /**
   * `prepare` is a shell command that runs before it in the same process, such as `ulimit`; `checkout` another version of
   * the sources.
   */
  constructor(
    args: ReadonlyArray<string>,
    variables: Variables,
    prepare = ":",
    checkout: string = root,
  ) {
    const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env
    // The folder that the program names itself: what loads before it does so is compiled code then, too.
    const env = { PATH, NODE_COMPILE_CACHE, ...variables }
    const command = [process.execPath, join(checkout, "src/main.ts"), ...args]
    const shell = ["-c", `${prepare}; exec "$@"`, "sh", ...command]
    this.process = spawn("sh", shell, { env, stdio: "pipe" })
    this.stdout = new Output(this.process.stdout!)
    this.stderr = new Output(this.process.stderr!)
    this.ended = new Promise((ended) => {
      this.process.on("close", (code, signal) => ended(code ?? signal!))
    })
    whenFinished(async () => {
      this.process.kill("SIGKILL")
      await this.ended
    })
  }

  /** Sends a signal and waits for the end. */
  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | NodeJS.Signals> {
    this.process.kill(signal)
    return this.ended
  }
}

export interface ServerFile {
  readonly pid: number
  readonly url: string
  readonly adminUrl: string
  readonly token: string
}

export const readServerFile = async (directory: string): Promise<ServerFile> =>
  JSON.parse(await readFile(join(directory, "server.json"), "utf8"))

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: each test says what it expects
  readonly body: any
}

export class Server extends Running {
  url = ""
  readonly #directory: string
  /** In a cluster that of all partitions. */
  readonly #whole: string
  readonly #ready: RegExp

  constructor(directory: string, variables: Variables = {}, prepare?: string, checkout?: string) {
    const anyPorts = { LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0" }
    super(["serve"], { ...anyPorts, LAUREL_DATA_DIR: directory, ...variables }, prepare, checkout)
    const isClustered = variables.LAUREL_CLUSTER !== undefined
    // That of the first partition, which has the keys.
    this.#whole = directory
    this.#directory = isClustered ? join(directory, "partitions", "1") : directory
    this.#ready = isClustered ? /"message":"Ready".*"partition":1[,}].*\n/ : /"message":"Ready".*\n/
  }

  /** Starts a server and waits until it is ready. */
  static async start(
    directory: string,
    variables: Variables = {},
    prepare?: string,
    checkout?: string,
  ): Promise<Server> {
    const server = new Server(directory, variables, prepare, checkout)
    await server.stderr.waitFor(server.#ready)
    server.url = (await readServerFile(server.#directory)).url
    return server
  }

  /** The key of project `demo`, which a first start without a terminal leaves in a file. */
  async firstKey(): Promise<string> {
    return (await readFile(join(this.#whole, "first-key"), "utf8")).trimEnd()
  }

  /** A sandbox key without a limit, made at the admin address as the command line does it, without a process for it. */
  async createKey(project = "shop"): Promise<string> {
    const { adminUrl, token } = await readServerFile(this.#directory)
    const wish = { project, environment: "sandbox", scope: "full" }
    const response = await fetch(`${adminUrl}/admin/keys`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(wish),
    })
    const text = await response.text()
    if (response.status !== 201) throw new Error(`${response.status} ${text}`)
    return JSON.parse(text).key
  }

  async request(key: string, method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }
}

export interface Ended {
  readonly code: number | NodeJS.Signals
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end; fails if that takes longer than `waitMs`. */
export const run = async (
  args: ReadonlyArray<string>,
  directory: string,
  variables: Variables = {},
  checkout?: string,
): Promise<Ended> => {
  const all = { LAUREL_DATA_DIR: directory, ...variables }
  const running = new Running(args, all, undefined, checkout)
  const code = await endedWithin(waitMs, running.ended, () => {
    const words = `laurel ${args.join(" ")} has not ended after ${waitMs} ms:`
    return `${words}\n${running.stdout.text}${running.stderr.text}`
  })
  return { code, stdout: running.stdout.text, stderr: running.stderr.text }
}

/** Creates a key with the command line, within the process of the test. */
export const createKey = async (
  directory: string,
  ...more: ReadonlyArray<string>
): Promise<{ readonly key: string; readonly id: string }> => {
  const wish = ["--project", "shop", "--environment", "sandbox"]
  const args = ["keys", "create", ...wish, "--json", ...more]
  const { code, stderr, stdout } = await commandEnd(args, directory)
  if (code !== 0) throw new Error(`keys create ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

/** The bytes of all files in a folder and those below. */
export const everyByteOf = async (folder: string): Promise<Buffer> => {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name)))
  return Buffer.concat(await Promise.all(texts))
}
