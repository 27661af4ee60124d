/**
 * Buckets that split with a few users, and states that are values of their own, in a process that
 * loads this module.
 */
import { limits } from "../../src/Limits.ts"

Object.assign(limits, { bucketBytesMax: 600, bucketSplitUsersMin: 2, stateInlineBytesMax: 150 })
