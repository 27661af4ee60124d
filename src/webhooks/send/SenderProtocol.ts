/**
 * The protocol between `SenderThread.ts` and its worker (`SenderWorker.ts`). Orders and reports are
 * sent in batches, in order. Numbers identify senders and attempts; no number is used twice.
 */
import type { KeyObject } from "node:crypto"
import type { Told } from "../../engine/commit/Feed.ts"
import type { Outcome } from "./Sender.ts"

/** The settings of the thread. */
export interface SenderSettings {
  /** The CIDRs that are allowed although they are not public. */
  readonly allowed: ReadonlyArray<string>
  readonly timeoutMs: number
  /** Certificates in PEM that are trusted instead of the default ones. */
  readonly trusted: string | undefined
}

export type SenderOrder =
  | readonly ["open", sender: number, url: string]
  /** The keys that sign its messages from now on. */
  | readonly ["keys", sender: number, keys: ReadonlyArray<KeyObject>]
  | readonly [
      "send",
      sender: number,
      attempt: number,
      message: Told,
      timestampSeconds: number,
      trace: string | undefined,
    ]
  | readonly ["giveUp", attempt: number]
  | readonly ["close", sender: number]
  /** The addresses of a requested host; null if the lookup failed. */
  | readonly ["resolved", question: number, addresses: ReadonlyArray<string> | null]

/**
 * Outcomes of attempts as a flat array, `outcomeLength` values each: an array for each outcome
 * would cost more to transfer.
 */
export type SenderOutcomes = Array<number | string | null | undefined>
export const outcomeLength = 6

/** A batch of reports from the thread. */
export interface SenderReports {
  readonly outcomes: SenderOutcomes
  /** Hosts whose addresses the thread requests, by the number of the request. */
  readonly questions: ReadonlyArray<readonly [question: number, host: string]>
}

/** Adds the outcome of an attempt to a report. */
export const pushOutcome = (
  outcomes: SenderOutcomes,
  attempt: number,
  { body, durationMs, error, retryAfter, status }: Outcome,
): number => outcomes.push(attempt, status, error, body, retryAfter, durationMs)

/** Calls `settle` with each outcome of a report. */
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
