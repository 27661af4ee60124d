import { randomBytes } from "node:crypto"
import { mkdir, writeFile } from "node:fs/promises"
import type { ServerResponse } from "node:http"
import { createServer } from "node:net"
import path from "node:path"
import { gzipSync } from "node:zlib"
import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { type Bucket, openBucket } from "../../../src/storage/bucket/Bucket.ts"
import { BucketError } from "../../../src/storage/bucket/bucketErrors.ts"
import { refuse, type S3, startS3 } from "./server.ts"

let s3: S3
beforeAll(async () => {
  s3 = await startS3("odd/_pre.fix-1/")
})
afterAll(() => s3.stop())
beforeEach(() => {
  s3.fault = undefined
  s3.requests.length = 0
})

const open = (
  change: Partial<S3["place"]> = {},
  options: Parameters<typeof openBucket>[1] = {},
): Promise<Bucket> =>
  Effect.runPromise(openBucket({ ...s3.place, ...change }, { retryMs: 1, ...options }))

const failureOf = async (effect: Effect.Effect<unknown, BucketError>): Promise<BucketError> => {
  const error = await Effect.runPromise(Effect.flip(effect))
  expect(error).toBeInstanceOf(BucketError)
  return error
}

describe("A bucket", () => {
  it("returns the bytes that were put, and lists only keys with the given start", async () => {
    const bucket = await open()
    const large = randomBytes(limits.bucketPieceBytes)
    await Effect.runPromise(bucket.put("pieces/large", large))
    await Effect.runPromise(bucket.put("pieces/empty", Buffer.of()))
    await Effect.runPromise(bucket.put("other", Buffer.from("other")))
    // A view of a larger piece of memory is not the memory.
    await Effect.runPromise(bucket.put("pieces/view", Buffer.from("xyz").subarray(1, 2)))
    expect((await Effect.runPromise(bucket.get("pieces/large"))).equals(large)).toBe(true)
    expect(String(await Effect.runPromise(bucket.get("pieces/view")))).toBe("y")
    const listed = await Effect.runPromise(bucket.list("pieces/"))
    expect(listed.map(({ bytes, key }) => [key, bytes])).toEqual([
      ["pieces/empty", 0],
      ["pieces/large", limits.bucketPieceBytes],
      ["pieces/view", 1],
    ])
    expect(bucket.name).toBe("s3://archives/odd/_pre.fix-1")
    expect(await s3.keys()).toContain("odd/_pre.fix-1/other")
    await Effect.runPromise(bucket.remove("other"))
    await Effect.runPromise(bucket.remove("other"))
    expect((await failureOf(bucket.get("other"))).kind).toBe("missing")
  })

  it("lists more keys than fit in one reply while each third request fails", async () => {
    const bucket = await open({ prefix: "many/" })
    const keys = Array.from({ length: 1_001 }, (_, n) => `k/${String(n).padStart(5, "0")}`)
    await mkdir(path.join(s3.folder, "many/k"), { recursive: true })
    for (const key of keys) await writeFile(s3.fileOf(`many/${key}`), key)
    let count = 0
    s3.fault = (_, response) => ++count % 3 === 0 && refuse(response, 503, "SlowDown")
    const listed = await Effect.runPromise(bucket.list("k/"))
    expect(listed.map(({ key }) => key)).toEqual(keys)
  })

  it("repeats requests after temporary failures: errors, cut connections, truncated replies", async () => {
    const bucket = await open()
    await Effect.runPromise(bucket.put("a", Buffer.from("content")))
    const faults: ReadonlyArray<S3["fault"]> = [
      (_, response) => refuse(response, 500, "InternalError"),
      (_, response) => refuse(response, 429, "TooManyRequests"),
      (request) => {
        request.socket.destroy()
        return true
      },
      (_, response) => {
        response.writeHead(200, { "content-length": 7 })
        response.write("con")
        response.socket!.end()
        return true
      },
    ]
    for (const fault of faults) {
      let failed = 0
      s3.fault = (request, response) =>
        failed++ < limits.bucketTries - 1 && fault!(request, response)
      expect(String(await Effect.runPromise(bucket.get("a")))).toBe("content")
      failed = 0
      await Effect.runPromise(bucket.put("b", Buffer.from("b")))
    }
  })

  it("gives up after the configured tries, and names the server", async () => {
    const bucket = await open()
    s3.fault = (_, response) => refuse(response, 503, "SlowDown", "Please reduce your rate.")
    const error = await failureOf(bucket.get("a"))
    expect(s3.requests).toHaveLength(limits.bucketTries)
    expect([error.kind, error.detail]).toEqual([
      "passing",
      `s3://archives/odd/_pre.fix-1 at ${s3.place.endpoint} answered 503 SlowDown: Please reduce your rate`,
    ])
  })

  it("refuses an object above the size limit", async () => {
    const bucket = await open()
    s3.fault = (_, response) => {
      response.writeHead(200, { "content-length": limits.bucketObjectBytesMax + 1 })
      response.write("x")
      return true
    }
    expect((await failureOf(bucket.get("a"))).kind).toBe("failed")
    expect(s3.requests).toHaveLength(1)
  })

  it("gives up if the server never answers or stops within a reply", async () => {
    let retries = 0
    const onRetry = () => retries++
    const bucket = await open({}, { requestMs: 50, tries: 2, onRetry })
    const silent: S3["fault"] = () => true
    const stopping: S3["fault"] = (_, response) => {
      response.writeHead(200, { "content-length": 7 }).write("con")
      return true
    }
    for (const [fault, effect] of [
      [silent, bucket.get("a")],
      [silent, bucket.list("")],
      [silent, bucket.put("a", Buffer.of(1))],
      [stopping, bucket.get("a")],
      [stopping, bucket.list("")],
    ] as const) {
      retries = 0
      s3.fault = fault
      const { detail, kind } = await failureOf(effect)
      expect([retries, kind, detail]).toEqual([
        1,
        "passing",
        expect.stringMatching(/ cannot be reached \(no reply within 0.05 seconds\)$/),
      ])
    }
  })

  it("refuses a server that is not S3 or whose listing never ends", async () => {
    const bucket = await open()
    const answers = {
      "a page for people": (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<html>Welcome</html>")
      },
      "nothing here": (response: ServerResponse) => {
        response.writeHead(404).end("404 page not found")
      },
      "the same page over and over": (response: ServerResponse) => {
        const object = (n: number) =>
          `<Contents><Key>${s3.place.prefix}${String(n).padStart(4, "0")}</Key><Size>1</Size><LastModified>2026-11-21T12:00:00.000Z</LastModified></Contents>`
        const objects = Array.from({ length: 1_000 }, (_, n) => object(n)).join("")
        response.end(
          `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>${objects}</ListBucketResult>`,
        )
      },
    }
    for (const [name, answer] of Object.entries(answers)) {
      s3.fault = (_, response) => {
        answer(response)
        return true
      }
      expect([name, await failureOf(bucket.list(""))]).toEqual([
        name,
        expect.objectContaining({
          kind: "refused",
          detail: `${s3.place.endpoint} does not answer as an S3 server does: check AWS_ENDPOINT_URL`,
        }),
      ])
    }
  })

  it("includes no secret and no long text of a server in its errors", async () => {
    const change = { secretAccessKey: "SECRET/of+the/key", sessionToken: "TOKEN=of=the=session" }
    const bucket = await open(change)
    s3.fault = (request, response) => {
      const token = request.headers["x-amz-security-token"]
      expect(token).toBe(change.sessionToken)
      const words = `${token} ${change.secretAccessKey} \u001b[31m\r\n${"flood ".repeat(10_000)}`
      return refuse(response, 403, `Code${token}`, words)
    }
    for (const effect of [bucket.get("a"), bucket.list(""), bucket.put("a", Buffer.of(1))]) {
      const { detail } = await failureOf(effect)
      expect(detail).toMatch(/\(Code\[secret\]: \[secret\] \[secret\] \[31m flood/)
      expect(detail.length).toBeLessThan(600)
    }
  })

  it("reads a reply that was compressed on the way", async () => {
    const bucket = await open()
    const text = "content ".repeat(100)
    const bytes = gzipSync(text)
    s3.fault = (_, response) => {
      response.writeHead(200, { "content-encoding": "gzip", "content-length": bytes.length })
      response.end(bytes)
      return true
    }
    expect(String(await Effect.runPromise(bucket.get("a")))).toBe(text)
  })

  it("names the wrong setting, and does not try again", async () => {
    const list = async (change: Partial<S3["place"]>) => {
      const bucket = await open(change)
      s3.requests.length = 0
      const error = await failureOf(bucket.list(""))
      expect([s3.requests.length, error.kind]).toEqual([1, "refused"])
      return error.detail
    }
    expect(await list({ bucket: "nowhere" })).toMatch(/^The bucket nowhere does not exist at http/)
    expect(await list({ accessKeyId: "WRONG" })).toMatch(/the key WRONG: check AWS_ACCESS_KEY_ID/)
    const wrong = await open({ secretAccessKey: "WRONG" })
    expect((await failureOf(wrong.get("a"))).detail).toMatch(/AWS_SECRET_ACCESS_KEY/)
    const answers = [
      [403, "AccessDenied", /may not do this/],
      [403, "RequestTimeTooSkewed", /clock/],
      [400, "AuthorizationHeaderMalformed", /not in region us-east-1/],
      [301, "PermanentRedirect", /not in region us-east-1/],
      [400, "ExpiredToken", /AWS_SESSION_TOKEN/],
    ] as const
    for (const [status, code, words] of answers) {
      s3.fault = (_, response) => refuse(response, status, code)
      expect(await list({})).toMatch(words)
    }
  })

  it("distinguishes a TLS error from a server that does not answer", async () => {
    const bucket = await open({ endpoint: s3.place.endpoint.replace("http:", "https:") })
    const error = await failureOf(bucket.list(""))
    expect([error.kind, error.detail]).toEqual(["refused", expect.stringMatching(/TLS/)])
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve))
    const { port } = closed.address() as { port: number }
    await new Promise((resolve) => closed.close(resolve))
    const away = await open({ endpoint: `http://127.0.0.1:${port}` })
    const unreachable = await failureOf(away.list(""))
    expect(unreachable.kind).toBe("passing")
    expect(unreachable.detail).toMatch(/cannot be reached \(ECONNREFUSED\)$/)
  })
})
