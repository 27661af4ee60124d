/**
 * Checks replies against the served OpenAPI document with ajv, independently of the code that
 * serves them.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { beforeOperation } from "../contract.ts"
import type { Reply } from "../fixture.ts"
import type { Json } from "./SchemaValues.ts"

/** One operation of the document. `path` is its template. */
export interface DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly definition: Json
}

/** The operations of an OpenAPI document. */
export const operationsOf = (document: Json): ReadonlyArray<DocumentedOperation> =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, definition]) => ({
      method: method.toUpperCase(),
      path,
      definition,
    })),
  )

const documentId = "https://laurel.example/openapi.json"

export class ReplyCheck {
  readonly #ajv: Ajv2020
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: Json) {
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
    addFormats.default(this.#ajv)
    this.#ajv.addSchema({ $id: documentId, ...document })
  }

  /** The fault of a reply to `operation`; `undefined` if there is none. */
  fault({ definition, method, path }: DocumentedOperation, reply: Reply): string | undefined {
    const { headers, json, status, text } = reply
    const response = definition.responses[status]
    if (response === undefined) {
      return beforeOperation.has(status) ? undefined : `the status ${status} is not declared`
    }
    for (const name of Object.keys(response.headers ?? {})) {
      if (name === "X-Request-Id" && headers["x-request-id"] === undefined) {
        return `${status} lacks ${name}`
      }
    }
    const types = Object.keys(response.content ?? {})
    if (types.length === 0) return text === "" ? undefined : `${status} has a body`
    const type = String(headers["content-type"]).split(";")[0]!
    if (!types.includes(type)) return `${status} has the content type ${type}`
    if (!type.includes("json")) return undefined
    const place = ["paths", path, method.toLowerCase(), "responses", String(status), "content"]
    const pointer = [...place, type, "schema"]
      .map((step) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1")))
      .join("/")
    let validate = this.#validators.get(pointer)
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: `${documentId}#/${pointer}` })
      this.#validators.set(pointer, validate)
    }
    if (validate(json)) return undefined
    return `${status} does not fit its schema: ${this.#ajv.errorsText(validate.errors)}`
  }
}
