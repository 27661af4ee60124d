/**
 * Decoding a batch in steps gives the same result as decoding it at once, and each step is short.
 */
import { Result } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { batchEnvelope, batchSteps } from "../../../src/http/body/BatchDecoder.ts"
import { parseJson } from "../../../src/http/body/Body.ts"
import {
  type BatchStep,
  decodeItem,
  type EventInput,
  eventItems,
} from "../../../src/http/body/EventDecoder.ts"
import { limits } from "../../../src/Limits.ts"
import { randomOf, seeds } from "../../simulation/random.ts"

const json = "application/json"
const ndjson = "application/x-ndjson"

/** Runs all steps, and counts them. */
const finish = (step: BatchStep<EventInput>) => {
  for (let steps = 1; ; steps++) {
    const result = step()
    if (result !== undefined) return { result, steps }
  }
}

const read = (body: string, mediaType = json) =>
  finish(batchSteps(eventItems, Buffer.from(body), mediaType)).result

const faultsOf = (result: ReturnType<typeof read>) =>
  Result.isFailure(result) ? (result.failure.errors ?? [result.failure.code]) : "none"

describe("a batch that is read in steps", () => {
  it.each(seeds(1))("has the events and faults of the whole; LAUREL_TEST_SEED=%i", (seed) => {
    const random = randomOf(seed)
    const below = (count: number) => Math.floor(random() * count)
    const pick = <A>(items: ReadonlyArray<A>): A => items[below(items.length)]!
    const space = () => (below(4) === 0 ? pick([" ", "\n\t", "  \r\n  ", " ".repeat(40)]) : "")
    const text = () =>
      pick(['"a"', '"u-1"', '"]"', '"}{"', '"\\""', '"\\\\"', '"events"', '"ü,\\u0041"', '"DONE"'])
    const value = (depth: number): string => {
      const kind = below(6)
      const items = Array.from({ length: depth > 2 ? 0 : below(4) }, () => value(depth + 1))
      if (kind === 4) return `[${space()}${items.join(`${space()},${space()}`)}${space()}]`
      // Node 26 misreads some objects that name a member twice with an escape.
      if (kind === 5) return `{${items.map((item, i) => `"]${i}"${space()}:${item}`).join(",")}}`
      return pick(["1", "-2.5e3", "true", "null", text(), text()])
    }
    const event = () =>
      below(3) === 0
        ? value(0)
        : `{"userId":${text()},"action":"DONE"${below(3) === 0 ? `,"metadata":${value(1)}` : ""}}`
    const list = () => {
      const events = Array.from({ length: below(8) }, event)
      return `[${space()}${events.join(`${space()},${space()}`)}${space()}]`
    }
    const name = () => (below(4) === 0 ? '"\\u0065v\\u0065nts"' : '"events"')
    const member = () => {
      const named = below(8) === 0 ? text() : name()
      return `${space()}${named}${space()}:${space()}${below(12) === 0 ? value(0) : list()}${space()}`
    }
    const envelope = () => {
      const members = Array.from({ length: below(10) === 0 ? below(4) : 1 }, member)
      const whole = `${space()}{${members.join(",")}}${space()}`
      if (below(2) === 0) return whole
      const at = below(whole.length + 1)
      const splinter = pick(["", "[", "]", "{", "}", ",", ":", '"', "\\", "1", "events", "\ufeff"])
      return whole.slice(0, at) + splinter + whole.slice(at + below(3))
    }
    /** The values of the text, read at once. */
    const model = (whole: string) => {
      const parsed = parseJson(whole)
      if (Result.isFailure(parsed)) return "broken"
      const { success: value } = parsed
      if (typeof value !== "object" || value === null || Array.isArray(value)) return "refused"
      const { events, ...others } = value as { readonly events?: unknown }
      if (!Array.isArray(events) || events.length === 0) return "refused"
      if (Object.keys(others).length > 0 || Object.hasOwn(value, "__proto__")) return "refused"
      return events.map((each, index) => decodeItem(eventItems, each, "/events", index))
    }

    const seen = { broken: 0, refused: 0, events: 0 }
    for (let run = 0; run < 6_000; run++) {
      const whole = envelope()
      const expected = model(whole)
      seen[typeof expected === "string" ? (expected as "broken") : "events"]++
      // Steps so small that they end anywhere.
      const bounds = { eventBytesMax: 10_000 + below(200), decodeStepBytes: below(60) }
      const { result } = finish(batchEnvelope(eventItems, Buffer.from(whole), bounds))
      const actual = Result.isSuccess(result)
        ? result.success.items
        : result.failure.code === "invalid_json"
          ? "broken"
          : "refused"
      expect(actual, whole).toEqual(expected)
    }
    expect(Math.min(seen.broken, seen.refused, seen.events)).toBeGreaterThan(150)
  })

  it.each([
    ['{"events":[1,,2]}', 13],
    ['{"events":[1,2,]}', 15],
    ['{"events":[{"a":1]]}', 17],
    ['{"events":[1}2]}', 12],
    ['{"events":[1],}', 14],
    ['{"events":["üü",1}]}', 17],
    ['{   "events" : [1 , 2] ,    "b" : 1 1 }', 36],
  ])("is broken where %s is: at character %i", (text, position) => {
    const bounds = { eventBytesMax: 100, decodeStepBytes: 0 }
    expect(finish(batchEnvelope(eventItems, Buffer.from(text), bounds)).result).toMatchObject({
      failure: {
        code: "invalid_json",
        detail: `Invalid JSON at character ${position}.`,
      },
    })
  })
})

