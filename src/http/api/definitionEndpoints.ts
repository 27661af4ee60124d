/**
 * The endpoints that every kind of definition has: create, list, get, update and delete. A kind
 * declares its schemas, words and problems. Paths, header fields, status codes and the scope of
 * changes are the same for all kinds. `handlers/definitionOperations.ts` makes the handlers.
 */
import type { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import type { CallerScope } from "../../domain/project/Directory.ts"
import { idempotencyHeaders, mergePatch, OpenTo, type text } from "./Common.ts"
import { changeHeaders, readHeaders } from "./EntityTags.ts"
import { changeProblems, DefinitionConflict, readProblems, writeProblems } from "./Problems.ts"

type Problems = ReadonlyArray<Schema.Top>

interface Words {
  readonly summary: string
  readonly description: string
}

type DefinitionParams = { readonly id: ReturnType<typeof text> }

/**
 * The five endpoints of a kind. `HttpApiEndpoint` requires errors without streams, which TypeScript
 * cannot see in a generic list. Where the list is generic, the type arguments are therefore
 * explicit, and `as never` skips the check.
 */
export const definitionEndpoints = <
  const Path extends `/v1/${string}`,
  New extends Schema.Top,
  Created extends Schema.Top,
  Query extends Schema.Struct.Fields,
  Page extends Schema.Top,
  Found extends Schema.Top,
  NotFound extends Schema.Top,
  Patch extends Schema.Top,
  Updated extends Schema.Top,
  const UpdateProblems extends Problems,
  Deleted extends Schema.Top,
  const DeleteProblems extends Problems,
>(kind: {
  readonly path: Path
  readonly params: DefinitionParams
  /** The scopes that read definitions of this kind, besides `full`. */
  readonly readers: ReadonlyArray<CallerScope>
  readonly notFound: NotFound
  readonly create: Words & { readonly payload: New; readonly success: Created }
  readonly list: Words & { readonly query: Query; readonly success: Page }
  readonly get: Words & { readonly success: Found }
  readonly update: Words & {
    readonly payload: Patch
    readonly success: Updated
    readonly error: UpdateProblems
  }
  readonly delete: Words & { readonly success: Deleted; readonly error: DeleteProblems }
}) => {
  const one = `${kind.path}/:id` as const
  return [
    HttpApiEndpoint.post("create", kind.path, {
      headers: idempotencyHeaders,
      payload: kind.create.payload,
      success: kind.create.success.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(words(kind.create)),
    HttpApiEndpoint.get("list", kind.path, {
      query: kind.list.query,
      success: kind.list.success,
      error: readProblems,
    })
      .annotate(OpenTo, kind.readers)
      .annotateMerge(words(kind.list)),
    HttpApiEndpoint.get<
      "get",
      `${Path}/:id`,
      DefinitionParams,
      never,
      never,
      typeof readHeaders,
      Found,
      readonly [...typeof readProblems, NotFound]
    >("get", one, {
      params: kind.params,
      headers: readHeaders,
      success: kind.get.success,
      error: [...readProblems, kind.notFound] as never,
    })
      .annotate(OpenTo, kind.readers)
      .annotateMerge(words(kind.get)),
    HttpApiEndpoint.patch<
      "update",
      `${Path}/:id`,
      DefinitionParams,
      never,
      ReturnType<typeof mergePatch<Patch>>,
      typeof changeHeaders,
      Updated,
      readonly [...UpdateProblems, ...typeof changeProblems]
    >("update", one, {
      params: kind.params,
      headers: changeHeaders,
      payload: mergePatch(kind.update.payload),
      success: kind.update.success,
      error: [...kind.update.error, ...changeProblems] as never,
    })
      .annotate(OpenTo, [])
      .annotateMerge(words(kind.update)),
    HttpApiEndpoint.delete<
      "delete",
      `${Path}/:id`,
      DefinitionParams,
      never,
      never,
      typeof changeHeaders,
      Deleted,
      readonly [...DeleteProblems, ...typeof changeProblems]
    >("delete", one, {
      params: kind.params,
      headers: changeHeaders,
      success: kind.delete.success,
      error: [...kind.delete.error, ...changeProblems] as never,
    })
      .annotate(OpenTo, [])
      .annotateMerge(words(kind.delete)),
  ] as const
}

const words = ({ description, summary }: Words) => OpenApi.annotations({ summary, description })
