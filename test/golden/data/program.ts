/** A Laurel as a process whose clock is set, and what its server answers. */
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../..")

export const directoryArchive = join(import.meta.dirname, "directory.tar.gz")
export const answersFile = join(import.meta.dirname, "answers.json")

export interface Ask {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly idempotencyKey?: string
}

/** The reply of a server. */
export interface Answer {
  readonly ask: Ask
  readonly status: number
  readonly reply: unknown
}

/** `answers.json`. */
export interface Answers {
  /** The time at which they were given; they depend on it. */
  readonly at: string
  readonly key: string
  readonly answers: ReadonlyArray<Answer>
}

/** No attempt that is due later than a test needs. */
const settings = {
  LAUREL_PORT: "0",
  LAUREL_ADMIN_PORT: "0",
  LAUREL_ARCHIVE_INTERVAL: "off",
  LAUREL_SNAPSHOT_INTERVAL: "1 hour",
  LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
  LAUREL_WEBHOOK_REQUIRE_HTTPS: "false",
  LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,604800",
}

/** Runs Laurel, at the time `at` when it starts. */
export const laurel = (directory: string, at: number, ...args: ReadonlyArray<string>) => {
  const shifted = `const now = Date.now; Date.now = () => now() + ${at - Date.now()}`
  const clock = `--import=data:text/javascript,${encodeURIComponent(shifted)}`
  const child = spawn(process.execPath, [join(root, "src/main.ts"), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_OPTIONS: clock, LAUREL_DATA_DIR: directory, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  let look = () => {}
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => {
      output += chunk
      look()
    })
  }
  const ended = new Promise<string>((done) => child.on("close", () => done(output)))
  const ready = new Promise<void>((found) => {
    look = () => {
      if (output.includes('"message":"Ready"')) found()
    }
  })
  return { child, ended, ready }
}

/** Serves a directory while `use` works, then ends the server by `signal`. */
export const serve = async <A>(
  directory: string,
  at: number,
  use: (url: string) => Promise<A>,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<A> => {
  const { child, ended, ready } = laurel(directory, at, "serve")
  const early = ended.then((output) => {
    throw new Error(`The server ended: ${output}`)
  })
  await Promise.race([ready, early])
  early.catch(() => {})
  try {
    return await use(JSON.parse(await readFile(join(directory, "server.json"), "utf8")).url)
  } finally {
    child.kill(signal)
    await ended
  }
}

/** Without what is counted when it is read, and not stored: the last results of experiments. */
const stored = (text: string): unknown =>
  JSON.parse(text, (_, value) => (value?.countedAt === undefined ? value : undefined))

export const answerTo = async (url: string, key: string, ask: Ask): Promise<Answer> => {
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(ask.body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(ask.idempotencyKey === undefined ? {} : { "Idempotency-Key": ask.idempotencyKey }),
  }
  const body = ask.body === undefined ? null : JSON.stringify(ask.body)
  const reply = await fetch(url + ask.path, { method: ask.method, headers, body })
  const text = await reply.text()
  return { ask, status: reply.status, reply: text === "" ? null : stored(text) }
}

/** Every state that the API shows, and repeats that change nothing. */
export const asksOf = async (url: string, key: string): Promise<ReadonlyArray<Ask>> => {
  const get = async (path: string) => (await answerTo(url, key, { method: "GET", path })).reply
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows its reply
  const list = async (path: string, name: string): Promise<ReadonlyArray<any>> =>
    // biome-ignore lint/suspicious/noExplicitAny: each caller knows its reply
    ((await get(path)) as any)[name]
  const users = await list("/v1/users?limit=100", "users")
  const webhooks = await list("/v1/webhooks", "webhooks")
  const ofWebhooks = await Promise.all(
    webhooks.map(async ({ id }) => {
      const deliveries = `/v1/webhooks/${id}/deliveries`
      const found = await list(`${deliveries}?limit=100`, "deliveries")
      return [
        `/v1/webhooks/${id}`,
        `${deliveries}?limit=100`,
        ...["pending", "succeeded", "failed"].map((each) => `${deliveries}?status=${each}`),
        ...found.map((each) => `${deliveries}/${each.id}`),
      ]
    }),
  )
  const boards = await list("/v1/leaderboards", "leaderboards")
  const entries = boards.flatMap(({ key, windows }) =>
    windows.map((window: string) => `/v1/leaderboards/${key}/entries?window=${window}`),
  )
  const windows = ["daily", "weekly", "monthly"].flatMap((window) =>
    ["", "&at=2026-10-29T12:00:00Z", "&at=2026-10-12T12:00:00Z"].map(
      (at) => `/v1/leaderboard?window=${window}${at}`,
    ),
  )
  const paths = [
    "/v1/project",
    "/v1/rules",
    "/v1/quests",
    "/v1/badges",
    "/v1/boosts",
    "/v1/experiments",
    "/v1/leagues",
    "/v1/users/bob/leagues/cup",
    "/v1/metrics",
    "/v1/webhooks",
    "/v1/actions",
    "/v1/definitions",
    "/v1/users?limit=100",
    "/v1/leaderboard?limit=100",
    "/v1/leaderboards",
    ...entries,
    ...windows,
    ...users.flatMap(({ id }) =>
      ["", "/progress", "/metrics", "/history?limit=100", "/rewards", "/points/spend"].map(
        (part) => `/v1/users/${encodeURIComponent(id)}${part}`,
      ),
    ),
    ...ofWebhooks.flat(),
  ]
  return paths.map((path) => ({ method: "GET", path }))
}