describe("an event of a batch", () => {
  const { eventBytesMax } = limits
  /** An event of this size as it is sent: escapes add to the size of its metadata. */
  const event = (bytes: number, piece: string) => {
    const around = '{"userId":"u","action":"A","metadata":{"a":""}}'
    const room = bytes - around.length
    const length = Buffer.byteLength(piece)
    const text = piece.repeat(Math.min(Math.floor(room / length), 8_000))
    return around.replace(
      '""',
      `"${text}"${" ".repeat(room - text.length * (length / piece.length))}`,
    )
  }

  it.each([
    ["\\u0041", json],
    ["ü", json],
    ["\\u0041", ndjson],
    ["ü", ndjson],
  ])("of %s as %s may take as many bytes as one alone, and no more", (piece, mediaType) => {
    const send = (bytes: number) => {
      const sent = event(bytes, piece)
      expect(Buffer.byteLength(sent)).toBe(bytes)
      const good = '{"userId":"v","action":"A"}'
      // White space around it does not count.
      const body =
        mediaType === json
          ? `{"events":[${good},${" ".repeat(70_000)}${sent}${"\n".repeat(70_000)},${good}]}`
          : `${good}\n${" ".repeat(70_000)}${sent}\n${good}`
      const result = read(body, mediaType)
      return Result.isSuccess(result) ? result.success.items : []
    }
    expect(send(eventBytesMax).map((each) => "_tag" in each)).toEqual([false, false, false])
    const [first, refused, last] = send(eventBytesMax + 1)
    expect(["_tag" in first!, "_tag" in last!]).toEqual([false, false])
    expect(refused).toMatchObject({
      code: "invalid_request",
      errors: [
        {
          pointer: mediaType === json ? "/events/1" : "/1",
          code: "too_large",
          detail: "must take at most 65536 bytes as it is sent",
        },
      ],
    })
  })
})

