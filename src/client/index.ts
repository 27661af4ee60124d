import { operations } from "./generated/operations.ts"
import { type Laurel, type LaurelOptions, makeLaurel } from "./Laurel.ts"

export type { CallOptions, ChangeCallOptions, KeyedCallOptions, List } from "./CallOptions.ts"
export type * from "./generated/types.ts"
export type { Laurel, LaurelOptions, StreamOptions } from "./Laurel.ts"
export { LaurelError, type LaurelErrorCode } from "./LaurelError.ts"
export type { StreamState } from "./stream.ts"

/**
 * Creates a client of the server at `url`. The call itself sends no request and does not fail.
 *
 * ```ts
 * const laurel = createLaurel({ url: "https://laurel.example", key: "lk_live_…" })
 * const { xp } = await laurel.events.track({ userId: "ada", action: "LESSON_DONE", id: "lesson-7" })
 * console.log(xp.earned, xp.total) // 50 50
 * ```
 */
export const createLaurel = (options: LaurelOptions): Laurel => makeLaurel(operations, options)
