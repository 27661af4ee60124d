/** Clients of a server that may be gone at any moment. */
import { setTimeout as delay } from "node:timers/promises"
import type { Random } from "../simulation/random.ts"
import type { Ledger, Sent } from "./Ledger.ts"
import type { ServerProcess } from "./ServerProcess.ts"

export interface Answer {
  readonly ids: ReadonlyArray<string>
  /** The server says that it knew the request. */
  readonly repeated: boolean
}

interface EventAnswer {
  readonly eventId: string
  readonly duplicate: boolean
}

const retryMs = 20

/** Status and body, or `undefined` when the connection broke. */
export const request = async (
  url: string,
  key: string,
  path: string,
  sent?: Pick<Sent, "body" | "headers">,
  method = sent === undefined ? "GET" : "POST",
): Promise<{ readonly response: Response; readonly body: unknown } | undefined> => {
  try {
    const response = await fetch(url + path, {
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...sent?.headers,
      },
      method,
      ...(sent !== undefined && { body: JSON.stringify(sent.body) }),
    })
    const text = await response.text()
    return { response, body: text === "" ? undefined : JSON.parse(text) }
  } catch {
    return undefined
  }
}

const answerOf = (sent: Sent, response: Response, body: unknown): Answer => {
  if (sent.kind === "reward") {
    const { rewardId } = body as { readonly rewardId: string }
    return { ids: [rewardId], repeated: response.headers.get("idempotency-replayed") === "true" }
  }
  const events =
    sent.kind === "event"
      ? [body as EventAnswer]
      : (body as { readonly results: ReadonlyArray<EventAnswer> }).results
  return {
    ids: events.map(({ eventId }) => eventId),
    repeated: events.every(({ duplicate }) => duplicate),
  }
}

/** Sends once; `undefined`: refused for now, or the outcome is unknown. Anything else that is no 200 is a defect. */
export const send = async (url: string, key: string, sent: Sent): Promise<Answer | undefined> => {
  const answered = await request(url, key, sent.path, sent)
  if (answered === undefined) return undefined
  const { body, response } = answered
  const refused = (body as { readonly rejected?: number }).rejected ?? 0
  if (response.status === 200) {
    return refused > 0 ? undefined : answerOf(sent, response, body)
  }
  const inProgress = response.status === 409 && sent.kind === "reward"
  if (response.status === 503 || inProgress) return undefined
  throw new Error(`${sent.path} was answered with ${response.status}: ${JSON.stringify(body)}`)
}

/** Sends until there is an answer, or the server is gone. */
export const insist = async (
  server: ServerProcess,
  key: string,
  sent: Sent,
): Promise<Answer | undefined> => {
  while (!server.hasEnded) {
    const answer = await send(server.url, key, sent)
    if (answer !== undefined) return answer
    await delay(retryMs)
  }
  return undefined
}

/** Several clients, each with one request at a time, until `stop` or the server's end. */
export class Load {
  #stopped = false
  readonly #running: ReadonlyArray<Promise<void>>

  constructor(server: ServerProcess, key: string, ledger: Ledger, random: Random, clients: number) {
    this.#running = Array.from({ length: clients }, async () => {
      while (!this.#stopped && !server.hasEnded) {
        const sent = ledger.next(random)
        const answer = await send(server.url, key, sent)
        if (answer !== undefined) ledger.acknowledge(sent, answer.ids)
        else await delay(retryMs)
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }
}

/** Xp of all users, as the leaderboard has it. */
export const readXp = async (
  { url }: ServerProcess,
  key: string,
): Promise<ReadonlyMap<string, number>> => {
  const answered = await request(url, key, "/v1/leaderboard?limit=100")
  if (answered?.response.status !== 200) throw new Error("The leaderboard can not be read")
  const { entries } = answered.body as {
    readonly entries: ReadonlyArray<{ readonly userId: string; readonly xp: number }>
  }
  return new Map(entries.map(({ userId, xp }) => [userId, xp]))
}

export const createRule = async (
  { url }: ServerProcess,
  key: string,
  xp: number,
): Promise<void> => {
  const body = { action: "COUNT", reward: { xp } }
  const answered = await request(url, key, "/v1/rules", { body, headers: {} })
  if (answered?.response.status !== 201) throw new Error("The rule was not created")
}
