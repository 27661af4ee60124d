import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { CommitPipeline, commitStages } from "../../../src/engine/commit/GroupCommit.ts"
import { rule, sandbox, startInMemory } from "../fixture.ts"

describe("The commit pipeline", () => {
  it("runs all stages of a record in their order, whatever the order of subscription, before the next record", () => {
    const pipeline = new CommitPipeline<number>()
    const ran: Array<string> = []
    for (const stage of commitStages.toReversed()) {
      pipeline.on(stage, (sequence) => ran.push(`${sequence} ${stage}`))
    }
    pipeline.committed([1, 2])
    expect(ran).toEqual([1, 2].flatMap((sequence) => commitStages.map((s) => `${sequence} ${s}`)))
  })

  it.effect("passes a record to the feed after the actor's durable state has it", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* startInMemory()
      const rules: Array<number> = []
      yield* engine.feed.onProjectRecord(() => {
        rules.push(Effect.runSync(engine.readProject(sandbox)).rules.size)
      })
      yield* engine.askProject(sandbox, rule("RUN", 1))
      yield* engine.askProject(sandbox, rule("SWIM", 1))
      expect(rules).toEqual([1, 2])
      yield* close()
    }).pipe(Effect.scoped),
  )
})
