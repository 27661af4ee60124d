import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import type { BadgeChange, CriterionParts } from "../../domain/decide/BadgeDefinitions.ts"
import type { Badge } from "../../domain/project/Definition.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { BackfillProgress } from "../../engine/badges/Backfills.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Badges, NewBadge } from "../api/Badges.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { factOf, foundOr, named, pageItems, referenceFaults } from "./Shapes.ts"

export const badgeHandlers = (engine: Engine["Service"]): Handlers<typeof Badges> => ({
  create: {
    moreFaults: referenceFaults(engine),
    handle: ({ caller, idempotency, payload }) => {
      const command = { kind: "createBadge", badge: newBadge(payload, makeId("bdg")) } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const body = showBadge(factOf(reply, "badge.created").badge)
        return { body, replayed, location: `/v1/badges/${body.id}` }
      })
    },
  },
  list: {
    handle: ({ caller, query: { archived = false, ...query } }) =>
      Effect.map(engine.readProject(caller.environment), ({ badges }) => {
        const chosen = (badge: Badge) => badge.archived === archived && isShown(caller, badge)
        const { items, page } = pageItems(badges.values(), query, showBadge, chosen)
        return { body: { badges: items, ...page } }
      }),
  },
  get: {
    handle: ({ caller, params }) =>
      Effect.gen(function* () {
        const { badges } = yield* engine.readProject(caller.environment)
        const badge = yield* foundOr(badges.get(params.id), badgeNotFound)
        if (!isShown(caller, badge)) return yield* Effect.fail(badgeNotFound)
        return { body: showBadge(badge) }
      }),
  },
  update: {
    moreFaults: referenceFaults(engine),
    handle: ({ caller, params, payload }) => {
      const { secret } = payload
      const change = named({ ...payload, secret: secret === null ? false : secret })
      const command = { kind: "updateBadge", badgeId: params.id, change } as const
      return Effect.map(engine.askProject(caller.environment, command), ({ reply }) => ({
        body: showBadge(factOf(reply, "badge.updated").badge),
      }))
    },
  },
  delete: {
    handle: ({ caller, params }) => {
      const command = { kind: "deleteBadge", badgeId: params.id } as const
      return Effect.as(engine.askProject(caller.environment, command), { body: undefined })
    },
  },
  startBackfill: {
    handle: ({ caller, idempotency, params, payload: { notify = false } }) => {
      const command = { kind: "startBackfill", badgeId: params.id, notify } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const { badgeId, notify } = factOf(reply, "backfill.started")
        const location = `/v1/badges/${badgeId}/backfill`
        return { body: { badgeId, notify, startedAt: isoTime(reply.at) }, replayed, location }
      })
    },
  },
  getBackfill: {
    handle: ({ caller: { environment }, params }) =>
      Effect.gen(function* () {
        const { badges } = yield* engine.readProject(environment)
        yield* foundOr(badges.get(params.id), badgeNotFound)
        const progress = yield* engine.readBackfill(environment, params.id)
        return { body: showBackfill(params.id, yield* foundOr(progress, backfillNotFound)) }
      }),
  },
})

export const newBadge = (payload: typeof NewBadge.Type, id: string) => {
  const { criteria, description = null, icon = null, name, secret = false } = payload
  return { id, name, description, icon, secret, criteria }
}

/** The change of a badge to what `payload` describes. */
export const badgeReplacement = (payload: typeof NewBadge.Type): BadgeChange => {
  const { criteria, id: _, ...members } = newBadge(payload, "")
  const none = {
    target: undefined,
    action: undefined,
    where: undefined,
    sumPath: undefined,
    streak: undefined,
  }
  return { ...members, criteria: { ...none, ...criteria } as CriterionParts }
}

const backfillNotFound = laurelError(
  "backfill_not_found",
  "The badge has no backfill, or is archived.",
)

const showBackfill = (badgeId: string, progress: BackfillProgress) => ({
  badgeId,
  ...progress,
  startedAt: isoTime(progress.startedAt),
  finishedAt: isoTimeOrNull(progress.finishedAt),
})

const badgeNotFound = laurelError("badge_not_found", "No badge of this project has this id.")

const isShown = (caller: Caller, { archived, secret }: Badge): boolean =>
  !isClient(caller) || !(archived || secret)

const showBadge = (badge: Badge) => ({
  ...badge,
  createdAt: isoTime(badge.createdAt),
  updatedAt: isoTime(badge.updatedAt),
})
