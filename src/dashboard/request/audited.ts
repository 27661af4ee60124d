/** Writes an audit log entry for each form that succeeds. No other code logs forms. */
import { Effect } from "effect"
import type { AuditAction, AuditLog } from "../../accounts/audit/AuditLog.ts"
import { logged, RequestOrigin } from "../../accounts/audit/AuditLog.ts"
import { userSubject } from "../../accounts/audit/userSubject.ts"
import { environmentId } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { type ChangeNote, ChangeNotes } from "../../http/contract/AuditedOperations.ts"
import { percentDecode } from "../../http/request/RequestParts.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import type { AuditNote, Reply } from "../view/Replies.ts"
import type { PlaceVisit, Route, Visit } from "./Route.ts"

type Answer = Effect.Effect<Reply | StreamedReply, LaurelError>

/** Answers a route. When a form succeeds, the audit log gets an entry of its action (`logged`). */
export const audited = (
  log: AuditLog,
  route: Route,
  visit: Visit & Partial<Pick<PlaceVisit, "member" | "place">>,
  answer: () => Answer,
): Answer => {
  if (route.method === "GET" || route.action === "none") return Effect.suspend(answer)
  const { action } = route
  const { member, place, request } = visit
  const { address, requestId } = request
  const noted: Array<ChangeNote> = []
  const answered = logged(
    protective.has(action) ? unlimited(log) : log,
    Effect.provideService(Effect.suspend(answer), ChangeNotes, (one) => void noted.push(one)),
    (reply) => {
      if ("status" in reply && reply.status >= 400) return undefined
      const note: AuditNote = ("audit" in reply && reply.audit) || {}
      const changes = noted.flatMap((one) => one.changes)
      const account = note.account ?? member?.account
      return {
        action,
        by: account === undefined ? "visitor" : { id: account.id, email: account.email },
        subject: note.subject ?? subjectOf(visit),
        detail: note.detail ?? noted[0]?.detail ?? "",
        ...(changes.length > 0 && { changes }),
        projectId: place?.project.id ?? note.projectId ?? null,
        environment: place?.environment ?? null,
      }
    },
    member?.account.id,
  )
  return Effect.provideService(answered, RequestOrigin, { address, requestId })
}

/**
 * Forms that an account may still send after it has used up the entries of the hour. Without them,
 * somebody with a stolen session could use up the hour, and the owner could neither end that
 * session nor revoke keys. Each form ends something, so the number of entries stays small.
 */
const protective: ReadonlySet<string> = new Set<AuditAction>([
  "key.revoke",
  "session.end",
  "session.sign_out",
])

const unlimited = (log: AuditLog): AuditLog => ({ ...log, admit: () => log.admit() })

/**
 * The ids in the path, without the project and the environment. No entry has the id of a user or an
 * id that a caller chose.
 */
const subjectOf = ({ directory, params, place }: Visit & Partial<PlaceVisit>): string => {
  const { environment: _, project: __, user, ...others } = params
  const ids = Object.values(others).map((part) => percentDecode(part) ?? part)
  if (user === undefined || place === undefined) return ids.join(" ")
  const environment = environmentId(place.project.id, place.environment)
  const hash = userSubject(directory.hashSecret, environment, percentDecode(user) ?? user)
  return [hash, ...ids.filter((id) => /^[a-z]{3}_[0-9a-z]+$/.test(id))].join(" ")
}
