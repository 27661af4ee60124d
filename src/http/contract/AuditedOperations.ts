/**
 * Writes changes of an environment to the audit log. A change by an API key is written here. A
 * change by a page of the dashboard is handed to the dashboard (`ChangeNotes`), which writes one
 * entry for the form.
 *
 * - The log has changes of what a project defines (settings, rules, quests, badges, boosts,
 *   currencies, metrics, segments, streaks, sources, webhooks), advances of test clocks, disqualifications, and
 *   erasures of users, which also erase the users' histories. A user's history has all other changes
 *   of the user, with their causes (`notLogged`).
 * - An entry shows each changed member before and after the change. Logged changes of one
 *   environment run one at a time, so that the value before a change is the value that the change
 *   replaced.
 * - A key writes at most `auditKeyEntriesPerHourMax` entries an hour, so that it cannot push out
 *   the entries of others. The next entry counts the changes that were left out.
 */
import { Context, Effect, Semaphore } from "effect"
import type {
  AuditAction,
  AuditActor,
  AuditChange,
  AuditLog,
} from "../../accounts/audit/AuditLog.ts"
import { logged } from "../../accounts/audit/AuditLog.ts"
import { HourlyCounts } from "../../accounts/audit/failedSignIns.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { JsonText } from "../body/Body.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"
import type { CompiledOperation, OperationReply, OperationRequest } from "./Operation.ts"
import type { OperationName } from "./Operations.ts"

/** A change as the log shows it: its subject, and the changed members. */
export interface ChangeNote {
  readonly subject: string
  readonly detail: string
  readonly changes: ReadonlyArray<AuditChange>
}

/** Receives the changes that one form makes. */
export const ChangeNotes = Context.Reference<((note: ChangeNote) => void) | undefined>(
  "http/contract/ChangeNotes",
  { defaultValue: () => undefined },
)

interface Logging {
  readonly action: AuditAction
  /** The operation that reads the subject before the change. It takes the same parameters. */
  readonly before?: OperationName
}

