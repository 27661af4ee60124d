import { Effect } from "effect"
import { actionIndexOf, namesAction } from "../../domain/project/ActionIndex.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Actions } from "../api/Actions.ts"
import type { Handlers } from "../contract/Interpreter.ts"

export const actionHandlers = (engine: Engine["Service"]): Handlers<typeof Actions> => ({
  list: {
    handle: ({ caller: { environment } }) =>
      Effect.map(engine.readActions(environment), ({ actions, others }) => {
        const index = actionIndexOf(engine.projectNow(environment))
        const latest = [...actions].sort(([, one], [, other]) => other.lastAt - one.lastAt)
        return {
          body: {
            actions: latest.map(([action, { count, lastAt }]) => ({
              action,
              count,
              lastReceivedAt: isoTime(lastAt),
              matched: namesAction(index, action),
            })),
            others: {
              count: others.count,
              lastReceivedAt: others.count === 0 ? null : isoTime(others.lastAt),
            },
          },
        }
      }),
  },
})
