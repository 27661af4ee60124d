/**
 * A disk in memory that is as treacherous as a real one may be:
 *
 * - What was written is only in its cache until it is synced. `afterPowerCut` keeps what was, and of the
 *   rest any sectors of 512 bytes, in any combination, sizes and names of files likewise.
 * - Any call can fail, or be the one during which the power goes; from then on all calls fail.
 * - It can be full, slow, or never answer.
 *
 * Every choice follows from the seed.
 */
import path from "node:path"
import { Effect } from "effect"
import {
  type Disk,
  DiskError,
  type DiskFile,
  type OnDisk,
  type OpenMode,
} from "../../src/storage/Disk.ts"
import { Random } from "./random.ts"
import { Folder, Inode, inodeOf, survivingNames } from "./unsynced.ts"

interface Fault {
  readonly code: string
  /** All later calls fail too. */
  readonly lasting: boolean
}

export class SimulatedDisk implements Disk {
  readonly #folders = new Map<string, Folder>()
  readonly #faults = new Map<number, Fault>()
  #lasting: string | undefined
  #hanging: string | undefined
  /** Calls so far, of every kind, and what each was. */
  calls = 0
  readonly log: Array<string> = []
  /** Bytes that all files together may take. */
  capacityBytes = Number.POSITIVE_INFINITY
  /** How long each call takes, by the clock. */
  callMs = 0

  /** A disk that durably holds these files of one folder. */
  static holding(folder: string, files: ReadonlyMap<string, Uint8Array>): SimulatedDisk {
    const disk = new SimulatedDisk()
    const made = new Folder()
    for (const [name, bytes] of files) made.names.set(name, inodeOf(bytes))
    made.sync()
    disk.#folders.set(folder, made)
    return disk
  }

  /** The `call`th call from now on fails with this code and does nothing, or only part of a write. */
  failCall(call: number, code: string): void {
    this.#faults.set(this.calls + call, { code, lasting: false })
  }

  /** The power goes during the `call`th call from now on. */
  cutPowerAt(call: number): void {
    this.#faults.set(this.calls + call, { code: "POWER", lasting: true })
  }

  /** From now on calls of this kind never answer. */
  hang(operation: string): void {
    this.#hanging = operation
  }

  /** The files of a folder as its readers see them. */
  files(folder: string): Map<string, Buffer> {
    const found = new Map<string, Buffer>()
    for (const [name, inode] of this.#folder(folder).names)
      found.set(name, Buffer.from(inode.bytes))
    return found
  }

  /** What the next process finds when this one, but not the machine, dies now: the cache is still there. */
  afterKill(): SimulatedDisk {
    const disk = new SimulatedDisk()
    const copies = new Map<Inode, Inode>()
    const copyOf = (inode: Inode): Inode => {
      const copy = copies.get(inode) ?? inode.copy()
      copies.set(inode, copy)
      return copy
    }
    for (const [where, folder] of this.#folders) disk.#folders.set(where, folder.copy(copyOf))
    return disk
  }

  /** What is found after the power went now. */
  afterPowerCut(seed: number): SimulatedDisk {
    const random = new Random(seed)
    const disk = new SimulatedDisk()
    const kept = [0, 1, 0.5, random.next()][Math.floor(random.next() * 4)]!
    const survivors = new Map<Inode, Inode>()
    for (const [where, folder] of this.#folders) {
      const names = survivingNames(folder, random, kept)
      const survived = new Folder()
      for (const [name, inode] of names) {
        const survivor = survivors.get(inode) ?? inode.survivor(random, kept)
        survivors.set(inode, survivor)
        survived.names.set(name, survivor)
      }
      survived.sync()
      disk.#folders.set(where, survived)
    }
    return disk
  }

  readonly open = (where: string, mode: OpenMode): OnDisk<DiskFile> =>
    this.#call("open", where, () => {
      const folder = this.#folder(path.dirname(where))
      const name = path.basename(where)
      let inode = folder.names.get(name)
      if (mode === "create") {
        if (inode === undefined) {
          inode = new Inode()
          folder.change({ kind: "add", name, inode })
        } else inode.resize(0)
      }
      if (inode === undefined)
        throw new DiskError({ operation: "open", path: where, code: "ENOENT" })
      return this.#file(where, inode)
    })

