/**
 * What the thread that sends is told, and what it tells (`SenderThread.ts`, `SenderWorker.ts`). Both go in batches,
 * in order. Senders and attempts are named by numbers that are given once.
 */
import type { KeyObject } from "node:crypto"
import type { Told } from "../../engine/commit/Feed.ts"
import type { Outcome } from "./Sender.ts"

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
  | readonly ["send", sender: number, attempt: number, message: Told, timestampSeconds: number]
  | readonly ["giveUp", attempt: number]
  | readonly ["close", sender: number]
  /** The addresses of a host that was asked for; null where it has none. */
  | readonly ["resolved", question: number, addresses: ReadonlyArray<string> | null]

/** What has become of attempts, `outcomeLength` values for each: arrays of their own would cost more to tell. */
export type SenderOutcomes = Array<number | string | null | undefined>
export const outcomeLength = 6

/** What the thread tells in one go. */
export interface SenderReports {
  readonly outcomes: SenderOutcomes
  /** Hosts whose addresses it asks for, by the number of the question. */
  readonly questions: ReadonlyArray<readonly [question: number, host: string]>
}

/** Adds the outcome of an attempt to what is told. */
export const pushOutcome = (
  outcomes: SenderOutcomes,
  attempt: number,
  { body, durationMs, error, retryAfter, status }: Outcome,
): number => outcomes.push(attempt, status, error, body, retryAfter, durationMs)

/** Calls `settle` with each outcome that was told. */
export const eachOutcome = (
  outcomes: SenderOutcomes,
  settle: (attempt: number, outcome: Outcome) => void,
): void => {
  for (let at = 0; at < outcomes.length; at += outcomeLength) {
    settle(outcomes[at] as number, {
      status: outcomes[at + 1] as Outcome["status"],
      error: outcomes[at + 2] as Outcome["error"],
      body: outcomes[at + 3] as string,
      retryAfter: outcomes[at + 4] as Outcome["retryAfter"],
      durationMs: outcomes[at + 5] as number,
    })
  }
}
