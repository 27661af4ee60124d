/**
 * Valid and invalid `traceparent` fields: the cases of the W3C specification and its test suite.
 */
import { describe, expect, it } from "vitest"
import { traceParentOf } from "../../../src/http/request/RequestHead.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const parentSpanId = "b7ad6b7169203331"
const ids = `${traceId}-${parentSpanId}`

describe("A traceparent", () => {
  it.each([
    ["that is sampled", `00-${ids}-01`, true],
    ["that is not", `00-${ids}-00`, false],
    ["with flags of later versions", `00-${ids}-fe`, false],
    ["with all flags", `00-${ids}-ff`, true],
    ["of a later version", `01-${ids}-01`, true],
    ["of the last version", `fe-${ids}-00`, false],
    ["of a later version, with more parts", `cc-${ids}-01-what-the-future-will-be-like`, true],
    ["of a later version, with an empty part", `cc-${ids}-01-`, true],
  ])("%s counts", (_, field, sampled) => {
    expect(traceParentOf(field)).toEqual({ traceId, parentSpanId, sampled })
  })

  it.each([
    ["nothing", undefined],
    ["an empty one", ""],
    ["version ff", `ff-${ids}-01`],
    ["a version of one digit", `0-${ids}-01`],
    ["a version that is not hexadecimal", `.0-${ids}-01`],
    ["version 00 with more parts", `00-${ids}-01-more`],
    ["version 00 with an empty part", `00-${ids}-01-`],
    ["a later version with more digits", `cc-${ids}-01.more`],
    ["no flags", `00-${ids}`],
    ["flags of one digit", `00-${ids}-1`],
    ["flags of three digits", `00-${ids}-001`],
    ["flags that are not hexadecimal", `00-${ids}-.0`],
    ["an upper-case trace", `00-${traceId.toUpperCase()}-${parentSpanId}-01`],
    ["an upper-case span", `00-${traceId}-${parentSpanId.toUpperCase()}-01`],
    ["an upper-case version", `AA-${ids}-01`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${parentSpanId}-01`],
    ["a span of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["a short trace", `00-${traceId.slice(1)}-${parentSpanId}-01`],
    ["a long trace", `00-0${ids}-01`],
    ["a short span", `00-${traceId}-${parentSpanId.slice(1)}-01`],
    ["a long span", `00-${ids}0-01`],
    ["other separators", `00_${traceId}_${parentSpanId}_01`],
    ["white space inside", `00-${traceId} -${parentSpanId}-01`],
    ["two lines, which Node joins", `00-${ids}-01, 00-${ids}-01`],
    ["16 KiB", `cc-${"0".repeat(16_384)}`],
    ["a line break", `cc-${ids}-01-\n`],
  ])("that is %s counts as none", (_, field) => {
    expect(traceParentOf(field)).toBeUndefined()
  })
})