  readonly rename = (from: string, to: string): OnDisk<void> =>
    this.#call("rename", from, () => {
      const folder = this.#folder(path.dirname(from))
      const inode = this.#inode(folder, from)
      folder.change({ kind: "rename", from: path.basename(from), to: path.basename(to), inode })
    })

  readonly remove = (where: string): OnDisk<void> =>
    this.#call("remove", where, () => {
      const folder = this.#folder(path.dirname(where))
      this.#inode(folder, where)
      folder.change({ kind: "remove", name: path.basename(where) })
    })

  readonly list = (where: string): OnDisk<ReadonlyArray<string>> =>
    this.#call("list", where, () => [...this.#folder(where).names.keys()])

  readonly makeFolder = (where: string): OnDisk<void> =>
    this.#call("make folder", where, () => {
      if (!this.#folders.has(where)) this.#folders.set(where, new Folder())
    })

  readonly syncFolder = (where: string): OnDisk<void> =>
    this.#call("sync folder", where, () => this.#folder(where).sync())

  readonly freeBytes = (where: string): OnDisk<number> =>
    this.#call("statfs", where, () => this.#freeBytes())

  #freeBytes(): number {
    let used = 0
    for (const folder of this.#folders.values()) {
      for (const inode of folder.names.values()) used += inode.bytes.length
    }
    return this.capacityBytes - used
  }

  #folder(where: string): Folder {
    const folder = this.#folders.get(where)
    if (folder === undefined)
      throw new DiskError({ operation: "open", path: where, code: "ENOENT" })
    return folder
  }

  #inode(folder: Folder, where: string): Inode {
    const inode = folder.names.get(path.basename(where))
    if (inode === undefined) throw new DiskError({ operation: "find", path: where, code: "ENOENT" })
    return inode
  }

  #file(where: string, inode: Inode): DiskFile {
    const write = (position: number, bytes: Buffer) => {
      const room = Math.max(0, this.#freeBytes() + inode.bytes.length - position)
      inode.write(position, bytes.subarray(0, room))
      if (room < bytes.length)
        throw new DiskError({ operation: "write", path: where, code: "ENOSPC" })
    }
    return {
      path: where,
      write: (position, pieces) => {
        const bytes = Buffer.concat(pieces)
        const part = () => inode.write(position, bytes.subarray(0, bytes.length >> 1))
        return this.#call("write", where, () => write(position, bytes), part)
      },
      read: (position, into) =>
        this.#call("read", where, () => inode.bytes.copy(into, 0, position)),
      sync: this.#call("sync", where, () => inode.sync()),
      truncate: (size) => this.#call("truncate", where, () => inode.resize(size)),
      size: this.#call("size", where, () => inode.bytes.length),
      close: this.#call("close", where, () => {}),
    }
  }

  /** `part`: what a call that fails has done all the same. */
  #call<A>(operation: string, where: string, run: () => A, part?: () => void): OnDisk<A> {
    return Effect.suspend(() => {
      this.calls++
      this.log.push(`${operation} ${path.basename(where)}`)
      if (this.#hanging === operation) return Effect.never
      const fault = this.#faults.get(this.calls)
      if (fault?.lasting === true && this.#lasting === undefined) {
        this.#lasting = fault.code
        part?.()
      } else if (fault !== undefined) part?.()
      const code = this.#lasting ?? fault?.code
      if (code !== undefined) return Effect.fail(new DiskError({ operation, path: where, code }))
      const answer = Effect.try({ try: run, catch: (error) => error as DiskError })
      return this.callMs > 0 ? Effect.andThen(Effect.sleep(this.callMs), answer) : answer
    })
  }
}
