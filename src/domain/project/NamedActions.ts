/**
 * Which definitions name each action, and the paths of the metadata that they read: for people.
 * `ActionIndex.ts` matches events. Cost: a pass over all definitions.
 */
import { type Condition, isCounting } from "./Definition.ts"
import type { AnyDefinition } from "./Kinds.ts"
import type { ProjectState } from "./Project.ts"

export interface NamedAction {
  readonly definitions: ReadonlyArray<AnyDefinition>
  readonly paths: ReadonlySet<string>
}

interface Naming {
  readonly definitions: Array<AnyDefinition>
  readonly paths: Set<string>
}

/** By action; archived definitions and drafts name none. */
export const namedActions = (project: ProjectState): ReadonlyMap<string, NamedAction> => {
  const all = new Map<string, Naming>()
  const add = (
    one: AnyDefinition,
    action: string,
    where: ReadonlyArray<Condition> = [],
    ...paths: ReadonlyArray<string | null | undefined>
  ): void => {
    const { set } = one.definition
    if (set === "archived" || set === "draft") return
    let naming = all.get(action)
    if (naming === undefined) {
      naming = { definitions: [], paths: new Set() }
      all.set(action, naming)
    }
    if (!naming.definitions.some(({ definition }) => definition === one.definition)) {
      naming.definitions.push(one)
    }
    for (const { path } of where) naming.paths.add(path)
    for (const path of paths) if (path != null) naming.paths.add(path)
  }
  for (const definition of project.rules.values()) {
    const { action, multiplier, where } = definition
    add({ noun: "rule", definition }, action, where, multiplier?.path)
  }
  for (const definition of project.quests.values()) {
    for (const { action, sumPath, where } of definition.steps) {
      if (action !== undefined) add({ noun: "quest", definition }, action, where, sumPath)
    }
  }
  for (const definition of project.badges.values()) {
    const { criteria } = definition
    if (!isCounting(criteria)) continue
    add({ noun: "badge", definition }, criteria.action, criteria.where, criteria.sumPath)
  }
  for (const definition of project.metrics.values()) {
    for (const action of definition.actions) {
      add({ noun: "metric", definition }, action, definition.where, definition.value)
    }
  }
  for (const definition of project.streaks.values()) {
    for (const { action } of definition.needs) {
      if (action !== undefined) add({ noun: "streak", definition }, action)
    }
  }
  return all
}
