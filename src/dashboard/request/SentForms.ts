/**
 * Makes one change of a form that is sent twice, by a double click or by sending a page again. The
 * second request gets the first reply, since a browser shows the reply to its last request:
 * otherwise a second key would be created, or nobody would see a secret.
 *
 * Operations of the contract do the same by their idempotency key, also after a restart. This
 * covers all other forms, in memory and for a minute. A refused form may be sent again.
 */
import { createHash } from "node:crypto"
import { Deferred, Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import { limits } from "../../Limits.ts"
import type { Reply } from "../view/Replies.ts"
import type { MemberVisit } from "./Route.ts"

type Answer = Reply | StreamedReply

interface Sent {
  readonly at: number
  readonly answer: Deferred.Deferred<Answer, LaurelError>
}

export class SentForms {
  /** In the order of their arrival. */
  readonly #sent = new Map<string, Sent>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** How many forms are remembered. */
  get size(): number {
    return this.#sent.size
  }

  /**
   * Does `work`, unless the session sent the same form with the same `idempotencyKey` and texts
   * within the last minute.
   */
  once(
    { form, member, request }: Pick<MemberVisit, "form" | "member" | "request">,
    work: Effect.Effect<Answer, LaurelError>,
  ): Effect.Effect<Answer, LaurelError> {
    if (form.optional("idempotencyKey") === undefined) return work
    return Effect.suspend(() => {
      const at = this.#now()
      const name = createHash("sha256")
        .update(`${member.session.id}\n${request.path}\n`)
        .update(request.body)
        .digest("base64")
      const before = this.#sent.get(name)
      if (before !== undefined && at - before.at < limits.sentFormMs) {
        return Deferred.await(before.answer)
      }
      const sent = { at, answer: Deferred.makeUnsafe<Answer, LaurelError>() }
      this.#remember(name, sent)
      return Effect.onExit(work, (exit) => {
        const isDone =
          exit._tag === "Success" && "status" in exit.value && exit.value.status === 303
        if (!isDone && this.#sent.get(name) === sent) this.#sent.delete(name)
        return Deferred.done(sent.answer, exit)
      })
    })
  }

  #remember(name: string, sent: Sent): void {
    this.#sent.delete(name)
    for (const [other, { at }] of this.#sent) {
      if (sent.at - at < limits.sentFormMs && this.#sent.size < limits.sentFormsMax) break
      this.#sent.delete(other)
    }
    this.#sent.set(name, sent)
  }
}
