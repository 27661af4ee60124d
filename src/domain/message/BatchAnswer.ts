/** The users in the kept answer to a batch, and the answer without erased users. */
import { recordNameOf } from "../values/Ids.ts"

/** An outcome or a refusal. */
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
  /** Absent where the caller asked for counts and refusals alone, which name no user. */
  readonly results?: ReadonlyArray<Result>
}

/** The users in an answer. */
export const usersOfAnswer = ({ results = [] }: BatchAnswer): ReadonlySet<string> => {
  const users = new Set<string>()
  for (const { userId } of results) if (userId !== undefined) users.add(userId)
  return users
}

/**
 * The answer with events up to their user's sequence in `erasedThrough` shown as refused. The same object if there are
 * none.
 */
export const withoutErased = (
  answer: BatchAnswer,
  erasedThrough: (userId: string) => number,
): BatchAnswer => {
  let { accepted, duplicates, rejected } = answer
  let results: Array<Result> | undefined
  answer.results?.forEach(({ duplicate, eventId, userId }, index) => {
    if (userId === undefined || eventId === undefined) return
    const sequence = recordNameOf("evt", eventId)?.sequence ?? 0
    if (sequence > erasedThrough(userId)) return
    results ??= [...answer.results!]
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
