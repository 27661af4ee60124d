import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { MemberVisit } from "../../../src/dashboard/request/Route.ts"
import { SentForms } from "../../../src/dashboard/request/SentForms.ts"
import { Form } from "../../../src/dashboard/view/Forms.ts"
import { redirect } from "../../../src/dashboard/view/Replies.ts"
import { limits } from "../../../src/Limits.ts"

const visitOf = (text: string) => {
  const form = new Form(text)
  const request = { path: "/dashboard/projects", body: Buffer.from(text) }
  return { form, request, member: { session: { id: "ses_1" } } } as MemberVisit
}

describe("Forms that were sent", () => {
  it.effect(`are remembered up to ${limits.sentFormsMax}, the newest ones`, () =>
    Effect.gen(function* () {
      let done = 0
      const forms = new SentForms(() => 0)
      const send = (number: number) =>
        forms.once(
          visitOf(`idempotencyKey=${number}`),
          Effect.sync(() => redirect(`/${++done}`)),
        )
      for (let number = 0; number <= limits.sentFormsMax; number++) yield* send(number)
      expect(forms.size).toBe(limits.sentFormsMax)
      yield* send(1)
      expect(done).toBe(limits.sentFormsMax + 1)
      yield* send(0)
      expect(done).toBe(limits.sentFormsMax + 2)
    }),
  )

  it.effect("are forgotten after a minute, and at once when their work fails", () =>
    Effect.gen(function* () {
      let now = 0
      const forms = new SentForms(() => now)
      const work = Effect.sync(() => redirect("/"))
      yield* forms.once(visitOf("idempotencyKey=a"), work)
      now = limits.sentFormMs
      yield* forms.once(visitOf("idempotencyKey=b"), work)
      expect(forms.size).toBe(1)
      yield* Effect.exit(forms.once(visitOf("idempotencyKey=c"), Effect.die("defect")))
      yield* Effect.exit(forms.once(visitOf("idempotencyKey=c"), Effect.interrupt))
      expect(forms.size).toBe(1)
      yield* forms.once(visitOf("name=without-a-key"), work)
      expect(forms.size).toBe(1)
    }),
  )
})
