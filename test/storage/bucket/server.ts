/** A real S3 server (`@20minutes/s3rver`, which checks signatures and clocks) in the process of the test, with faults. */

import crypto from "node:crypto"
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import S3rver from "@20minutes/s3rver"
import account from "@20minutes/s3rver/lib/models/account.js"
import type { BucketPlace } from "../../../src/storage/bucket/bucketErrors.ts"

/** Whether it has answered, or will, in the place of the server. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean

export interface S3 {
  readonly place: BucketPlace
  /** The files of the objects in the bucket. */
  readonly folder: string
  /** Takes requests before the server does. */
  fault: Fault | undefined
  /** Requests so far, as `PUT /bucket/key`, without their queries. */
  readonly requests: Array<string>
  /** The keys in the bucket, sorted. */
  readonly keys: () => Promise<ReadonlyArray<string>>
  readonly fileOf: (key: string) => string
  /** Makes an object look as if it had been put so long ago. */
  readonly age: (key: string, ms: number) => Promise<void>
  readonly stop: () => Promise<void>
}

// The server makes tokens of listings with DES, which OpenSSL no longer has alone: triple DES with one key is the same.
const { createCipheriv, createDecipheriv } = crypto
const thrice = (key: crypto.CipherKey) => Buffer.concat([key, key, key] as Array<Buffer>)
crypto.createCipheriv = ((name: string, key: crypto.CipherKey, iv: crypto.BinaryLike) =>
  name === "des"
    ? createCipheriv("des-ede3-cbc", thrice(key), iv)
    : createCipheriv(name, key, iv)) as typeof createCipheriv
crypto.createDecipheriv = ((name: string, key: crypto.CipherKey, iv: crypto.BinaryLike) =>
  name === "des"
    ? createDecipheriv("des-ede3-cbc", thrice(key), iv)
    : createDecipheriv(name, key, iv)) as typeof createDecipheriv

/** A key of the server; the one that it has has its id for its secret. */
export const accessKeyId = "LAURELKEY"
export const secretAccessKey = "s3cret/of+the-bucket"
account.DUMMY_ACCOUNT.createKeyPair(accessKeyId, secretAccessKey)

const bucket = "archives"
const dataSuffix = "._S3rver_object"

export const startS3 = async (prefix = ""): Promise<S3> => {
  const directory = await mkdtemp(path.join(tmpdir(), "laurel-s3-"))
  const options = { directory, silent: true, configureBuckets: [{ name: bucket }] }
  const s3rver = new S3rver(options)
  await s3rver.configureBuckets()
  const ofObjects = s3rver.callback()
  // It signs the path of a bucket without the slash at its end, unlike S3 and the client: listings need the id of the key alone.
  const ofBuckets = new S3rver({ ...options, allowMismatchedSignatures: true }).callback()
  const requests: Array<string> = []
  const server = createServer((request, response) => {
    const [where] = request.url!.split("?")
    requests.push(`${request.method} ${where}`)
    if (s3.fault?.(request, response) === true) return
    if (/^\/[^/]+\/$/.test(where!)) ofBuckets(request, response)
    else ofObjects(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const folder = path.join(directory, bucket)
  const fileOf = (key: string) => path.join(folder, `${key}${dataSuffix}`)
  const s3: S3 = {
    place: {
      bucket,
      prefix,
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      accessKeyId,
      secretAccessKey,
      sessionToken: undefined,
    },
    folder,
    fault: undefined,
    requests,
    fileOf,
    keys: async () => {
      const names = await readdir(folder, { recursive: true }).catch(() => [])
      return names
        .filter((name) => name.endsWith(dataSuffix))
        .map((name) => name.slice(0, -dataSuffix.length))
        .sort()
    },
    age: async (key, ms) => {
      const at = new Date(Date.now() - ms)
      await utimes(fileOf(key), at, at)
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(directory, { recursive: true, force: true })
    },
  }
  return s3
}

/** Answers with an error of S3. */
export const refuse = (
  response: ServerResponse,
  status: number,
  code: string,
  message = "No.",
): true => {
  response.writeHead(status, { "content-type": "application/xml" })
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  )
  return true
}
