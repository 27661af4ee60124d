/**
 * Forwards one message as a webhook would send it, and says what came of it. Any status is an answer: a handler under
 * development is not asked again. Where there is no reply, the message is sent again, at most `listenAttemptsMax` times in all;
 * then the next one follows, since a receiver may stay away for hours.
 */
import type { KeyObject } from "node:crypto"
import { pause } from "../../client/limit.ts"
import { limits } from "../../Limits.ts"
import { sign } from "../../webhooks/send/Signature.ts"

export interface Forwarding {
  readonly target: URL
  readonly key: KeyObject
  readonly say: (line: string) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

interface Named {
  readonly id: string
  readonly type: string
  readonly data: { readonly userId?: string }
}

export const forward = async (text: string, forwarding: Forwarding): Promise<void> => {
  const { say, signal } = forwarding
  const { data, id, type } = JSON.parse(text) as Named
  const subject = [type, id, data.userId ?? "-"].join("  ")
  for (let attempt = 1; !signal.aborted; attempt++) {
    const begunAt = performance.now()
    const reply = await post(text, id, forwarding)
    const durationMs = Math.round(performance.now() - begunAt)
    if (typeof reply === "number") return say(`${clock()}  ${reply}  ${subject}  ${durationMs} ms`)
    if (signal.aborted) return
    const delayMs = limits.listenRetryMs * 2 ** (attempt - 1)
    const isLast = attempt === limits.listenAttemptsMax
    const next = isLast
      ? "given up"
      : `attempt ${attempt + 1} of ${limits.listenAttemptsMax} in ${delayMs / 1_000} s`
    say(`${clock()}  ---  ${subject}  ${reply}; ${next}`)
    if (isLast) return
    await pause(delayMs, signal)
  }
}

const clock = (): string => new Date().toTimeString().slice(0, 8)

/** The status, or why there is none. */
const post = async (
  body: string,
  id: string,
  { key, signal, target }: Forwarding,
): Promise<number | string> => {
  const timestampSeconds = Math.floor(Date.now() / 1_000)
  const headers = {
    "content-type": "application/json",
    "user-agent": "Laurel",
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign([key], id, timestampSeconds, body),
  }
  const late = AbortSignal.timeout(limits.webhookTimeoutMs)
  try {
    const reply = await fetch(target, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, late]),
    })
    await reply.body?.cancel()
    return reply.status
  } catch (error) {
    if (late.aborted) return `no reply within ${limits.webhookTimeoutMs / 1_000} s`
    const { cause } = error as { readonly cause?: { readonly code?: string } }
    return cause?.code === "ECONNREFUSED"
      ? `nothing listens at ${target.host}`
      : `no reply (${cause?.code ?? error})`
  }
}
