/**
 * `npm run test:hostile` sends every header field that callers can set, and tests every regular
 * expression that reads their text.
 */
import { expect, it } from "vitest"
import { proxyFields } from "../../../src/http/request/ClientAddress.ts"
import { fieldsOfOthers, hostileFields, hostileHeads } from "./hostileHeads.ts"
import { attacksOn, callersMeet } from "./hostileTexts.ts"

const { expressions, fields } = callersMeet()

it("Every header field that the server reads by name is among the hostile fields", () => {
  const known = new Set([...Object.keys(hostileFields), ...fieldsOfOthers])
  expect([...fields].filter((field) => !known.has(field))).toEqual([])
  // The scan finds both ways to read a field.
  for (const field of ["origin", "last-event-id"]) expect(fields).toContain(field)
  // The setting chooses one of these fields.
  for (const field of proxyFields) expect(known).toContain(field)
})

it("Every hostile field has heads near the maximum size of a head", () => {
  const named = new Set(
    [...hostileHeads()].flatMap(({ lines }) => lines.map((line) => line.split(":")[0])),
  )
  for (const field of Object.keys(hostileFields)) expect(named).toContain(field)
})

it("The scan finds the regular expressions that callers' text meets, with hostile texts for each", () => {
  const heads = expressions.filter(({ file }) => file === "src/http/request/RequestHead.ts")
  const attacks = heads.flatMap(({ expression }) => [...attacksOn(expression)])
  // An escape within a quotation of `Prefer`.
  expect(attacks).toContainEqual({ start: "", piece: '"\\' })
  for (const { expression } of expressions)
    expect([...attacksOn(expression)].length).toBeGreaterThan(10)
})
