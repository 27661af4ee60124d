/** Definitions of every kind, created by the API and saved unchanged by their form. */
import { expect } from "vitest"
import { SchemaValues } from "../../../http/fuzz/SchemaValues.ts"
import { randomOf } from "../../../simulation/random.ts"
import { fieldsOf } from "../pageForm.ts"
import { base, type Json, type World } from "./world.ts"

/** Values of conditions that look like something else or are hard to type. */
const texts = ['"42"', "42", "null", " a ", "", "a\nb", "[1]", '{"a":1}', "1e999", "<b>", "\r\n"]

export interface RoundTrip {
  /**
   * A schema of the contract, such as `NewRule`, and the list of its definitions, such as `rules`.
   */
  readonly schema: string
  readonly list: string
  readonly count: number
  readonly known?: ReadonlyMap<string, ReadonlyArray<string>>
  /** Changes a generated body. */
  readonly edit?: (body: Json) => void
}

const conditionsIn = ({ criteria, steps = [], where }: Json): ReadonlyArray<Json> =>
  [{ where }, ...steps, criteria ?? {}].flatMap((part: Json) => part.where ?? [])

/** Creates `count` definitions, saves each unchanged by its form, and expects no difference. */
export const roundTrip = async (
  { api, owner }: World,
  { count, edit = () => {}, known = new Map(), list, schema }: RoundTrip,
): Promise<void> => {
  const { json: document } = await api("GET", "/openapi.json")
  const values = new SchemaValues(document, randomOf(7), known)
  const counted = {
    counts: undefined,
    result: undefined,
    holders: undefined,
    left: undefined,
    sold: undefined,
    progress: undefined,
    secret: undefined,
    receipts: undefined,
  }
  const untimely = (shown: Json) => ({ ...shown, updatedAt: "", version: 0, ...counted })
  const conditions = [{ kind: "level", op: "eq", value: 1 }]
  await api("POST", "/v1/segments", { key: "beginners", name: "Beginners", conditions })
  let made = 0
  for (let tries = 0; tries < 12 * count && made < count; tries++) {
    const body = values.valid({ $ref: `#/components/schemas/${schema}` })
    for (const one of conditionsIn(body)) {
      if (typeof one.value === "string" && values.below(2) === 0) one.value = values.pick(texts)
    }
    if (body.key !== undefined) body.key = `key-${tries}`
    if (body.segment !== undefined) body.segment = "beginners"
    if (body.endsAt !== undefined) body.endsAt = "2030-01-01T00:00:00Z"
    edit(body)
    const created = await api("POST", `/v1/${list}`, body)
    if (created.status !== 201) continue
    made++
    const { id } = created.json
    const address = `${base}/${list}/${id}`
    const fields = fieldsOf((await owner.get(address)).text, address)
    const { status, text } = await owner.post(address, fields)
    expect([status, text]).toEqual([303, expect.anything()])
    const { json: after } = await api("GET", `/v1/${list}/${id}`)
    expect(untimely(after)).toEqual(untimely(created.json))
  }
  expect(made).toBe(count)
}
