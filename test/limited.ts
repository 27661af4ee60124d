import { Effect, type Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { limits } from "../src/Limits.ts"

type Changes = { readonly [Name in keyof typeof limits]?: number }

/** Changes limits, and returns what changes them back. */
const change = (changes: Changes): (() => void) => {
  const former = Object.fromEntries(
    Object.keys(changes).map((name) => [name, limits[name as keyof typeof limits]]),
  )
  Object.assign(limits, changes)
  return () => void Object.assign(limits, former)
}

/** Other limits until the scope ends: `yield* limited({ clusterPartitions: 3 })`. */
export const limited = (changes: Changes): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => change(changes)),
      (restore) => Effect.sync(restore),
    ),
  )

/**
 * Other limits in the tests of a file, which calls this at its top. A change that outlives the file
 * would reach the files that the same worker runs later.
 */
export const limitedInFile = (changes: Changes): void => {
  let restore = () => {}
  beforeAll(() => {
    restore = change(changes)
  })
  afterAll(() => restore())
}

/** Buckets that split with a few users, and states that are values of their own. */
export const smallBuckets = {
  bucketBytesMax: 600,
  bucketSplitUsersMin: 2,
  stateInlineBytesMax: 150,
} as const
