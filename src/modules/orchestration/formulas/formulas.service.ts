import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { CityConfig, FormulaConfig } from '../../files/composition/city-config.js';
import { ConfigReadsService, type CurrentConfig, type Read } from '../../configuration/config/config-reads.service.js';
import { pageFrom, startAfter } from '../../configuration/config/page.js';
import { fieldsOf, summaryOf } from '../../configuration/config/refusals.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { RunCountsService } from './run-counts.service.js';
import { compiling, layersIn, listing } from './formula-tasks.js';
import { rigOf, type AskedScope } from './formula-scope.js';
import { hostOf } from './host.js';
import { FormulaTargetsRepository } from './formula-targets.repository.js';
import { FormulaWork } from './formula-work.js';
import { toDetail } from './formulas.mapper.js';
import type {
  FormulaDetailResponse,
  FormulaListBody,
  FormulaPreviewBody,
  FormulaQuery,
  FormulasQuery,
  FormulaSourceOutputBody,
} from './formulas.schemas.js';
import { formulasAt } from './stored-library.js';

/** What a city's formulas are and what they become. Everything comes from the revision that the city runs. */
@Injectable()
export class FormulasService {
  constructor(
    private readonly reads: ConfigReadsService,
    private readonly work: FormulaWork,
    private readonly targets: FormulaTargetsRepository,
    private readonly roster: RosterService,
    private readonly runs: RunCountsService,
  ) {}

  async list(city: CityScope, query: FormulasQuery): Promise<Read<FormulaListBody>> {
    const current = await this.reads.current(city);
    const rig = rigOf(query, city.name, current.config, 'query');
    const shelf = current.config;
    const all = formulasAt(shelf, rig).filter(({ type }) => type === undefined);
    const start = startAfter(query.cursor, current.revision);
    const entries = all.slice(start, start + query.limit);
    const runs = await this.runs.byFormula(city.streamId, rig);
    const counted = entries.map(({ name }) => runs.get(name) ?? 0);
    const summaries = await this.work.run(city, listing, { shelf, rig, entries, runs: counted });
    const { items, next } = pageFrom(start, summaries, all.length, current.revision);
    const body = { items, total: all.length, partial: items.some(({ errors }) => errors !== undefined), ...next };
    return { body, revision: current.revision, index: current.index };
  }

  detail(city: CityScope, name: string, { target, ...scope }: FormulaQuery): Promise<Read<FormulaDetailResponse>> {
    return this.#made(city, name, scope, target, 'query');
  }

  preview(city: CityScope, name: string, { target, vars = {}, ...scope }: FormulaPreviewBody): Promise<Read<FormulaDetailResponse>> {
    return this.#made(city, name, scope, target, 'body', vars);
  }

  /** The city's own file of a formula. @throws ProblemError formula_not_found for one that only packs have */
  async source(city: CityScope, name: string): Promise<Read<FormulaSourceOutputBody>> {
    const { config, revision, index } = await this.reads.current(city);
    const own = ownFormula(config, name);
    const text = own && (await this.reads.texts(city, [own.sha256])).get(own.sha256);
    if (own === undefined) throw noneOfItsOwn(name);
    if (text === undefined) throw stale();
    return { body: { name, source: text }, revision, index };
  }

  async #made(
    city: CityScope,
    name: string,
    scope: AskedScope,
    target: string,
    part: 'query' | 'body',
    vars?: Readonly<Record<string, string>>,
  ): Promise<Read<FormulaDetailResponse>> {
    const current = await this.reads.current(city);
    const { config, revision, index } = current;
    const rig = rigOf(scope, city.name, config, part);
    const entry = formulasAt(config, rig).find((each) => each.name === name);
    if (entry === undefined) throw problem('formula_not_found', `formula ${name} not found`);
    if (entry.type !== undefined) throw problem('formula_not_found', `formula ${name} is not a workflow: it is an ${entry.type}`);
    const injected = { ...(rig === '' ? {} : { rig_name: rig }), convoy_id: await this.#convoyOf(city, current, target, part) };
    const options = { vars: vars ?? {}, injected, strict: vars !== undefined, compiler: hostOf(config) } as const;
    const compiled = await this.work.run(city, compiling, { shelf: config, rig, name, options });
    if (compiled === undefined) throw stale();
    const { recipe, formula, issues } = compiled;
    if (recipe === undefined || formula === undefined)
      throw problem('invalid_request', `formula ${name} cannot be used: ${summaryOf(issues)}`, { errors: fieldsOf(issues) });
    return { body: toDetail(recipe, formula, layersIn(config, entry)), revision, index };
  }

  /** The input convoy that a target stands for. @throws ProblemError invalid_request for what is neither agent nor bead */
  async #convoyOf(city: CityScope, { config }: CurrentConfig, target: string, part: string): Promise<string> {
    const agent =
      (await this.roster.address(city.streamId, target)) !== undefined ||
      config.named_sessions.some(({ qualified_name: name }) => name === target);
    const bead = agent ? undefined : await this.targets.beadType(city.streamId, target);
    if (!agent && bead === undefined)
      throw problem('invalid_request', 'target matches neither a bead or convoy nor a configured agent', {
        at: `${part}.target`,
        value: target,
      });
    return bead === 'convoy' ? target : `preview-input-convoy:${target}`;
  }
}

/** The formula whose file is the city's own; undefined where only packs have one. */
export function ownFormula(config: CityConfig, name: string): FormulaConfig | undefined {
  return config.formulas.find((formula) => formula.rig === '' && formula.name === name && /^formulas\/[^/]+$/.test(formula.file));
}

export function noneOfItsOwn(name: string): Error {
  return problem('formula_not_found', `no editable city-local formula ${name}`);
}

function stale(): Error {
  return problem('unavailable', 'the configuration changed while it was read; try again');
}
