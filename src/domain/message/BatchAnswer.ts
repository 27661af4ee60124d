/** The answer to a batch, as far as it is about users: what a kept one has of somebody, and how it is without them. */
import { recordNameOf } from "../values/Ids.ts"

/** An outcome, or why there is none. */
interface Result {
  readonly userId?: string
  readonly eventId?: string
  readonly duplicate?: boolean
  readonly status?: number
}

export interface BatchAnswer {
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly results: ReadonlyArray<Result>
}

/** Everybody whom an answer tells of. */
export const usersOfAnswer = ({ results }: BatchAnswer): ReadonlySet<string> => {
  const users = new Set<string>()
  for (const { userId } of results) if (userId !== undefined) users.add(userId)
  return users
}

/**
 * The answer without what it says of events up to the sequence that `erasedThrough` has for their user: they
 * show as refused. The same object where there is none.
 */
export const withoutErased = (
  answer: BatchAnswer,
  erasedThrough: (userId: string) => number,
): BatchAnswer => {
  let { accepted, duplicates, rejected } = answer
  let results: Array<Result> | undefined
  answer.results.forEach(({ duplicate, eventId, userId }, index) => {
    if (userId === undefined || eventId === undefined) return
    const sequence = recordNameOf("evt", eventId)?.sequence ?? 0
    if (sequence > erasedThrough(userId)) return
    results ??= [...answer.results]
    results[index] = erased
    if (duplicate) duplicates--
    else accepted--
    rejected++
  })
  return results === undefined ? answer : { accepted, duplicates, rejected, results }
}

const erased = {
  status: 404,
  code: "user_not_found",
  detail: "The user has since been erased.",
  errors: [],
}
