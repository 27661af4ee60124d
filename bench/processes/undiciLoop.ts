/** undici alone: posts signed messages over and over, and waits for each reply. */
import { Pool } from "undici"
import { answer } from "../children.ts"
import type { KeptMessage } from "./webhookReceiver.ts"

export interface UndiciLoopOptions {
  readonly port: number
  readonly messages: ReadonlyArray<KeptMessage>
  readonly connections: number
  readonly count: number
}

await answer(async ({ connections, count, messages, port }: UndiciLoopOptions) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  let next = 0
  const loop = async (until: number): Promise<void> => {
    while (next < until) {
      const { body, headers } = messages[next++ % messages.length]!
      const reply = await pool.request({ path: "/hook", method: "POST", headers, body })
      if (reply.statusCode !== 204) throw new Error(`status ${reply.statusCode}`)
      await reply.body.dump()
    }
  }
  const loops = (until: number) =>
    Promise.all(Array.from({ length: connections }, () => loop(until)))
  await loops(Math.floor(count / 4))
  const startedAt = performance.now()
  const from = next
  await loops(from + count)
  const perSecond = ((next - from) * 1_000) / (performance.now() - startedAt)
  await pool.close()
  return { perSecond }
})
