/** Tables of the API as files that name the project and the environment. */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import type { PlaceVisit } from "./Route.ts"

export const csvFile = (
  { place: { environment, project } }: PlaceVisit,
  name: string,
  opened: Effect.Effect<StreamedReply, LaurelError>,
): Effect.Effect<StreamedReply, LaurelError> =>
  Effect.map(opened, (reply) => ({
    ...reply,
    headers: [
      "Content-Disposition",
      `attachment; filename="${project.name.replace(/[^A-Za-z0-9]+/g, "-")}_${environment}_${name}.csv"`,
    ],
  }))
