/** `laurel keys rotate` */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { rotationOverlaps } from "../../domain/project/Directory.ts"
import { printCreated } from "../output/KeyWords.ts"
import { withKeys } from "../process/KeyAccess.ts"
import { json } from "./keyFlags.ts"

const id = Argument.String("ID").pipe(
  Argument.withDescription("Id of the key, as `laurel keys list` shows it"),
)

const overlap = Flag.Literals("overlap", rotationOverlaps).pipe(
  Flag.withDescription("How long the old key stays in force; an earlier expiry stays"),
  Flag.withDefault("24h"),
)

export const rotateKey = Command.make(
  "rotate",
  { id, overlap, json },
  Effect.fnUntraced(function* ({ id, json, overlap }) {
    const created = yield* withKeys((keys) => keys.rotate(id, overlap), { makes: false })
    const old = overlap === "0" ? "has expired" : `expires within ${overlap}`
    yield* printCreated(created, json, `${id} ${old}.`)
  }),
).pipe(
  Command.withDescription(
    "Create a key with the same properties in place of another, which expires after the overlap",
  ),
)