export const loggedOperations: Partial<Record<OperationName, Logging>> = {
  "project.update": { action: "settings.update", before: "project.get" },
  "definitions.apply": { action: "definitions.apply", before: "definitions.diff" },
  "testClock.advance": { action: "test_clock.advance", before: "testClock.get" },
  "rules.create": { action: "rule.create" },
  "rules.update": { action: "rule.update", before: "rules.get" },
  "rules.delete": { action: "rule.archive", before: "rules.get" },
  "quests.create": { action: "quest.create" },
  "quests.update": { action: "quest.update", before: "quests.get" },
  "quests.delete": { action: "quest.archive", before: "quests.get" },
  "badges.create": { action: "badge.create" },
  "badges.update": { action: "badge.update", before: "badges.get" },
  "badges.delete": { action: "badge.archive", before: "badges.get" },
  "metrics.create": { action: "metric.create" },
  "metrics.update": { action: "metric.update", before: "metrics.get" },
  "metrics.delete": { action: "metric.archive", before: "metrics.get" },
  "metrics.startBackfill": { action: "metric.backfill", before: "metrics.get" },
  "badges.startBackfill": { action: "badge.backfill", before: "badges.get" },
  "boosts.create": { action: "boost.create" },
  "boosts.update": { action: "boost.update", before: "boosts.get" },
  "boosts.delete": { action: "boost.archive", before: "boosts.get" },
  "currencies.create": { action: "currency.create" },
  "currencies.update": { action: "currency.update", before: "currencies.get" },
  "currencies.delete": { action: "currency.archive", before: "currencies.get" },
  "segments.create": { action: "segment.create" },
  "segments.update": { action: "segment.update", before: "segments.get" },
  "segments.delete": { action: "segment.archive", before: "segments.get" },
  "experiments.create": { action: "experiment.create" },
  "experiments.update": { action: "experiment.update", before: "experiments.get" },
  "experiments.delete": { action: "experiment.archive", before: "experiments.get" },
  "leaderboards.create": { action: "leaderboard.create" },
  "leaderboards.update": { action: "leaderboard.update", before: "leaderboards.get" },
  "leaderboards.delete": { action: "leaderboard.archive", before: "leaderboards.get" },
  "leaderboards.close": { action: "leaderboard.close", before: "leaderboards.get" },
  "leaderboards.disqualify": { action: "leaderboard.disqualify" },
  "leaderboards.disqualifyTeam": { action: "leaderboard.disqualify_team" },
  "leagues.disqualify": { action: "league.disqualify" },
  "leagues.create": { action: "league.create" },
  "leagues.update": { action: "league.update", before: "leagues.get" },
  "leagues.delete": { action: "league.archive", before: "leagues.get" },
  "items.create": { action: "item.create" },
  "items.update": { action: "item.update", before: "items.get" },
  "items.delete": { action: "item.archive", before: "items.get" },
  "goals.create": { action: "goal.create" },
  "goals.update": { action: "goal.update", before: "goals.get" },
  "goals.delete": { action: "goal.archive", before: "goals.get" },
  "sources.create": { action: "source.create" },
  "sources.update": { action: "source.update", before: "sources.get" },
  "sources.delete": { action: "source.archive", before: "sources.get" },
  "sources.rotateSecret": { action: "source.rotate_secret", before: "sources.get" },
  "streaks.create": { action: "streak.create" },
  "streaks.update": { action: "streak.update", before: "streaks.get" },
  "streaks.delete": { action: "streak.archive", before: "streaks.get" },
  "webhooks.create": { action: "webhook.create" },
  "webhooks.update": { action: "webhook.change", before: "webhooks.get" },
  "webhooks.delete": { action: "webhook.delete", before: "webhooks.get" },
  "webhooks.rotateSecret": { action: "webhook.rotate_secret", before: "webhooks.get" },
  "webhooks.test": { action: "webhook.test", before: "webhooks.get" },
  "webhooks.recover": { action: "webhook.recover", before: "webhooks.get" },
  "webhooks.redeliver": { action: "webhook.redeliver", before: "webhooks.get" },
  "teams.delete": { action: "team.delete", before: "teams.get" },
  "users.erase": { action: "user.erase" },
}

/** Operations whose changes are in a user's history, and operations that change nothing. */
export const notLogged: ReadonlyArray<OperationName> = [
  "events.track",
  "events.trackBatch",
  "events.importBatch",
  "ingest.segment",
  "ingest.posthog",
  "deliveries.receive",
  "users.put",
  "users.open",
  "users.merge",
  "users.startQuest",
  "users.pauseStreak",
  "users.repairStreak",
  "teams.put",
  "teams.join",
  "teams.leave",
  "users.createToken",
  "users.reward",
  "rewards.grantBatch",
  "openings.openBatch",
  "users.spend",
  "users.refund",
  "users.revokeReward",
  "purchases.create",
  "purchases.revoke",
  "users.revokeEvent",
  "project.simulate",
  "project.preview",
  "segments.preview",
  "items.preview",
  "sources.preview",
  "leaderboards.lookup",
  "definitions.diff",
]

type Request = OperationRequest<unknown, unknown, unknown>
type Handled = OperationReply<unknown> | StreamedReply
type Members = Readonly<Record<string, unknown>>

interface Parts {
  readonly log: AuditLog
  readonly now: () => number
  /** The name of an active key. */
  readonly keyName: (keyId: string) => string
  /** The name under which the log shows a user. */
  readonly userSubject: (environment: string, userId: string) => string
}

