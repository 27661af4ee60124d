/**
 * The cost of the dashboard: processor time of each page with 100 rows, of the whole server; and
 * the latency of 1,000 events a second while ten people watch the live page.
 */
import { readFileSync } from "node:fs"
import path from "node:path"
import { lessonAction } from "./events.ts"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import { checkTotal, type Laurel, startLaurel } from "./laurel.ts"
import { openLoop } from "./loads.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import { median } from "./statistics.ts"

const rows = 100
const historyEvents = 150
const requests = 200
const warmUpRequests = 50
const watchers = 10
const rounds = 3
const load = { connections: 300, perSecond: 1_000, warmUpSeconds: 2, measureSeconds: 10 }
const place = "/dashboard/throwaway/sandbox"

/** Pages with a list, and the pages of one thing that are longest. */
const pages = (ids: Readonly<Record<"badge" | "quest" | "rule" | "webhook", string>>) => ({
  projects: "/dashboard",
  overview: place,
  users: `${place}/users?limit=${rows}`,
  user: `${place}/users/user-0`,
  leaderboard: `${place}/leaderboard?limit=${rows}`,
  rules: `${place}/rules?limit=${rows}`,
  rule: `${place}/rules/${ids.rule}`,
  quests: `${place}/quests?limit=${rows}`,
  quest: `${place}/quests/${ids.quest}`,
  badges: `${place}/badges?limit=${rows}`,
  badge: `${place}/badges/${ids.badge}`,
  webhooks: `${place}/webhooks?limit=${rows}`,
  deliveries: `${place}/webhooks/${ids.webhook}?limit=${rows}`,
  keys: `${place}/keys?limit=${rows}`,
  settings: `${place}/settings`,
  team: "/dashboard/team",
  log: "/dashboard/log",
  operations: "/dashboard/operations",
})

/** The session of the first owner, without a browser. */
export class Visitor {
  readonly #url: string
  #cookie = ""

  constructor(port: number) {
    // The cookie of a session has the name that the setup link has.
    this.#url = `http://localhost:${port}`
  }

  /** Makes the first owner with the setup link of the server on `directory`. */
  setUp(directory: string): Promise<void> {
    const link = readFileSync(path.join(directory, "setup-link"), "utf8").trim()
    return this.post("/dashboard/setup", {
      token: link.split("#")[1]!,
      email: "ada@example.com",
      name: "Ada",
      password: "correct horse battery",
    })
  }

  async post(page: string, fields: Record<string, string>): Promise<void> {
    const reply = await fetch(this.#url + page, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { "sec-fetch-site": "same-origin", cookie: this.#cookie },
      redirect: "manual",
    })
    const text = await reply.text()
    if (reply.status !== 303) throw new Error(`${page}: ${reply.status} ${text}`)
    const cookies = reply.headers.getSetCookie().map((line) => line.split(";")[0]!)
    if (cookies.length > 0) this.#cookie = cookies.join("; ")
  }

  async get(page: string, signal?: AbortSignal): Promise<Response> {
    const reply = await fetch(this.#url + page, {
      headers: { cookie: this.#cookie, "sec-fetch-site": "same-origin" },
      redirect: "manual",
      ...(signal !== undefined && { signal }),
    })
    if (reply.status !== 200) throw new Error(`${page}: ${reply.status}`)
    return reply
  }
}

/**
 * 100 of each kind; `user-0` has a history; every event has a delivery to a receiver that does not
 * exist.
 */
const fill = async (laurel: Laurel, visitor: Visitor) => {
  const make = async (what: string, body: (number: number) => object): Promise<string> => {
    let id = ""
    for (let number = 0; number < rows; number++) {
      const made = await laurel.request(`/v1/${what}`, body(number))
      id = (made as { readonly id: string }).id
    }
    return id
  }
  const condition = { path: "metadata.score", op: "gte", value: 90 }
  const rule = await make("rules", (number) => ({
    action: `ACTION_${number}`,
    where: [condition],
    reward: { xp: 1 },
  }))
  const quest = await make("quests", (number) => ({
    title: `Quest ${number}`,
    steps: [{ key: "one", action: `ACTION_${number}`, target: 3, where: [condition] }],
    reward: { xp: 10 },
  }))
  const badge = await make("badges", (number) => ({
    name: `Badge ${number}`,
    criteria: { kind: "action_count", action: `ACTION_${number}`, target: 5 },
  }))
  const webhook = await make("webhooks", (number) => ({
    url: `https://receiver.invalid/${number}`,
    events: number === rows - 1 ? ["*"] : ["badge.earned"],
  }))
  for (let number = 0; number < rows; number++) {
    const event = { userId: `user-${number}`, action: lessonAction, metadata: { score: number } }
    await laurel.request("/v1/events", event)
  }
  for (let number = 0; number < historyEvents; number++) {
    await laurel.request("/v1/events", { userId: "user-0", action: lessonAction })
  }
  for (let number = 0; number < rows; number++) {
    await visitor.post(`${place}/keys`, {
      name: `Key ${number}`,
      scope: "read",
      expires: "never",
    })
  }
  return { rule, quest, badge, webhook }
}