describe("a hostile batch", () => {
  afterEach(() => vi.restoreAllMocks())

  const mebibytes8 = limits.batchBodyBytesMax - 200
  const many = (open: string, item: (i: number) => string, close: string) => {
    const items: Array<string> = []
    for (let i = 0, length = 0; length < mebibytes8; i++) {
      items.push(item(i))
      length += item(i).length + 1
    }
    return `${open}${items.slice(0, -1).join(",")}${close}`
  }
  const member = (i: number) => `"${i.toString(36)}":1`
  const start = '"userId":"u","action":"A"'

  it.each([
    ["members of metadata", many(`{"events":[{${start},"metadata":{`, member, "}}]}"), 1],
    ["unknown members of an event", many(`{"events":[{${start},`, member, "}]}"), 1],
    ["unknown members beside the events", many(`{"events":[{${start}}],`, member, "}"), 0],
    ["members before the events", many("{", member, `,"events":[{${start}}]}`), 0],
    ["empty objects", many(`{"events":[{${start},"metadata":{"a":[`, () => "{}", "]}}]}"), 1],
    ["brackets", "[".repeat(mebibytes8), 0],
    ["an event of brackets", `{"events":[${"[".repeat(mebibytes8)}`, 0],
    ["a string without an end", `{"events":["${"x".repeat(mebibytes8)}`, 0],
    ["a name without an end", `{"${"x".repeat(mebibytes8)}`, 0],
    ["white space", `{"events"${" ".repeat(mebibytes8)}:[{${start}}]}`, 1],
  ])("of 700,000 %s is not parsed, and each step is short", (_, body, answered) => {
    const parse = vi.spyOn(JSON, "parse")
    const { result, steps } = finish(batchSteps(eventItems, Buffer.from(body), json))
    const parsed = parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0)
    expect(parsed).toBeLessThan(limits.eventBytesMax)
    expect(Result.isSuccess(result) ? result.success.items.length : 0).toBe(answered)
    // The whole body is scanned if it has no fault as a whole, and each step scans a bounded part.
    if (answered === 1) expect(steps).toBeGreaterThan(mebibytes8 / limits.eventBytesMax / 1.1)
  })

  it.each([
    ["members of metadata", `{${start},"metadata":{`, "}}"],
    ["unknown members", `{${start},`, "}"],
  ])("as NDJSON of 700,000 %s is not parsed", (_, open, close) => {
    const parse = vi.spyOn(JSON, "parse")
    const result = read(many(open, member, close), ndjson)
    expect(parse).not.toHaveBeenCalled()
    expect(result).toMatchObject({ success: { items: [{ code: "invalid_request" }] } })
  })

  it("of many events just within their bound is parsed one event per step", () => {
    const members = Array.from({ length: 6_000 }, (_, i) => member(i)).join(",")
    const event = `{${start},${members}}`
    expect(event.length).toBeLessThan(limits.eventBytesMax)
    const body = `{"events":[${Array(120).fill(event).join(",")}]}`
    const parse = vi.spyOn(JSON, "parse")
    const step = batchSteps(eventItems, Buffer.from(body), json)
    let calls = 0
    for (let result = step(); result === undefined; result = step()) {
      expect(parse.mock.calls.length - calls).toBeLessThanOrEqual(1)
      calls = parse.mock.calls.length
    }
    const longest = Math.max(...parse.mock.calls.map(([text]) => text.length))
    expect(longest).toBeLessThanOrEqual(limits.eventBytesMax + limits.decodeStepBytes + 2)
  })

  it("with one event more than it may have is refused without parsing the rest", () => {
    const parse = vi.spyOn(JSON, "parse")
    const body = many('{"events":[', () => "{}", "]}")
    expect(faultsOf(read(body))).toMatchObject([{ pointer: "/events", code: "too_long" }])
    expect(parse).not.toHaveBeenCalled()
    const lines = read("{}\n".repeat(1_000_000), ndjson)
    expect(faultsOf(lines)).toMatchObject([{ pointer: "", code: "too_long" }])
  })

  it("of blank lines has no events, and each step is short", () => {
    const { result, steps } = finish(
      batchSteps(eventItems, Buffer.from("\n\r \t".repeat(500_000)), ndjson),
    )
    expect(faultsOf(result)).toMatchObject([{ pointer: "", code: "too_short" }])
    expect(steps).toBeGreaterThan(100)
  })
})

