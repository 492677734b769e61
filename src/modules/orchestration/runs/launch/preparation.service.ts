import { Injectable } from '@nestjs/common';
import { problem } from '../../../../contract/problems.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { CityConfig } from '../../../files/composition/city-config.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { fieldsOf, summaryOf } from '../../../configuration/config/refusals.js';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { RESERVED } from '../../formulas/compile/vars.js';
import { compiling } from '../../formulas/formula-tasks.js';
import { FormulaWork } from '../../formulas/formula-work.js';
import { hostOf } from '../../formulas/host.js';
import { formulasAt } from '../../formulas/stored-library.js';
import { RunsRepository } from '../runs.repository.js';
import { requireWork } from './claimable.js';
import { Recipes } from './recipes.js';

/** Which formula is to be run, and for whom. */
export interface Wanted {
  readonly formula: string;
  /** The rig whose formulas count, '' for the city's. */
  readonly rig: string;
  /** What the caller says: it counts before everything else. */
  readonly vars: Readonly<Record<string, string>>;
  /** The canonical name of whom it goes to. */
  readonly target?: string | undefined;
  /** The bead that it is attached to. */
  readonly source?: string | undefined;
}

/** Makes recipes of formulas as launches need them: every variable has a value. */
@Injectable()
export class RunPreparation {
  readonly #recipes = new Recipes();

  constructor(
    private readonly reads: ConfigReadsService,
    private readonly repository: RunsRepository,
    private readonly work: FormulaWork,
  ) {}

  /**
   * Compiles a formula of the revision that the city runs. It reads and computes: do it before the transaction that launches.
   *
   * @throws ProblemError formula_not_found; invalid_request with all that is wrong; unavailable when the configuration changes meanwhile
   */
  async prepare(city: Pick<CityScope, 'name' | 'streamId'>, wanted: Wanted): Promise<Recipe> {
    const { formula: name, rig, vars } = wanted;
    const { config, hash } = await this.reads.current(city);
    const entry = formulasAt(config, rig).find((each) => each.name === name);
    if (entry === undefined) throw problem('formula_not_found', `formula ${name} not found`);
    if (entry.type !== undefined) throw problem('formula_not_found', `formula ${name} is not a workflow: it is an ${entry.type}`);
    const issue = wanted.source === undefined ? undefined : await this.repository.workBead(city.streamId, wanted.source);
    const injected = injectedFor(config, wanted);
    // Who says what the issue is means it for every bead.
    const own: Record<string, string> =
      issue === undefined || Object.hasOwn(vars, 'issue') || Object.hasOwn(injected, 'issue') ? {} : { issue };
    const given = { vars, strict: true, compiler: hostOf(config) } as const;
    const compiled = await this.#recipes.of([city.streamId, hash, rig, name, given, injected], own.issue, () => {
      const options = { ...given, injected: { ...injected, ...own } };
      return this.work.run(city, compiling, { shelf: config, rig, name, options });
    });
    if (compiled === undefined) throw problem('unavailable', 'the configuration changed while it was read; try again');
    const { recipe, issues } = compiled;
    if (recipe === undefined)
      throw problem('invalid_request', `formula ${name} cannot be used: ${summaryOf(issues)}`, { errors: fieldsOf(issues) });
    requireWork(recipe);
    return recipe;
  }

  /** The formula that an agent's work is done by unless a sling says otherwise. */
  async defaultOf(city: Pick<CityScope, 'name' | 'streamId'>, agent: string): Promise<string | undefined> {
    const config = (await this.reads.known(city))?.config;
    const name = config?.agents.find(({ qualified_name: qualified }) => qualified === agent)?.default_sling_formula;
    return typeof name === 'string' && name !== '' ? name : undefined;
  }
}

/** What the service adds: what the rig's files say first, then what it knows of rig and agent. */
function injectedFor(config: CityConfig, { rig: name, target }: Wanted): Record<string, string> {
  const rig = config.rigs.find((each) => each.name === name);
  const agent = config.agents.find(({ qualified_name: qualified }) => qualified === target);
  const branch = rig?.default_branch;
  const own = Object.entries((rig?.formula_vars ?? {}) as Record<string, unknown>).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !(RESERVED as readonly string[]).includes(entry[0]),
  );
  return {
    ...(name === '' ? {} : { rig_name: name }),
    ...(agent === undefined ? {} : { binding_name: agent.binding, binding_prefix: agent.binding === '' ? '' : `${agent.binding}.` }),
    ...(branch === undefined ? {} : { base_branch: branch, target_branch: branch }),
    ...Object.fromEntries(own),
  };
}
