/**
 * The gallery of the elements: a page that shows each of them on a real server with a learner's data
 * (`npm run client:gallery`). The server keeps its data in a temporary folder, and is gone with the
 * gallery.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { operations } from "../generated/operations.ts"
import { makeLaurel } from "../Laurel.ts"
import { bundle, folder } from "./entries.ts"

export interface Gallery {
  readonly url: string
  /** Ends the page's server and Laurel, and removes the data. */
  readonly close: () => Promise<void>
}

interface Running {
  readonly process: ChildProcess
  readonly url: string
  readonly key: string
}

export const openGallery = async (): Promise<Gallery> => {
  const data = mkdtempSync(path.join(tmpdir(), "laurel-gallery-"))
  const laurel = await startLaurel(data)
  const end = async () => {
    const ended = once(laurel.process, "exit")
    laurel.process.kill()
    await ended
    rmSync(data, { recursive: true })
  }
  try {
    await fill(laurel)
    const pages = await servePage(laurel)
    return {
      url: `http://localhost:${(pages.address() as AddressInfo).port}/`,
      close: async () => {
        pages.closeAllConnections()
        pages.close()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** Serves the page, the modules of the package, and `/v1` as Laurel does. */
const servePage = async (laurel: Running): Promise<Server> => {
  const modules = await bundle(["index", "elements"])
  const files = new Map(modules.map(({ code, fileName }) => [`/client/${fileName}`, code]))
  const server = createServer((asked, reply) => {
    const script = files.get(asked.url ?? "")
    if (asked.url?.startsWith("/v1/")) return forward(laurel, asked, reply)
    reply.setHeader("content-type", script === undefined ? "text/html" : "text/javascript")
    // Read at each request, so that a change shows after a reload.
    reply.end(script ?? readFileSync(path.join(import.meta.dirname, "gallery.html")))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
}

const startLaurel = async (data: string): Promise<Running> => {
  const env = { ...process.env, LAUREL_PORT: "0", LAUREL_ADMIN_PORT: "0", LAUREL_DATA_DIR: data }
  const main = path.resolve(folder, "../main.ts")
  const server = spawn(process.execPath, [main, "serve"], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  })
  let log = ""
  for await (const piece of server.stderr) {
    log += piece
    if (!/"message":"Ready"/.test(log)) continue
    server.stderr.resume()
    const { url } = JSON.parse(readFileSync(path.join(data, "server.json"), "utf8"))
    const key = readFileSync(path.join(data, "first-key"), "utf8").trim()
    return { process: server, url, key }
  }
  throw new Error(`Laurel did not start:\n${log}`)
}

/** Sends a request of the page to Laurel, with the key, and its reply to the page. */
const forward = ({ key, url }: Running, asked: IncomingMessage, reply: ServerResponse): void => {
  const { host: _, origin: __, ...headers } = asked.headers
  const options = { method: asked.method, headers: { ...headers, authorization: `Bearer ${key}` } }
  const sent = request(new URL(asked.url!, url), options, (answer) => {
    reply.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(reply)
    reply.on("close", () => answer.destroy())
  })
  sent.on("error", () => reply.destroy())
  asked.pipe(sent)
}

const dayMs = 86_400_000

/** A learner with six weeks of lessons, and others to compare with. */
const fill = async ({ key, url }: Running): Promise<void> => {
  const laurel = makeLaurel(operations, { url, key })
  const action = "LESSON_DONE"
  await laurel.rules.create({ action, reward: { xp: 40, points: 10 } })
  const freezes = { max: 2 }
  await laurel.streaks.create({ name: "Daily lesson", key: "daily", needs: [{ action }], freezes })
  const tiers = [
    { key: "bronze", name: "Bronze", target: 10 },
    { key: "silver", name: "Silver", target: 25 },
    { key: "gold", name: "Gold", target: 100 },
  ]
  await laurel.badges.create({ name: "Scholar", criteria: { kind: "action_count", action }, tiers })
  await laurel.badges.create({
    name: "First lesson",
    criteria: { kind: "action_count", action, target: 1 },
  })
  const shared = { kind: "action_count", action: "SHARED" } as const
  const friends = [
    { key: "friend", name: "Friend", target: 1 },
    { key: "herald", name: "Herald", target: 3 },
  ]
  await laurel.badges.create({ name: "Ambassador", criteria: shared, tiers: friends })
  const steps = [{ key: "lessons", action, target: 20 }]
  await laurel.quests.create({ title: "Twenty lessons", reward: { xp: 100 }, steps })
  await laurel.goals.create({
    name: "2,000 xp together",
    score: { currency: "xp" },
    target: 2_000,
    recurrence: "weekly",
    reward: { points: 20 },
  })
  await laurel.leagues.create({
    name: "Weekly league",
    score: { currency: "xp" },
    cohortSize: 5,
    divisions: [
      { key: "bronze", name: "Bronze", promote: 2, demote: 0 },
      { key: "silver", name: "Silver", promote: 0, demote: 1 },
    ],
  })
  await laurel.items.create({
    name: "Streak freeze",
    description: "Covers a day without a lesson",
    price: { points: 50 },
    reward: { freezes: { daily: 1 } },
    limit: { times: 2, per: "week" },
  })
  await laurel.items.create({ name: "Signed poster", price: { points: 120 }, stock: 1 })
  await laurel.items.create({ name: "Golden frame", price: { points: 5_000 } })
  const names = { ada: "Ada", bob: "Bob", cleo: "Cléo", dan: "Dan", eve: "Eve" }
  /** Lessons of today: in the windows that are open now, in which earlier ones do not count. */
  const today = [6, 8, 3, 2, 1]
  for (const [place, [userId, displayName]] of Object.entries(names).entries()) {
    const days = Array.from({ length: 42 - 8 * place }, (_, day) => day)
    const events = days
      .filter((day) => day < 6 || day % 9 !== 7)
      .map((day) => ({
        userId,
        action,
        occurredAt: new Date(Date.now() - day * dayMs).toISOString(),
      }))
    await laurel.events.importBatch({ events })
    for (let lesson = 1; lesson < today[place]!; lesson++) {
      await laurel.events.track({ userId, action })
    }
    await laurel.users.put(userId, { displayName })
  }
}

if (import.meta.main) {
  const { close, url } = await openGallery()
  console.log(`The elements are at ${url}; end with Ctrl+C`)
  process.once("SIGINT", () => void close())
}
