/**
 * Receivers of the webhooks of a cluster under faults. Each write of a caller is worth 1 xp, and each message has the total of
 * its user: so totals say whether a message is missing, out of order, or there under two ids.
 *
 * `/steady` takes everything, so the first arrivals of a user's messages are in order, whichever runner sends them. `/failing`
 * refuses one in ten, and what is retried lets others pass: there only nothing may be missing.
 */
import type { ServerResponse } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import { waitMs } from "../waitMs.ts"
import { isSignedBy, type Received, Receiver } from "../webhooks/Receiver.ts"
import { ask } from "./Caller.ts"
import type { ClusterLoad } from "./ClusterLoad.ts"
import { eventually } from "./Runner.ts"
import type { Cluster } from "./startCluster.ts"

export const inboxPaths = ["/steady", "/failing"] as const
type InboxPath = (typeof inboxPaths)[number]

const refusals = 0.1
/** About as long as a caller takes for a write: so a fault meets messages that wait for the one before. */
const answerMs = 50

interface XpEarned {
  readonly id: string
  readonly data: { readonly userId: string; readonly total: number }
}

export class Inbox {
  /** For runners whose webhooks arrive here, and are retried soon. */
  static readonly settings = {
    LAUREL_WEBHOOK_ALLOW_CIDR: "127.0.0.0/8",
    LAUREL_WEBHOOK_RETRY_SCHEDULE: "0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
  }
  /** Messages that came again after a 204. */
  again = 0
  onFound: (words: string) => void = () => {}
  readonly #receiver: Receiver
  readonly #secrets = new Map<InboxPath, string>()
  /** Bodies by path and id. */
  readonly #bodies = new Map<string, string>()
  /** How many messages of each user are here, by path and user. */
  readonly #counts = new Map<string, number>()

  private constructor(receiver: Receiver) {
    this.#receiver = receiver
    receiver.answer = (response, received) => {
      // It would keep all of them.
      receiver.received.length = 0
      this.#receive(received, response)
    }
  }

  /** Of the project of a key. */
  static async of({ runners }: Cluster, key: string): Promise<Inbox> {
    const receiver = await Receiver.start()
    const inbox = new Inbox(receiver)
    for (const path of inboxPaths) {
      const body = { url: receiver.url("127.0.0.1", path), events: ["xp.earned"] }
      const made = await eventually(`a webhook to ${path}`, async () => {
        const reply = await ask(runners[0]!.url, key, "/v1/webhooks", body, path)
        return reply.status === 201 ? reply : undefined
      })
      inbox.#secrets.set(path, (made.body as { readonly secret: string }).secret)
    }
    return inbox
  }

  /** All messages of acknowledged writes have come, and no others. */
  async expect(path: InboxPath, load: ClusterLoad): Promise<void> {
    const deadline = performance.now() + waitMs
    for (const [userId, { least, most }] of load.expected) {
      const count = () => this.#counts.get(`${path} ${userId}`) ?? 0
      while (count() < least && performance.now() < deadline) await delay(10)
      if (count() >= least && count() <= most) continue
      this.onFound(
        `${path}: ${count()} messages about ${userId}, acknowledged: ${least} to ${most}`,
      )
    }
  }

  close(): Promise<void> {
    return this.#receiver.stop()
  }

  #receive(received: Received, response: ServerResponse): void {
    const path = received.path as InboxPath
    const { data, id } = received.message as XpEarned
    if (!isSignedBy(this.#secrets.get(path)!, received)) this.onFound(`${id} has a wrong signature`)
    if (path === "/failing" && Math.random() < refusals) {
      response.writeHead(503).end()
      return
    }
    setTimeout(() => response.writeHead(204).end(), answerMs)
    const name = `${path} ${received.headers["webhook-id"]}`
    const before = this.#bodies.get(name)
    if (before !== undefined) {
      this.again++
      if (before !== received.body) this.onFound(`${name}: ${received.body} after ${before}`)
      return
    }
    this.#bodies.set(name, received.body)
    const user = `${path} ${data.userId}`
    const count = (this.#counts.get(user) ?? 0) + 1
    this.#counts.set(user, count)
    if (path === "/steady" && data.total !== count) {
      this.onFound(`${name}: the total ${data.total} came as message ${count} of ${data.userId}`)
    }
  }
}
