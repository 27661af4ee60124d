/** Everything that is held about a user, as one JSON text in pieces: never more than a chunk of records is in memory. */
import { Stream } from "effect"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { UserState } from "../../domain/user/User.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"
import { showProgress, showUser } from "./UserShapes.ts"

export interface ExportedUser {
  readonly environment: string
  readonly user: UserState
  readonly project: ProjectState
  readonly rank: number | null
  /** Epoch milliseconds. */
  readonly now: number
}

export const exportUser = (
  engine: Engine["Service"],
  { environment, now, project, rank, user }: ExportedUser,
): StreamedReply => {
  const head = JSON.stringify({
    exportedAt: isoTime(now),
    user: showUser(user, project),
    progress: showProgress(user, project, rank, now),
    state: stateOf(user),
  })
  return {
    contentType: "application/json",
    stream: Stream.make(`${head.slice(0, -1)},"records":[`).pipe(
      Stream.concat(recordBuffer(engine, environment, user.id)),
      Stream.concat(Stream.make("]}")),
    ),
  }
}

const recordBuffer = (
  engine: Engine["Service"],
  environment: string,
  userId: string,
): Stream.Stream<string, LaurelError> =>
  Stream.suspend(() => {
    let separator = ""
    return engine.readHistory(environment, userId).pipe(
      Stream.map((records) => {
        let text = ""
        for (const record of records) {
          text += `${separator}\n${JSON.stringify(record)}`
          separator = ","
        }
        return text
      }),
    )
  })

/** The state as it is kept, maps as objects. */
const stateOf = (user: UserState): object =>
  Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      name,
      value instanceof Map ? Object.fromEntries(value) : value,
    ]),
  )
