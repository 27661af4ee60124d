declare module "@20minutes/s3rver" {
  import type { RequestListener } from "node:http"
  export default class S3rver {
    constructor(options: {
      readonly directory: string
      readonly silent: boolean
      readonly allowMismatchedSignatures?: boolean
      readonly configureBuckets: ReadonlyArray<{ readonly name: string }>
    })
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
  }
}

declare module "@20minutes/s3rver/lib/models/account.js" {
  const account: {
    readonly DUMMY_ACCOUNT: {
      createKeyPair(accessKeyId: string, secretAccessKey: string): unknown
    }
  }
  export default account
}