/** Adds logging to the operations in `loggedOperations`; returns the others unchanged. */
export const auditedOperations = (
  compiled: ReadonlyArray<CompiledOperation>,
  parts: Parts,
): ReadonlyArray<CompiledOperation> => {
  const byName = new Map(compiled.map((operation) => [operation.name, operation]))
  const changing = new Map<string, Semaphore.Semaphore>()
  const oneAtATime = <A>(environment: string, change: Effect.Effect<A, LaurelError>) => {
    const turn = changing.get(environment) ?? Semaphore.makeUnsafe(1)
    changing.set(environment, turn)
    return Semaphore.withPermit(turn, change)
  }
  const counts = new HourlyCounts(limits.auditKeyEntriesPerHourMax, parts.now)
  const unlogged = new Map<string, number>()

  const entryOf = ({ caller }: Request, action: AuditAction, note: ChangeNote) => {
    const { environmentName, keyId, projectId } = caller
    const missed = unlogged.get(keyId) ?? 0
    if (counts.isFull(keyId)) {
      unlogged.set(keyId, missed + 1)
      return undefined
    }
    counts.add(keyId)
    unlogged.delete(keyId)
    const others = missed === 0 ? [] : [`and ${missed} more changes since the entry before`]
    const detail = [note.detail, ...others].filter(Boolean).join(", ")
    const by: AuditActor = { id: keyId, key: parts.keyName(keyId) }
    return { action, by, ...note, detail, projectId, environment: environmentName }
  }

  const audit = (operation: CompiledOperation, { action, before }: Logging): CompiledOperation => {
    const reading = before === undefined ? undefined : byName.get(before)
    const handle = (request: Request): Effect.Effect<Handled, LaurelError> =>
      Effect.gen(function* () {
        const was = reading && (yield* read(reading, request))
        const reply: Handled = yield* operation.handle(request)
        return { was, reply }
      }).pipe(
        (changed) => oneAtATime(request.caller.environment, changed),
        (changed) => {
          const noteFor = ({ reply, was }: { readonly was: unknown; readonly reply: Handled }) =>
            noteOf(operation, request, was, reply, parts)
          if (request.caller.kind !== "account") {
            const done = logged(parts.log, changed, (result) => {
              const note = noteFor(result)
              return note && entryOf(request, action, note)
            })
            return Effect.map(done, ({ reply }) => reply)
          }
          return Effect.flatMap(changed, (result) =>
            Effect.map(ChangeNotes, (take) => {
              const note = take && noteFor(result)
              if (note !== undefined) take?.(note)
              return result.reply
            }),
          )
        },
      )
    return { ...operation, isLogged: true, handle }
  }

  return compiled.map((operation) => {
    const logging = loggedOperations[operation.name as OperationName]
    return logging === undefined ? operation : audit(operation, logging)
  })
}

/**
 * Reads the subject before a change; `undefined` if the read fails, and the change will fail too.
 */
const read = (reading: CompiledOperation, request: Request): Effect.Effect<unknown> =>
  reading.handle({ ...request, query: {}, idempotency: undefined, headers: {} }).pipe(
    Effect.map(bodyOf),
    Effect.orElseSucceed(() => undefined),
  )

const bodyOf = (reply: Handled): unknown => {
  if ("stream" in reply) return undefined
  return reply.body instanceof JsonText ? reply.body.parse() : reply.body
}

