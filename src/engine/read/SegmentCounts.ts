/**
 * Counts the members of segments in the background. A read of a segment asks for its count
 * (`read`); if there is none of its present form, or if it is old, the environment's next pass counts
 * it. A pass looks at every user once, for all segments that were asked for, and sees each user as
 * of the moment at which it reaches that user. Nothing is stored: after a restart, the next read
 * asks again.
 *
 * Cost: a decode of each user's state, and the conditions of the segments. A pass yields to the
 * event loop after `segmentCountTurnMs`, and one pass runs at a time. A bucket is decoded in one
 * turn (`bucketBytesMax`).
 */
import { Cause, Effect, Latch } from "effect"
import { timeIn } from "../../domain/project/Project.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import { isMember } from "../../domain/user/Membership.ts"
import { limits } from "../../Limits.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Environment, Environments } from "../actor/Environments.ts"
import { prefixesEnd } from "../users/BucketTable.ts"

/** `null`: not counted yet. `countedAt` is the environment's time, epoch milliseconds. */
export interface SegmentCount {
  readonly count: number | null
  readonly countedAt: number | null
  readonly counting: boolean
}

/** The last count of a segment in the form `segment`. */
interface Counted {
  readonly segment: Segment
  readonly count: number
  readonly countedAt: number
}

interface SegmentCountsParts {
  readonly environments: Environments
  readonly now: () => number
}

export class SegmentCounts {
  readonly #parts: SegmentCountsParts
  /** By environment and id. */
  readonly #counted = new Map<string, Map<string, Counted>>()
  /** The ids of the segments to count, by environment. */
  readonly #asked = new Map<string, Set<string>>()
  readonly #woken = Latch.makeUnsafe(false)

  constructor(parts: SegmentCountsParts) {
    this.#parts = parts
  }

  /** The last count of a segment. Asks for a new one if it is out of date. */
  read({ id, project: { durable } }: Environment, segmentId: string): SegmentCount {
    const segment = durable.segments.get(segmentId)
    const last = this.#counted.get(id)?.get(segmentId)
    // An edit of the segment makes a new count.
    const known = last?.segment === segment ? last : undefined
    const now = timeIn(durable, this.#parts.now())
    const isFresh = known !== undefined && now - known.countedAt < limits.segmentCountFreshMs
    if (segment?.set === "published" && !isFresh) this.#ask(id, segmentId)
    return {
      count: known?.count ?? null,
      countedAt: known?.countedAt ?? null,
      counting: this.#asked.get(id)?.has(segmentId) === true,
    }
  }

  #ask(environmentId: string, segmentId: string): void {
    const asked = this.#asked.get(environmentId) ?? new Set()
    this.#asked.set(environmentId, asked)
    asked.add(segmentId)
    this.#woken.openUnsafe()
  }

  /** Counts what reads ask for; never ends by itself. */
  readonly run: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.#woken.await
      // Reads of one turn share a pass, and none of them waits for it.
      yield* yieldToEventLoop
      this.#woken.closeUnsafe()
      for (const [id, asked] of this.#asked) {
        // A defect in one user's state must not end the process: it would do so at each read.
        yield* Effect.catchCause(this.#pass(id, [...asked]), (cause) =>
          Cause.hasDies(cause)
            ? Effect.logError("The members of a segment could not be counted", cause)
            : Effect.failCause(cause),
        )
      }
    }
  })

  /** Counts the members of these segments, and forgets counts of archived ones. */
  readonly #pass = Effect.fnUntraced(function* (
    this: SegmentCounts,
    environmentId: string,
    ids: ReadonlyArray<string>,
  ) {
    const asked = this.#asked.get(environmentId)
    if (ids.length === 0) return
    const environment = this.#parts.environments.of(environmentId)
    const { segments } = environment.project.durable
    const counts = ids
      .map((id) => segments.get(id))
      .filter((segment) => segment !== undefined)
      .map((segment) => ({ segment, count: 0 }))
    yield* Effect.ensuring(
      this.#look(environment, counts),
      Effect.sync(() => {
        for (const id of ids) asked?.delete(id)
      }),
    )
    const { durable } = environment.project
    const countedAt = timeIn(durable, this.#parts.now())
    const counted = new Map(this.#counted.get(environmentId))
    for (const each of counts) counted.set(each.segment.id, { ...each, countedAt })
    for (const id of counted.keys()) {
      if (durable.segments.get(id)?.set !== "published") counted.delete(id)
    }
    this.#counted.set(environmentId, counted)
  })

  /** Looks at every user of the environment, and adds the members to `counts`. */
  readonly #look = Effect.fnUntraced(function* (
    this: SegmentCounts,
    environment: Environment,
    counts: ReadonlyArray<{ readonly segment: Segment; count: number }>,
  ) {
    let turnEndsAt = performance.now() + limits.segmentCountTurnMs
    for (let prefix = 0; prefix < prefixesEnd; ) {
      const { next, users } = environment.usersFrom(prefix)
      prefix = next
      for (const user of users) {
        const project = environment.project.durable
        const person = { userId: user.id, user, project, now: timeIn(project, this.#parts.now()) }
        for (const each of counts) if (isMember(person, each.segment)) each.count++
        if (performance.now() < turnEndsAt) continue
        yield* yieldToEventLoop
        turnEndsAt = performance.now() + limits.segmentCountTurnMs
      }
    }
  })
}
