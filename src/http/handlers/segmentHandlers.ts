import { Effect } from "effect"
import { conditionFaults } from "../../domain/decide/SegmentDefinitions.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import { comparedBy, holdsFor, isMember } from "../../domain/user/Membership.ts"
import { invalidRequest } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { NewSegment, SegmentPatch, Segments } from "../api/Segments.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { named, newMembers } from "./Shapes.ts"

export const segmentHandlers = (engine: Engine["Service"]): Handlers<typeof Segments> => ({
  ...kindOperations(engine, "segment", {
    made: newSegment,
    changed: (patch: typeof SegmentPatch.Type) => named(patch),
    show: showSegment,
    found: (segment, shown, { environment }) =>
      Effect.map(engine.readSegmentCount(environment, segment.id), ({ countedAt, ...members }) => ({
        ...shown,
        members: { ...members, countedAt: isoTimeOrNull(countedAt) },
      })),
  }),
  preview: {
    handle: ({ caller: { environment }, payload: { conditions, match = "all", userId } }) =>
      Effect.gen(function* () {
        const project = yield* engine.readProject(environment)
        const faults = conditionFaults(project, conditions, "/conditions")
        if (faults.length > 0) return yield* Effect.fail(invalidRequest(faults))
        const user = yield* engine.readUser(environment, userId)
        const person = { userId, user, project, now: engine.timeIn(environment) }
        const tried = conditions.map((condition) => ({
          holds: holdsFor(person, condition),
          found: shown(comparedBy(person, condition), condition.kind === "badge"),
        }))
        const member = isMember(person, { conditions, match })
        return { body: { userId, member, conditions: tried } }
      }),
  },
})

/** What a condition compared, in a reply. */
const shown = (found: unknown, isTime: boolean): string | number | boolean | null => {
  if (typeof found === "number") return isTime ? isoTime(found) : found
  return typeof found === "string" || typeof found === "boolean" ? found : null
}

export const newSegment = (
  { conditions, match = "all", name, ...payload }: typeof NewSegment.Type,
  id: string,
) => {
  const { segment: _, ...members } = newMembers(payload)
  return { id, ...members, name, match, conditions }
}

const showSegment = ({
  createdAt,
  endsAt: _,
  set,
  startsAt: __,
  updatedAt,
  ...segment
}: Segment) => ({
  ...segment,
  status: set === "archived" ? ("archived" as const) : ("active" as const),
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
})
