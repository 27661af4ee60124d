/**
 * `--import`ed by a server: its cluster has `BENCH_PARTITIONS`, and threads that write end soon, so
 * that it comes to rest.
 */
import { limits } from "../../src/Limits.ts"

limits.clusterPartitions = Number(process.env.BENCH_PARTITIONS)
limits.writeThreadIdleMs = 2_000
