import { fileName } from '../trees/file-tree.js';
import { Table } from '../tree.js';
import type { AgentDefinition } from './agent-definition.js';
import type { Agents } from './agents.js';
import { NAME, qualified } from './names.js';
import { derived } from './nodes.js';
import type { Pack } from './pack-graph.js';
import type { Run } from './run.js';

/** The formula that these agents follow. */
export const FORMULA = 'mol-do-work';

/** What a place gives the agents of its providers. */
export interface ImplicitPlace {
  /** '' for the city. */
  readonly rig: string;
  /** The pack `core` where the place has it. */
  readonly core: Pack | undefined;
  /** Whether there is the formula that does a piece of work. */
  readonly hasFormula: boolean;
}

/** Every provider of the catalogue is an agent in the city and in every rig, unless there is one of the name. */
export function addImplicit(run: Run, agents: Agents, catalogue: Table, places: readonly ImplicitPlace[]): void {
  for (const { rig, core, hasFormula } of places) {
    const prompt = core?.agents.find(({ name }) => name === 'worker')?.prompt;
    for (const [name, provider] of catalogue.entries) {
      if (agents.isFull) return;
      if (!NAME.test(name) || agents.get(qualified(rig, '', name)) !== undefined) continue;
      const table = new Table(
        new Map([
          ['name', derived(name)],
          ['provider', derived(name)],
        ]),
        provider.origin,
        provider.at,
      ).with(
        ['prompt_file', core === undefined || prompt === undefined ? undefined : derived(fileName(core.home.tree, prompt))],
        ['default_sling_formula', hasFormula ? derived(FORMULA) : undefined],
      );
      const definition: AgentDefinition = {
        name,
        table,
        written: table,
        origin: 'implicit',
        source: provider.origin.file,
        pack: '',
        folder: { tree: run.input.tree, path: '' },
        prompt: undefined,
        namepool: undefined,
        where: table,
        named: table,
      };
      agents.add(definition, rig, '');
    }
  }
}