/** Processor time of all threads of a process so far, in milliseconds. */
const processorMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
  // Clock ticks are hundredths of a second on every Linux that Node runs on.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const costOf = async (laurel: Laurel, visitor: Visitor, page: string) => {
  const read = async (times: number) => {
    let bytes = 0
    for (let time = 0; time < times; time++) bytes = (await (await visitor.get(page)).text()).length
    return bytes
  }
  await read(warmUpRequests)
  const before = processorMs(laurel.pid)
  const bytes = await read(requests)
  return { ms: (processorMs(laurel.pid) - before) / requests, bytes }
}

/** Opens live streams; `close` ends them and resolves with the number of messages that each had. */
const watch = async (visitor: Visitor) => {
  const closing = new AbortController()
  const streams = await Promise.all(
    Array.from({ length: watchers }, () => visitor.get(`${place}/stream`, closing.signal)),
  )
  const counts = streams.map(async ({ body }) => {
    let messages = 0
    const decoder = new TextDecoder()
    try {
      for await (const chunk of body!) {
        messages += decoder.decode(chunk, { stream: true }).split("data:").length - 1
      }
    } catch (error) {
      if (!closing.signal.aborted) throw error
    }
    return messages
  })
  return {
    close: (): Promise<ReadonlyArray<number>> => {
      closing.abort()
      return Promise.all(counts)
    },
  }
}

/** Events with and without watchers, in turn. */
const live = async (laurel: Laurel, visitor: Visitor): Promise<ReadonlyArray<BenchLine>> => {
  const alone: Array<number> = []
  const watched: Array<number> = []
  let accepted = 0
  let refused = 0
  const measure = async (into: Array<number>) => {
    const report = await openLoop(laurel.answer, load)
    if (report.broken > 0) throw new Error(`${report.broken} connections broke`)
    accepted += report.acceptedInAll
    refused += report.refused + report.unsent
    into.push(report.whole.p99Ms)
    return report.acceptedInAll
  }
  for (let round = 0; round < rounds; round++) {
    await measure(alone)
    const watching = await watch(visitor)
    const events = await measure(watched)
    for (const messages of await watching.close()) {
      // Each event is at least one message. The last messages may still be in transit.
      if (messages < events * 0.99) throw new Error(`${messages} messages of ${events} events`)
    }
  }
  await checkTotal(laurel, accepted + rows + historyEvents)
  return [
    comparing("dashboard", "nobody watches")(
      `99 % of events within, ${watchers} live pages`,
      "ms",
      median(watched),
      median(alone),
      "≤ 1.5×",
    ),
    {
      question: "dashboard: events refused or not sent",
      value: refused,
      unit: "events",
      goal: "0, else the machine was busy",
    },
  ]
}

/** Measures all lines; about two minutes. */
export const dashboard = (): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const laurel = await startLaurel({ directory, settings: { LAUREL_DASHBOARD: "on" } })
    try {
      const { port } = laurel.answer
      const visitor = new Visitor(port)
      await visitor.setUp(directory)
      const ids = await fill(laurel, visitor)
      const lines: Array<BenchLine> = []
      for (const [name, page] of Object.entries(pages(ids))) {
        const { bytes, ms } = await costOf(laurel, visitor, page)
        lines.push({
          question: `dashboard: ${name}, ${Math.round(bytes / 1_024)} KiB`,
          value: ms,
          unit: "ms of processor time",
          goal: "≤ 20 ms",
        })
      }
      return [...lines, ...(await live(laurel, visitor))]
    } finally {
      await laurel.stop()
    }
  })

if (import.meta.main) for (const line of await dashboard()) console.log(formatLine(line))
