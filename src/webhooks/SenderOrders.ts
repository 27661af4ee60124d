/**
 * What the thread that sends is told, and what it tells (`SenderThread.ts`, `SenderWorker.ts`). Both go in batches,
 * in order. Senders and attempts are named by numbers that are given once.
 */
import type { KeyObject } from "node:crypto"
import type { AttemptError } from "./Sender.ts"

/** How the thread begins. */
export interface SenderSettings {
  /** The CIDRs that may be reached though they are not public. */
  readonly allowed: ReadonlyArray<string>
  readonly timeoutMs: number
  /** Certificates that are trusted instead of the usual ones, in PEM. */
  readonly trusted: string | undefined
}

export type SenderOrder =
  | readonly ["open", sender: number, url: string]
  /** What its messages are signed with from now on. */
  | readonly ["keys", sender: number, keys: ReadonlyArray<KeyObject>]
  | readonly [
      "send",
      sender: number,
      attempt: number,
      id: string,
      timestampSeconds: number,
      body: string,
    ]
  | readonly ["giveUp", attempt: number]
  | readonly ["close", sender: number]
  /** The addresses of a host that was asked for; null where it has none. */
  | readonly ["resolved", question: number, addresses: ReadonlyArray<string> | null]

export type SenderReport =
  | readonly [
      "outcome",
      attempt: number,
      status: number | null,
      error: AttemptError | null,
      body: string,
      retryAfter: string | undefined,
      durationMs: number,
    ]
  | readonly ["resolve", question: number, host: string]
