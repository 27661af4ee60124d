/**
 * Leaderboards by other means, each with the verbs of `processes/boards.ts`, highest score first.
 * They take lists, so that Redis gets all of one in a single write. The packages sort upwards:
 * scores are negative there.
 */
import { OrderedMap } from "@js-sdsl/ordered-map"
import { Redis } from "ioredis"
import SortedSet from "tlhunter-sorted-set"

const key = "board"

/** ZINCRBY, ZREVRANK and ZRANGE of a sorted set; equal scores are in the order of ids. */
export const openZset = (socket) => {
  const client = new Redis(socket)
  const pipelined = async (list, command) => {
    const pipeline = client.pipeline()
    for (const each of list) command(pipeline, each)
    const replies = await pipeline.exec()
    return replies.map(([error, reply]) => {
      if (error) throw error
      return reply
    })
  }
  return {
    fill: async (ids, scores) => {
      for (let from = 0; from < ids.length; from += 1_000) {
        const slice = ids.slice(from, from + 1_000)
        await client.zadd(key, ...slice.flatMap((id, n) => [scores[from + n], id]))
      }
    },
    add: (ids, by) => pipelined(ids, (pipeline, id) => pipeline.zincrby(key, by, id)),
    ranks: (ids) => pipelined(ids, (pipeline, id) => pipeline.zrevrank(key, id)),
    pages: async (offsets, limit) => {
      const replies = await pipelined(offsets, (pipeline, offset) =>
        pipeline.zrange(key, offset, offset + limit - 1, "REV", "WITHSCORES"),
      )
      return replies.map((flat, index) =>
        Array.from({ length: flat.length / 2 }, (_, n) => {
          return { rank: offsets[index] + n, userId: flat[2 * n], score: Number(flat[2 * n + 1]) }
        }),
      )
    },
    /** Of the server, in microseconds. */
    processorUs: async () => {
      const info = await client.info("cpu")
      const seconds = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)[1])
      return (seconds("used_cpu_user") + seconds("used_cpu_sys")) * 1e6
    },
  }
}

/** A skip list with spans, as Redis has, and a Map; equal scores are in the order of ids. */
export const openSkipList = () => {
  const set = new SortedSet()
  return {
    fill: (ids, scores) => {
      for (const [n, id] of ids.entries()) set.add(id, -scores[n])
    },
    add: (ids, by) => {
      for (const id of ids) set.add(id, set.score(id) - by)
    },
    ranks: (ids) => ids.map((id) => set.rank(id)),
    pages: (offsets, limit) =>
      offsets.map((offset) =>
        set
          .range(offset, offset + limit - 1, { withScores: true })
          .map(([userId, score], n) => ({ rank: offset + n, userId, score: -score })),
      ),
  }
}

/**
 * A red-black tree with sizes of its subtrees, and a Map of keys; the first to reach a score comes
 * first.
 */
export const openOrderedMap = () => {
  const byUser = new Map()
  const order = (a, b) => b.score - a.score || a.tie - b.tie
  const tree = new OrderedMap([], order, true)
  let ties = 0
  const put = (userId, score) => {
    const place = { score, tie: ties++ }
    byUser.set(userId, place)
    tree.setElement(place, userId)
  }
  return {
    fill: (ids, scores) => {
      for (const [n, id] of ids.entries()) put(id, scores[n])
    },
    add: (ids, by) => {
      for (const id of ids) {
        const place = byUser.get(id)
        tree.eraseElementByKey(place)
        put(id, place.score + by)
      }
    },
    ranks: (ids) => ids.map((id) => tree.find(byUser.get(id)).index),
    pages: (offsets, limit) =>
      offsets.map((offset) => {
        const [first] = tree.getElementByPos(offset)
        const at = tree.find(first)
        return Array.from({ length: limit }, (_, n) => {
          const [{ score }, userId] = at.pointer
          at.next()
          return { rank: offset + n, userId, score }
        })
      }),
  }
}