describe("a batch of lines with bytes that are not UTF-8", () => {
  const event = (userId: string) => `{"userId":"${userId}","action":"DONE"}`
  const broken = [
    [0xff],
    [0xc3],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98],
    [0x80],
    [0xc0, 0x8a],
  ]

  it.each(broken)(
    "keeps its other lines, and has a refusal in the place of each broken one (%j)",
    (...bytes) => {
      const line = (...parts: ReadonlyArray<string | ReadonlyArray<number>>) =>
        Buffer.concat([...parts.map((part) => Buffer.from(part as string)), Buffer.from("\n")])
      const body = Buffer.concat([
        line(event("ü😀")),
        line('{"userId":"', bytes, '","action":"DONE"}'),
        line(" ", event("b"), "\r"),
        line(bytes),
        line("x".repeat(limits.eventBytesMax), bytes),
        Buffer.from(event("漢")),
      ])
      const { result } = finish(batchSteps(eventItems, body, ndjson))
      const notUtf8 = { code: "invalid_json", detail: "The line is not UTF-8." }
      expect(Result.getOrThrow(result).items).toMatchObject([
        { userId: "ü😀" },
        notUtf8,
        { userId: "b" },
        notUtf8,
        { errors: [{ pointer: "/4", code: "too_large" }] },
        { userId: "漢" },
      ])
    },
  )

  it("reads a line with U+FFFD itself, which is UTF-8", () => {
    const body = Buffer.concat([Buffer.from(`${event("\ufffd")}\n`), Buffer.from([0xff])])
    const { result } = finish(batchSteps(eventItems, body, ndjson))
    expect(Result.getOrThrow(result).items).toMatchObject([
      { userId: "\ufffd" },
      { code: "invalid_json" },
    ])
  })

  it("is refused as a whole if it is one JSON object, which has no lines", () => {
    const { result } = finish(batchSteps(eventItems, Buffer.from([0x7b, 0xff, 0x7d]), json))
    expect(faultsOf(result)).toEqual(["invalid_json"])
  })
})

describe("faults around the events", () => {
  it.each([
    ["[1,2]", [["", "invalid_type"]]],
    ["5", [["", "invalid_type"]]],
    ["null", [["", "invalid_type"]]],
    ["{}", [["/events", "missing"]]],
    ['{"events":5}', [["/events", "invalid_type"]]],
    ['{"events":{"a":[1]}}', [["/events", "invalid_type"]]],
    ['{"events":[]}', [["/events", "too_short"]]],
    ['{"events":[ ]}', [["/events", "too_short"]]],
    [
      '{"evnts":[1],"a":1}',
      [
        ["/evnts", "unknown_member"],
        ["/a", "unknown_member"],
        ["/events", "missing"],
      ],
    ],
    [`[${"1,".repeat(100_000)}1]`, [["", "invalid_type"]]],
    [`{"a":"${"x".repeat(100_000)}","events":[1]}`, [["", "too_large"]]],
    [`{"events":[1],"a":[${"1,".repeat(100_000)}1]}`, [["", "too_large"]]],
  ])("of %.20s are told", (body, expected) => {
    const faults = faultsOf(read(body)) as ReadonlyArray<{ pointer: string; code: string }>
    expect(faults.map(({ code, pointer }) => [pointer, code])).toEqual(expected)
  })

  it.each([
    ["", "The body is empty."],
    ["\ufeff{}", "The body begins with a byte order mark."],
    ['{"events":[1', "The body ends before its JSON does."],
    ['{"events":[1]', "The body ends before its JSON does."],
    ['{"events":[{"userId":"ada","action":}]}', "Invalid JSON at character 36."],
  ])("of %j are told as broken JSON", (body, detail) => {
    expect(read(body)).toMatchObject({ failure: { code: "invalid_json", detail } })
  })
})