/** The note of a change; `undefined` if nothing changed. */
const noteOf = (
  { method, name, path }: CompiledOperation,
  { caller, params, payload }: Request,
  was: unknown,
  reply: Handled,
  { userSubject }: Parts,
): ChangeNote | undefined => {
  if ("replayed" in reply && reply.replayed) return undefined
  const asked = membersOf(params)
  const id = String(asked.id ?? "")
  if (path.startsWith("/v1/users/")) {
    return { subject: userSubject(caller.environment, id), detail: "", changes: [] }
  }
  const body = bodyOf(reply)
  if (name === "definitions.apply") return appliedNote(membersOf(was), membersOf(body))
  if (name === "testClock.advance") return advancedNote(membersOf(was), membersOf(body))
  if (name === "leaderboards.disqualify" || name === "leagues.disqualify") {
    const { disqualified, leaderboard, league } = membersOf(body)
    const changes = leaves("disqualified", undefined, disqualified)
    const subject = userSubject(caller.environment, String(asked.userId))
    const detail = league === undefined ? `leaderboard ${leaderboard}` : `league ${league}`
    return { subject, detail, changes }
  }
  if (name === "leaderboards.disqualifyTeam") {
    const { disqualified, leaderboard, teamId } = membersOf(body)
    const changes = leaves("disqualified", undefined, disqualified)
    return { subject: String(teamId), detail: `leaderboard ${leaderboard}`, changes }
  }
  const isShown = method === "POST" && id === ""
  const about = membersOf(isShown || was === undefined ? body : was)
  const delivery = asked.deliveryId === undefined ? [] : [String(asked.deliveryId)]
  const changes =
    method === "PATCH" ? changesOf(membersOf(payload), membersOf(was), membersOf(body)) : []
  if (method === "PATCH" && was !== undefined && changes.length === 0) return undefined
  return {
    // A path may name a definition by its key.
    subject: [String(about.id ?? id), ...delivery].join(" "),
    detail: titleOf(about),
    changes,
  }
}

const advancedNote = (was: Members, is: Members): ChangeNote | undefined =>
  was.advancedTo === is.advancedTo
    ? undefined
    : { subject: "", detail: "", changes: leaves("advancedTo", was.advancedTo, is.advancedTo) }

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null ? (value as Members) : {}

/** Names the subject for people. Of a URL it shows the host only: the rest may be a secret. */
const titleOf = ({ action, name, title, url }: Members): string => {
  if (typeof url === "string") return hostOf(url)
  return String(title ?? name ?? action ?? "")
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? ""

/**
 * The members that a patch names and that changed. An object gives one entry for each changed leaf.
 */
const changesOf = (patch: Members, was: Members, is: Members): ReadonlyArray<AuditChange> =>
  Object.keys(patch).flatMap((name) =>
    name === "url" ? urlChange(String(was.url), String(is.url)) : leaves(name, was[name], is[name]),
  )

const urlChange = (was: string, is: string): ReadonlyArray<AuditChange> => {
  if (was === is) return []
  const [before, after] = [hostOf(was), hostOf(is)]
  const to = before === after ? `${after}, another path` : after
  return [{ field: "url", from: before, to }]
}

const leaves = (field: string, was: unknown, is: unknown): ReadonlyArray<AuditChange> => {
  if (isObject(was) && isObject(is)) {
    const names = new Set([...Object.keys(was), ...Object.keys(is)])
    return [...names].flatMap((name) => leaves(`${field}.${name}`, was[name], is[name]))
  }
  const [from, to] = [JSON.stringify(was) ?? "", JSON.stringify(is) ?? ""]
  return from === to ? [] : [{ field, from, to }]
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Applied {
  readonly kind: string
  readonly id: string | null
  readonly op: string
  readonly members?: ReadonlyArray<{ name: string; before: string | null; after: string | null }>
}

/** `was` is the comparison of the file with the definitions before the change. */
const appliedNote = (was: Members, { created, deleted, updated }: Members) => {
  const compared = (was.changes ?? []) as ReadonlyArray<Applied>
  if (created === 0 && deleted === 0 && updated === 0) return undefined
  return {
    subject: "",
    detail: `${created} created, ${updated} updated, ${deleted} deleted`,
    changes: compared.flatMap(({ id, kind, members = [], op }) => {
      const which = id === null ? kind : `${kind} ${id}`
      return op === "update"
        ? members.map(({ after, before, name }) => ({
            field: `${which} ${name}`,
            from: before ?? "",
            to: after ?? "",
          }))
        : [{ field: which, from: "", to: `${op}d` }]
    }),
  }
}
