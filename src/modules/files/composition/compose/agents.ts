import type { Table } from '../tree.js';
import { identityOf, sourceDir, type AgentDefinition } from './agent-definition.js';
import { LIMITS } from './limits.js';
import { qualified } from './names.js';
import { derived, sameOrDerived } from './nodes.js';
import type { Run } from './run.js';

/** An agent in one place of the city: the city itself or a rig. */
export interface Agent {
  readonly definition: AgentDefinition;
  readonly name: string;
  /** The rig, '' for the city. */
  readonly dir: string;
  readonly binding: string;
  readonly qualifiedName: string;
  /** Changed by patches and defaults. */
  table: Table;
}

/** The agents of a city in the order in which they were added. */
export class Agents {
  readonly #byName = new Map<string, Agent>();
  readonly #byBareName = new Map<string, Agent[]>();
  readonly #byPlace = new Map<string, Agent[]>();
  #isFull = false;

  constructor(private readonly run: Run) {}

  get all(): Iterable<Agent> {
    return this.#byName.values();
  }

  /** Whether there were too many, which is told: the others need not be looked at. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Adds an agent in a place. The same definition twice is one agent; two definitions of one name are an error. */
  add(definition: AgentDefinition, dir: string, binding: string): void {
    this.run.spend('steps', 1);
    const { name, table } = definition;
    const qualifiedName = qualified(dir, binding, name);
    const known = this.#byName.get(qualifiedName);
    if (known !== undefined) {
      if (identityOf(known.definition) === identityOf(definition)) return;
      this.run.error(definition.named, `there is an agent "${qualifiedName}" in ${known.definition.source} already`);
      return;
    }
    if (this.#byName.size >= LIMITS.agents) {
      this.#isFull = true;
      this.run.error({ origin: { file: 'city.toml' }, at: '' }, `there are more than ${LIMITS.agents} agents`);
      return;
    }
    const agent: Agent = { definition, name, dir, binding, qualifiedName, table };
    this.#byName.set(qualifiedName, agent);
    file(this.#byBareName, name, agent);
    file(this.#byPlace, qualified(dir, '', name), agent);
  }

  get(qualifiedName: string): Agent | undefined {
    return this.#byName.get(qualifiedName);
  }

  /** Every agent of a bare name, in whatever place. */
  named(name: string): readonly Agent[] {
    return this.#byBareName.get(name) ?? [];
  }

  /** Every agent of a bare name in one place, whatever its binding. */
  inPlace(dir: string, name: string): readonly Agent[] {
    return this.#byPlace.get(qualified(dir, '', name)) ?? [];
  }

  /** The agent that a name means in a place: one of the same binding and rig before one further away. */
  resolve(name: string, dir = '', binding = ''): Agent | undefined {
    return (
      this.get(qualified(dir, binding, name)) ??
      this.get(qualified(dir, '', name)) ??
      this.get(qualified('', binding, name)) ??
      this.get(name)
    );
  }
}

function file(index: Map<string, Agent[]>, key: string, agent: Agent): void {
  const alike = index.get(key);
  if (alike === undefined) index.set(key, [agent]);
  else alike.push(agent);
}

/** The agent as the composed result has it. */
export function agentTable({ definition, name, dir, binding, qualifiedName, table }: Agent): Table {
  const { origin, source, pack } = definition;
  return table.with(
    ['name', sameOrDerived(table.get('name'), name)],
    ['qualified_name', derived(qualifiedName)],
    ['dir', sameOrDerived(table.get('dir'), dir)],
    ['binding', derived(binding)],
    ['origin', derived(origin)],
    ['source', derived(source)],
    ['source_dir', sourceDir(definition)],
    ['pack', origin === 'pack' ? derived(pack) : undefined],
  );
}
