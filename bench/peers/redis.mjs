/**
 * Events in Redis: one Lua script for each event, pipelined by the driver; sorted sets are the
 * boards.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Redis } from "ioredis"
import { createClient, defineScript } from "redis"
import { slicesOf } from "./slices.mjs"

/**
 * Keys: event, user, history, boards of all time, the day, the week. Arguments: user, xp, the row
 * of history.
 */
const script = `
local seen = redis.call('GET', KEYS[1])
if seen then return {tonumber(seen), 1} end
local total = redis.call('HINCRBY', KEYS[2], 'xp', ARGV[2])
redis.call('SET', KEYS[1], total)
redis.call('RPUSH', KEYS[3], ARGV[3])
for board = 4, 6 do redis.call('ZINCRBY', KEYS[board], ARGV[2], ARGV[1]) end
return {total, 0}`

const keysOf = ({ day, id, userId, week }) => [
  `e:${id}`,
  `u:${userId}`,
  `h:${userId}`,
  "b:all",
  `b:${day}`,
  `b:${week}`,
]
const argumentsOf = ({ action, at, id, metadata, userId, xp }) => [
  userId,
  String(xp),
  JSON.stringify({ id, action, metadata, at, xp }),
]

const openIoredis = async ({ socket }) => {
  const client = new Redis(socket, { enableAutoPipelining: true })
  client.defineCommand("track", { numberOfKeys: 6, lua: script })
  return {
    track: (command) => client.track(...keysOf(command), ...argumentsOf(command)),
    xpOf: (userId) => client.hget(`u:${userId}`, "xp"),
    page: async (from, to) => {
      const flat = await client.zrange("b:all", from, to, "REV", "WITHSCORES")
      return Array.from({ length: flat.length / 2 }, (_, index) => {
        return { value: flat[2 * index], score: Number(flat[2 * index + 1]) }
      })
    },
    /** New users need no script: nothing depends on what is there. */
    loadSlice: async (commands) => {
      const pipeline = client.pipeline()
      pipeline.mset(...commands.flatMap(({ id, xp }) => [`e:${id}`, xp]))
      for (const command of commands) {
        pipeline.hset(`u:${command.userId}`, "xp", command.xp)
        pipeline.rpush(`h:${command.userId}`, argumentsOf(command)[2])
      }
      for (const board of keysOf(commands[0]).slice(3)) {
        pipeline.zadd(board, ...commands.flatMap(({ userId, xp }) => [xp, userId]))
      }
      for (const [error] of await pipeline.exec()) if (error) throw error
    },
    rewrite: async () => {
      await client.bgrewriteaof()
      for (;;) {
        const text = await client.info("persistence")
        if (/aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(text)) return
        await sleep(50)
      }
    },
  }
}

const openNodeRedis = async ({ socket }) => {
  const track = defineScript({
    NUMBER_OF_KEYS: 6,
    SCRIPT: script,
    parseCommand: (parser, command) => {
      parser.pushKeys(keysOf(command))
      parser.push(...argumentsOf(command))
    },
    transformReply: (reply) => reply,
  })
  const client = createClient({ socket: { path: socket }, scripts: { track } })
  await client.connect()
  return {
    track: (command) => client.track(command),
    xpOf: (userId) => client.hGet(`u:${userId}`, "xp"),
    page: (from, to) => client.zRangeWithScores("b:all", from, to, { REV: true }),
  }
}

const levelOf = (xp) => 1 + Math.floor(Math.sqrt(xp / 100))

export const openRedis = async (options) => {
  const client = await (options.driver === "redis" ? openNodeRedis : openIoredis)(options)
  const track = async (command) => {
    const [total, duplicate] = await client.track(command)
    return {
      duplicate: duplicate === 1,
      total,
      before: levelOf(total - command.xp),
      after: levelOf(total),
    }
  }
  return {
    track,
    // Sent in one turn, so in one write.
    trackAll: (commands) => Promise.all(commands.map(track)),
    user: async (userId) => {
      const xp = await client.xpOf(userId)
      return xp === null ? undefined : { userId, xp: Number(xp), level: levelOf(Number(xp)) }
    },
    page: async (offset, limit) => {
      const rows = await client.page(offset, offset + limit - 1)
      return rows.map(({ score, value }, index) => {
        return { rank: offset + index + 1, userId: value, xp: score, level: levelOf(score) }
      })
    },
    load: async (newUsers) => {
      for (const slice of slicesOf(newUsers())) await client.loadSlice(slice)
    },
    /** The append-only file as short as it gets. */
    settle: () => client.rewrite(),
    totalXp: async () => {
      let sum = 0
      for (const { score } of await client.page(0, -1)) sum += score
      return sum
    },
  }
}
