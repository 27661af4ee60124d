import { operations } from "./generated/operations.ts"
import { type Laurel, type LaurelOptions, makeLaurel } from "./Laurel.ts"

export type { CallOptions, KeyedCallOptions } from "./CallOptions.ts"
export type * from "./generated/types.ts"
export type { Laurel, LaurelOptions, StreamOptions } from "./Laurel.ts"
export { LaurelError, type LaurelErrorCode } from "./LaurelError.ts"
export type { StreamState } from "./stream.ts"

export const createLaurel = (options: LaurelOptions): Laurel => makeLaurel(operations, options)
