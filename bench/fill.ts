/** Users with events, sent in batches over HTTP. */
import { setTimeout as sleep } from "node:timers/promises"
import { lessonDone, newEventId, userIdAt } from "./events.ts"
import type { Target } from "./load/wrk.ts"

const together = 1_000
const patienceMs = 1_000

/**
 * Sends one event of each of the first `users` users, with the id that `idOf` gives the n-th, and
 * repeats refused batches. Resolves with the number of refusals.
 */
export const fill = async (
  { host = "127.0.0.1", key, port }: Target,
  users: number,
  callers = 4,
  idOf: (n: number) => string = () => newEventId(),
): Promise<number> => {
  let next = 0
  let refused = 0
  const send = async (first: number): Promise<void> => {
    const events = Array.from({ length: Math.min(together, users - first) }, (_, n) => ({
      id: idOf(first + n),
      ...lessonDone(userIdAt(first + n)),
    }))
    const reply = await fetch(`http://${host}:${port}/v1/events/batch`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        prefer: "return=minimal",
      },
      body: JSON.stringify({ events }),
    })
    const text = await reply.text()
    if (reply.status === 200 && text.includes('"rejected":0,')) return
    if (!text.includes('"overloaded"')) throw new Error(`${reply.status}: ${text.slice(0, 500)}`)
    refused++
    await sleep(patienceMs)
    await send(first)
  }
  const sendOthers = async (): Promise<void> => {
    for (; next < users; await send(next - together)) next += together
  }
  await Promise.all(Array.from({ length: callers }, sendOthers))
  return refused
}
