/**
 * Files and folders that know which of their parts are durable, and what a power cut leaves of the
 * rest.
 */
import type { Random } from "./random.ts"

const sectorBytes = 512

/** A file: the bytes that readers see, the durable bytes, and the sectors in which they differ. */
export class Inode {
  bytes = Buffer.alloc(0)
  durable = Buffer.alloc(0)
  readonly dirty = new Set<number>()

  resize(size: number): void {
    const resized = Buffer.alloc(size)
    this.bytes.copy(resized)
    this.#touch(Math.min(size, this.bytes.length), Math.max(size, this.bytes.length))
    this.bytes = resized
  }

  write(position: number, piece: Uint8Array): void {
    if (position + piece.length > this.bytes.length) this.resize(position + piece.length)
    this.bytes.set(piece, position)
    this.#touch(position, position + piece.length)
  }

  sync(): void {
    this.durable = Buffer.from(this.bytes)
    this.dirty.clear()
  }

  copy(): Inode {
    const copy = inodeOf(this.bytes)
    copy.durable = this.durable
    for (const sector of this.dirty) copy.dirty.add(sector)
    return copy
  }

  /** The file after a power cut: each unsynced sector and the size are old or new. */
  survivor(random: Random, kept: number): Inode {
    const size = random.next() < kept ? this.bytes.length : this.durable.length
    const bytes = Buffer.alloc(size)
    this.durable.copy(bytes)
    for (const sector of this.dirty) {
      if (random.next() >= kept) continue
      const start = sector * sectorBytes
      if (start >= size) continue
      const end = Math.min(start + sectorBytes, size)
      bytes.fill(0, start, end)
      if (start < this.bytes.length) this.bytes.copy(bytes, start, start, end)
    }
    return inodeOf(bytes)
  }

  #touch(from: number, to: number): void {
    for (let at = Math.floor(from / sectorBytes); at * sectorBytes < to; at++) this.dirty.add(at)
  }
}

/** A file whose durable content is `bytes`. */
export const inodeOf = (bytes: Uint8Array): Inode => {
  const inode = new Inode()
  inode.bytes = Buffer.from(bytes)
  inode.sync()
  return inode
}

/** A rename from one folder to another. When either folder is synced, it is durable in both. */
interface Move {
  synced: boolean
}

type Change =
  | { readonly kind: "add"; readonly name: string; readonly node: Node; readonly move?: Move }
  | { readonly kind: "remove"; readonly name: string; readonly move?: Move }
  | { readonly kind: "rename"; readonly from: string; readonly to: string; readonly node: Node }

export type Node = Inode | Folder

const applyChange = (names: Map<string, Node>, change: Change): void => {
  if (change.kind === "add") names.set(change.name, change.node)
  else if (change.kind === "remove") names.delete(change.name)
  else {
    names.delete(change.from)
    names.set(change.to, change.node)
  }
}

/** The names in a folder, the durable names, and the changes between them. */
export class Folder {
  names = new Map<string, Node>()
  durable = new Map<string, Node>()
  pending: Array<Change> = []

  change(change: Change): void {
    applyChange(this.names, change)
    this.pending.push(change)
  }

  sync(): void {
    this.durable = new Map(this.names)
    for (const change of this.pending) if ("move" in change) change.move!.synced = true
    this.pending = []
  }

  /** A copy of the folder, with `copyOf` each node in its place. */
  copy(copyOf: (node: Node) => Node, moveOf: (move: Move) => Move): Folder {
    const copy = new Folder()
    for (const [name, node] of this.names) copy.names.set(name, copyOf(node))
    for (const [name, node] of this.durable) copy.durable.set(name, copyOf(node))
    copy.pending = this.pending.map((change) => ({
      ...change,
      ...("node" in change && { node: copyOf(change.node) }),
      ...("move" in change && { move: moveOf(change.move!) }),
    }))
    return copy
  }
}

/** Renames within a folder, or from one to another. */
export const moveNode = (
  [source, from]: readonly [Folder, string],
  [target, to]: readonly [Folder, string],
  node: Node,
): void => {
  if (source === target) {
    source.change({ kind: "rename", from, to, node })
    return
  }
  const move = { synced: false }
  source.change({ kind: "remove", name: from, move })
  target.change({ kind: "add", name: to, node, move })
}

/** The tree after a kill: a copy with all changes. */
export const copyTree = (root: Folder): Folder => {
  const copies = new Map<Node, Node>()
  const moves = new Map<Move, Move>()
  const moveOf = (move: Move): Move => {
    const copy = moves.get(move) ?? { ...move }
    moves.set(move, copy)
    return copy
  }
  const copyOf = (node: Node): Node => {
    const known = copies.get(node)
    if (known !== undefined) return known
    const copy = node instanceof Inode ? node.copy() : node.copy(copyOf, moveOf)
    copies.set(node, copy)
    return copy
  }
  return copyOf(root) as Folder
}

/**
 * The tree after a power cut: each unsynced change of a name happened or not, and each sector is
 * old or new.
 */
export const survivingTree = (root: Folder, random: Random, kept: number): Folder => {
  const survivors = new Map<Node, Node>()
  const fates = new Map<Move, boolean>()
  const happened = (change: Change): boolean => {
    const move = "move" in change ? change.move : undefined
    if (move === undefined) return random.next() < kept
    const fate = move.synced || (fates.get(move) ?? random.next() < kept)
    fates.set(move, fate)
    return fate
  }
  const survivorOf = (node: Node): Node => {
    const known = survivors.get(node)
    if (known !== undefined) return known
    if (node instanceof Inode) {
      const survivor = node.survivor(random, kept)
      survivors.set(node, survivor)
      return survivor
    }
    const survivor = new Folder()
    survivors.set(node, survivor)
    const names = new Map(node.durable)
    for (const change of node.pending) if (happened(change)) applyChange(names, change)
    for (const [name, named] of names) survivor.names.set(name, survivorOf(named))
    survivor.sync()
    return survivor
  }
  return survivorOf(root) as Folder
}
