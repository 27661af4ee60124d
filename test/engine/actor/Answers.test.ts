import { expect, it } from "vitest"
import type { AnyEnvelope } from "../../../src/engine/actor/Actor.ts"
import { Actor, type AnyActor } from "../../../src/engine/actor/Actor.ts"
import { Answers, type CommitEntry } from "../../../src/engine/actor/Answers.ts"

it("A commit entry answers its caller once, and then drops the caller", () => {
  const answers = new Answers({
    commit: {
      afterCommit: () => expect.unreachable("nothing waits"),
    } as unknown as ConstructorParameters<typeof Answers>[0]["commit"],
    onGiven: () => {},
    onUnused: () => {},
  })
  const actor = new Actor({ actor: "directory" }, {
    empty: undefined,
  } as unknown as AnyActor["kind"])
  let answered = 0
  const envelope = { answered: () => answered++ } as unknown as AnyEnvelope
  const record = {
    sequence: 1,
    at: 0,
    subject: actor.subject,
    cause: { kind: "request" },
    facts: [],
  }
  const entry = { actor, record, state: undefined, envelope } as unknown as CommitEntry
  answers.taken(actor)

  answers.committed(entry)
  expect(entry.envelope).toBeUndefined()
  answers.committed(entry)

  expect(answered).toBe(1)
  expect(actor.unanswered).toBe(0)
})
