/** A commit as an event. */
import { callerIdFault } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import type { Commit } from "./GitHistory.ts"

export const commitAction = "COMMIT_PUSHED"
/** The xp of one commit by the demo's rule. */
export const commitXp = 10

const subjectCharactersMax = 500
/** The event must still be young enough when it arrives. */
const underwayMs = 3_600_000

export interface CommitEvent {
  readonly id: string
  readonly userId: string
  readonly action: typeof commitAction
  readonly occurredAt?: string
  readonly metadata: {
    readonly insertions: number
    readonly deletions: number
    readonly subject: string
    readonly authoredAt?: string
  }
}

/** Why an author can not be a user, or `undefined`. */
export const authorFault = (email: string): string | undefined => {
  const fault = callerIdFault(email)
  return fault === undefined ? undefined : `a user's id ${fault}`
}

/**
 * The event of a commit whose author can be a user. Only events of the last 30 days may say when they
 * occurred; older commits have their date in the metadata.
 */
export const commitEvent = (commit: Commit, now: number): CommitEvent => {
  const { authoredAt, authorEmail, deletions, hash, insertions, subject } = commit
  const date = authoredAt === undefined ? undefined : new Date(authoredAt).toISOString()
  const isRecent =
    authoredAt !== undefined &&
    authoredAt <= now &&
    authoredAt >= now - limits.occurredAtPastMs + underwayMs
  const metadata = {
    insertions,
    deletions,
    // The cut may go through a pair of surrogates.
    subject: subject.slice(0, subjectCharactersMax).toWellFormed(),
    ...(date !== undefined && !isRecent && { authoredAt: date }),
  }
  return {
    id: hash,
    userId: authorEmail,
    action: commitAction,
    ...(date !== undefined && isRecent && { occurredAt: date }),
    metadata,
  }
}
