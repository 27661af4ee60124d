/**
 * The settings of the bucket for archives. Its server and its credentials are in the variables that
 * all S3 programs share. These may be set for another program, so their values are checked only if
 * a bucket is set.
 */
import { Result } from "effect"
import type { BucketPlace } from "../storage/bucket/bucketErrors.ts"
import {
  anyText,
  bucketAddress,
  type Setting,
  setting,
  type ValuesOf,
  webAddress,
} from "./SettingForms.ts"

const secret = <A>(shown: Setting<A>): Setting<A> => ({ ...shown, secret: true })

export const bucketSettings = {
  archiveBucket: setting(
    "LAUREL_ARCHIVE_BUCKET",
    "",
    bucketAddress,
    "Bucket of an S3-compatible server that each archive is also sent to, such as s3://bucket/laurel; none: archives stay in their directory",
  ),
  bucketEndpoint: setting(
    "AWS_ENDPOINT_URL",
    "",
    anyText,
    "Address of the S3-compatible server of LAUREL_ARCHIVE_BUCKET; none: that of Amazon S3 in AWS_REGION",
  ),
  bucketRegion: setting("AWS_REGION", "us-east-1", anyText, "Region of LAUREL_ARCHIVE_BUCKET"),
  bucketKeyId: setting(
    "AWS_ACCESS_KEY_ID",
    "",
    anyText,
    "Id of the access key for LAUREL_ARCHIVE_BUCKET",
  ),
  bucketSecret: secret(
    setting(
      "AWS_SECRET_ACCESS_KEY",
      "",
      anyText,
      "Secret of the access key for LAUREL_ARCHIVE_BUCKET",
    ),
  ),
  bucketToken: secret(
    setting(
      "AWS_SESSION_TOKEN",
      "",
      anyText,
      "Session token of a temporary access key; none: the key is permanent",
    ),
  ),
}

type BucketConfig = ValuesOf<typeof bucketSettings>

/** The faults of the shared variables, one line each. None if no bucket is set, by `asker`. */
export const bucketFaults = (
  config: BucketConfig,
  asker = "LAUREL_ARCHIVE_BUCKET",
): ReadonlyArray<string> => {
  if (config.archiveBucket === undefined) return []
  const { bucketEndpoint, bucketRegion } = config
  const faults: Array<string> = []
  for (const [name, isOptional] of credentials) {
    const { variable } = bucketSettings[name]
    const text = config[name]
    if (text === "" && !isOptional) faults.push(`${asker} needs ${variable}.`)
    // Header fields hold the credentials. The error about another character would quote the secret.
    else if (!/^[!-~]{0,8192}$/.test(text)) {
      faults.push(`${variable} must have visible ASCII characters, without spaces.`)
    }
  }
  if (!/^[a-z0-9-]{1,64}$/i.test(bucketRegion)) {
    faults.push(`AWS_REGION is ${JSON.stringify(bucketRegion)}: it must be the name of a region.`)
  }
  if (Result.isFailure(webAddress(bucketEndpoint))) {
    faults.push(
      "AWS_ENDPOINT_URL must be an http or https URL without credentials, such as http://127.0.0.1:9000.",
    )
  }
  return faults
}

const credentials = [
  ["bucketKeyId", false],
  ["bucketSecret", false],
  ["bucketToken", true],
] as const

/** The bucket for archives, with its credentials; `undefined` if none is set. */
export const bucketOf = (config: BucketConfig): BucketPlace | undefined =>
  config.archiveBucket && {
    ...config.archiveBucket,
    endpoint:
      config.bucketEndpoint === ""
        ? `https://s3.${config.bucketRegion}.amazonaws.com`
        : config.bucketEndpoint,
    region: config.bucketRegion,
    accessKeyId: config.bucketKeyId,
    secretAccessKey: config.bucketSecret,
    sessionToken: config.bucketToken === "" ? undefined : config.bucketToken,
  }
