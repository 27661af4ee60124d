/** Writes what forms do to the audit log: the one place for all of them. */
import { Effect } from "effect"
import type { AuditLog } from "../../accounts/audit/AuditLog.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import type { AuditNote, Reply } from "../view/Replies.ts"
import type { PlaceVisit, Route, Visit } from "./Route.ts"

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

/**
 * The answer of a route; once that of a form succeeded, the log has an entry of its action. Fails with the log's refusal
 * before anything is done, and after it where the entry could not be written: the error says which.
 */
export const audited = (
  log: AuditLog,
  route: Route,
  visit: Visit & Partial<Pick<PlaceVisit, "member" | "place">>,
  answer: () => Answer,
): Answer => {
  if (route.method === "GET" || route.action === "none") return Effect.suspend(answer)
  const { action } = route
  const { member, params, place, request } = visit
  // Once the action is done, no interruption may come between it and its entry.
  return Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      yield* log.admit(member?.account.id)
      const reply = yield* restore(Effect.suspend(answer))
      if ("status" in reply && reply.status >= 400) return reply
      const note: AuditNote = ("audit" in reply && reply.audit) || {}
      const account = note.account ?? member?.account
      // The account was not known before it signed in.
      if (member === undefined && account !== undefined) yield* log.admit(account.id)
      yield* log.write({
        action,
        by: account === undefined ? "visitor" : { id: account.id, email: account.email },
        subject: note.subject ?? subjectOf(params),
        detail: note.detail ?? "",
        projectId: place?.project.id ?? null,
        environment: place?.environment ?? null,
        address: request.address,
        requestId: request.requestId,
      })
      return reply
    }),
  )
}

/** The ids in the path, but for the project and its environment. */
const subjectOf = ({ environment, project, ...others }: Visit["params"]): string =>
  Object.values(others).map(decoded).join(" ")

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
