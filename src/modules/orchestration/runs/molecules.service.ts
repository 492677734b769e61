import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { ANSWER_BYTES } from '../../../platform/database/page-bytes.js';
import { totalJson } from '../../../platform/database/totals.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import { resolveTarget } from '../../configuration/roster/target.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { formatPlace, parsePlace } from '../../work/work/page-token.js';
import type { Work } from '../../work/work/work.js';
import { WorkService, type Done } from '../../work/work/work.service.js';
import { aheadOf, LaunchAhead } from './launch/launch-ahead.service.js';
import { LaunchService, type LaunchOrder } from './launch/launch.service.js';
import { RunPreparation } from './launch/preparation.service.js';
import type { BeadsOfType } from '../../work/work/beads-of-type.js';
import { MoleculesRepository } from './molecules.repository.js';
import type { MoleculeCreateInputBody, MoleculeCreateOutputBody, MoleculesQuery } from './molecules.schemas.js';

const DEFAULT_PAGE = 100;
const LIST = 'molecule';
export const CREATE_MOLECULE = 'create-molecule';

/** Formulas made into beads without giving the bead that they are for to anybody, and what was made. */
@Injectable()
export class MoleculesService {
  constructor(
    private readonly work: WorkService,
    private readonly roster: RosterService,
    private readonly preparation: RunPreparation,
    private readonly launches: LaunchService,
    private readonly ahead: LaunchAhead,
    private readonly repository: MoleculesRepository,
    private readonly idempotency: Idempotency,
    private readonly heads: HeadWaiter,
  ) {}

  /** @throws ProblemError agent_not_found, rig_not_found, and what `RunPreparation.prepare` and `LaunchService.launch` refuse */
  async create(
    city: CityScope,
    body: MoleculeCreateInputBody,
    key: string | undefined,
    caller: Principal,
  ): Promise<Done<MoleculeCreateOutputBody>> {
    const ref = idempotencyRef(caller, city.name, CREATE_MOLECULE, key, body);
    const isOver = async (work: Work): Promise<boolean> => ref !== undefined && (await this.idempotency.lookup(work.tx, ref)) !== undefined;
    const [asked] = await Promise.allSettled([this.#order(city, body)]);
    const [ready] = asked.status === 'fulfilled' ? await this.ahead.ready(city, [asked.value], isOver) : [];
    // A repeat under a key is answered whatever has become of the formula.
    const order = (): LaunchOrder => {
      if (asked.status === 'rejected') throw asked.reason;
      return { ...asked.value, ready };
    };
    const create = async (work: Work): Promise<MoleculeCreateOutputBody> => {
      const answer = await this.idempotency.run(work.tx, ref, async () => ({ status: 201, body: await this.#create(work, order()) }));
      return answer.body;
    };
    return this.work.run(city, caller.actor, create, { ahead: aheadOf([ready]) });
  }

  /** @throws ProblemError invalid_cursor; city_not_found when the city has stopped meanwhile */
  async list(city: CityScope, query: MoleculesQuery, gone: AbortSignal): Promise<Done<string>> {
    const below = parsePlace(LIST, query.cursor);
    const limit = query.limit === 0 ? DEFAULT_PAGE : query.limit;
    const read = async (): Promise<BeadsOfType> => {
      const rows = await this.repository.list(city.streamId, query, below, limit);
      if (rows === undefined) throw problem('city_not_found', `city not found or not running: ${city.name}`);
      return rows;
    };
    let rows = await read();
    if (await this.heads.readAgain(city.stream, rows.head, query, gone)) rows = await read();
    const next = rows.next === undefined ? '' : `,"next_cursor":"${formatPlace(LIST, rows.next)}"`;
    return { value: `{"items":[${rows.items.join(',')}]${next},${totalJson(rows.total)}}`, index: rows.head };
  }

  /** @throws ProblemError molecule_not_found; invalid_request for steps too long for one answer */
  async get(city: CityScope, id: string): Promise<Done<string>> {
    const { head, json, children, bytes, total, closed } = await this.repository.find(city.streamId, id);
    if (json === null) throw problem('molecule_not_found', `molecule ${id} not found`);
    if (children === null)
      throw problem('invalid_request', `the steps of molecule ${id} hold ${bytes} bytes, more than ${ANSWER_BYTES}`, {
        at: 'path.id',
        value: id,
      });
    return { value: `{"molecule":${json},"children":${children},"progress":{"total":${total},"closed":${closed}}}`, index: head };
  }

  /** What is known before the transaction. */
  async #order(
    city: CityScope,
    { formula, target, rig = '', vars = {}, title, labels, attached_bead_id: attached, force }: MoleculeCreateInputBody,
  ): Promise<LaunchOrder> {
    const to = target ? resolveTarget(await this.roster.agents(city.streamId), target, rig) : undefined;
    if (rig !== '' && !(await this.roster.rigs(city.streamId)).some(({ name }) => name === rig))
      throw problem('rig_not_found', `rig ${rig} not found`);
    const source = attached || undefined;
    const recipe = await this.preparation.prepare(city, { formula, rig, vars, target: to?.name, source });
    return { recipe, target: to?.name, by: 'molecule', rig, title, labels, source, force: force === true && source !== undefined };
  }

  async #create(work: Work, order: LaunchOrder): Promise<MoleculeCreateOutputBody> {
    const { run, created } = await this.launches.launch(work, order);
    return { ...(await work.require(run.id)).snapshot, created, steps: run.root_only ? 0 : run.steps };
  }
}
