import { Injectable } from '@nestjs/common';
import { ConvoyCreated } from '../../../contract/events/convoys.events.js';
import { problem } from '../../../contract/problems.js';
import type { Principal } from '../../../contract/principal.js';
import { event } from '../../../platform/event-log/event.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { BeadRecord, NewBead, ReservedBead } from '../work/bead-record.js';
import { closeIfCompleted } from '../work/convoy-closing.js';
import { countMembers } from '../work/convoy-members.js';
import { requireKindKept, requireMayBecome, requireNoDrainHold, requireOrderKept, whyNotEnded } from '../work/held.js';
import type { Work } from '../work/work.js';
import { WorkService, type Done } from '../work/work.service.js';
import { circle } from './containment.js';
import { ConvoysRepository } from './convoys.repository.js';
import {
  OPEN_ITEMS,
  type ConvoyAddInputBody,
  type ConvoyAddOutputBody,
  type ConvoyCreateInputBody,
  type ConvoyCreateOutputBody,
  type ConvoyLandInputBody,
  type ConvoyLandResponse,
  type ConvoyRemoveInputBody,
} from './convoys.schemas.js';
import { noConvoy, notAConvoy } from './problems.js';

type Items = readonly string[] | null | undefined;
type Status = { status: string };

const BY_HAND = 'convoy close: requested by operator';
const LANDED = 'convoy land: completed owned convoy';

/** What changes convoys, all or nothing, and what other families need of them. */
@Injectable()
export class ConvoysService {
  /** A test sets less. */
  openItems = OPEN_ITEMS;

  constructor(
    private readonly repository: ConvoysRepository,
    private readonly work: WorkService,
    private readonly idempotency: Idempotency,
  ) {}

  /** @throws ProblemError rig_not_found, bead_not_found for an item; idempotency_mismatch, idempotency_in_flight; forbidden for a session that would set a hold of a drain. */
  create(city: CityScope, body: ConvoyCreateInputBody, key: string | undefined, caller: Principal): Promise<Done<ConvoyCreateOutputBody>> {
    return this.work.run(city, caller.actor, async (work) => {
      requireNoDrainHold(caller, body.labels ?? []);
      const ref = idempotencyRef(caller, city.name, 'create-convoy', key, body);
      const answer = await this.idempotency.run(work.tx, ref, async () => {
        const items = await this.#beads(work, body.items);
        const convoy = await this.#create(work, newConvoy(body), items);
        return { status: 201, body: { ...convoy.snapshot, ...closedOf(items) } };
      });
      return answer.body;
    });
  }

  /** @throws ProblemError convoy_not_found, invalid_request, wrong_state when it is closed, bead_not_found, dependency_cycle; forbidden for a session where it is a step of a run that waits for an item, or a run would end with it what the session may not close. */
  add(city: CityScope, id: string, body: ConvoyAddInputBody, caller: Principal): Promise<Done<ConvoyAddOutputBody>> {
    return this.work.run(city, caller.actor, async (work) => {
      const convoy = await requireConvoy(work, id);
      if (convoy.status === 'closed') throw problem('wrong_state', `convoy ${id} is closed; reopen it first`);
      const items = await this.#beads(work, body.items);
      await this.refuseCircle(
        work,
        id,
        items.filter((item) => item.issue_type === 'convoy').map((item) => item.id),
      );
      await requireOrderKept(caller, work, convoy, items);
      await this.#requireOnTurn(caller, work, id, items);
      await this.#track(work, id, items);
      return { status: 'updated', ...closedOf(items) };
    });
  }

  /** @throws ProblemError convoy_not_found, invalid_request, also for what is no member; bead_not_found; forbidden for a session where a step of a run would leave, or as `close` where that completes it. */
  remove(city: CityScope, id: string, body: ConvoyRemoveInputBody, caller: Principal): Promise<Done<Status>> {
    return this.work.run(city, caller, async (work) => {
      await requireConvoy(work, id);
      const items = await this.#beads(work, body.items);
      const edges = await work.edges(id, 'down');
      const tracked = new Set(edges.filter((edge) => edge.type === 'tracks').map((edge) => edge.depends_on_id));
      const stranger = items.find((item) => !tracked.has(item.id) && item.parent !== id);
      if (stranger !== undefined)
        throw problem('invalid_request', `item ${stranger.id} does not belong to convoy ${id}`, { at: 'body.items', value: stranger.id });
      const leaving = items.filter((item) => tracked.has(item.id)).map((item) => item.id);
      if (leaving.length > 0) await work.deleteEdges(id, leaving);
      // Closed ones first: a convoy must not close over what is leaving it too.
      const children = items
        .filter((item) => item.parent === id)
        .sort((x, y) => Number(y.status === 'closed') - Number(x.status === 'closed'));
      for (const child of children) {
        await requireKindKept(caller, work, child, { issue_type: child.issue_type, parent: null });
        await work.update(child.id, { parent: null });
      }
      if (items.some((item) => item.status !== 'closed')) await closeIfCompleted(work, id);
      return { status: 'updated' };
    });
  }

  /** Closes it whatever its members are; one that is closed stays as it is. @throws ProblemError convoy_not_found, invalid_request; forbidden for a session as to close any bead. */
  close(city: CityScope, id: string, reason: string | undefined, caller: Principal): Promise<Done<Status>> {
    return this.work.run(city, caller.actor, async (work) => {
      await requireMayBecome(caller, work, await requireConvoy(work, id), 'closed');
      await work.close(id, reason ?? BY_HAND);
      return { status: 'closed' };
    });
  }

  /** @throws ProblemError convoy_not_found, invalid_request, wrong_state when it is not owned or has open members; forbidden as `close`. */
  land(city: CityScope, id: string, { force, dry_run }: ConvoyLandInputBody, caller: Principal): Promise<Done<ConvoyLandResponse>> {
    return this.work.run(city, caller.actor, async (work) => {
      const convoy = await requireConvoy(work, id);
      if (!convoy.labels.includes('owned')) throw problem('wrong_state', `convoy ${id} is not owned: it closes by itself`);
      const { total, closed } = await countMembers(work.tx, city.streamId, id);
      const open = closed === total ? [] : await this.repository.openMembers(work.tx, city.streamId, id, this.openItems);
      if (open.length > 0 && convoy.status !== 'closed' && force !== true) throw stillOpen(id, total - closed, open);
      await requireMayBecome(caller, work, convoy, 'closed');
      if (dry_run !== true) await work.close(id, LANDED);
      return {
        status: dry_run === true ? ('would_land' as const) : ('landed' as const),
        convoy_id: id,
        total,
        closed,
        open_items: open,
      };
    });
  }

  /** The convoys that follow slung beads and are not closed, by the bead's id; there is at most one of each. */
  async liveSlingConvoys(work: Work, beads: readonly string[]): Promise<ReadonlyMap<string, BeadRecord>> {
    const ids = await this.repository.liveSlingConvoys(work.tx, work.city.streamId, beads);
    const found = new Map((await work.findAll([...ids.values()])).map((convoy) => [convoy.id, convoy]));
    return new Map([...ids].map(([bead, id]) => [bead, found.get(id)!]));
  }

  /**
   * A convoy for each of open beads, in the bead's rig or, when that has gone, in the city's own; answers them by the bead's id. Only for those
   * without a live one. An owned one does not close by itself.
   */
  async createSlingConvoys(
    work: Work,
    beads: readonly BeadRecord[],
    { owned }: { owned: boolean },
  ): Promise<ReadonlyMap<string, BeadRecord>> {
    const places = new Map<string, BeadRecord[]>();
    for (const [rig, all] of Map.groupBy(beads, (bead) => bead.rig)) {
      const place = rig !== '' && (await work.hasRig(rig)) ? rig : '';
      places.set(place, [...(places.get(place) ?? []), ...all]);
    }
    const convoys: ReservedBead[] = [];
    for (const [rig, all] of places) {
      const ids = await work.reserve(rig, all.length);
      for (const [n, { id: source }] of all.entries())
        convoys.push({ id: ids[n]!, rig, type: 'convoy', title: `sling-${source}`, labels: owned ? ['owned'] : [], slingSource: source });
    }
    const edges = convoys.map(({ id, slingSource }) => ({ issue_id: id, depends_on_id: slingSource!, type: 'tracks' }));
    const made = await work.createAll(convoys, edges);
    for (const convoy of made) work.emit(event(ConvoyCreated, { ...work.facts(convoy), message: convoy.title, payload: {} }));
    return new Map(made.map((convoy) => [convoy.sling_source!, convoy]));
  }

  /** A convoy that hands a bead to a graph of steps; it closes with the bead. Its id is the next one, or one of `reserveInputConvoy`. */
  async createInputConvoy(work: Work, bead: BeadRecord, reserved?: string): Promise<BeadRecord> {
    const rig = await this.#inputRig(work, bead);
    const metadata = { 'gc.synthetic': 'true' };
    return this.#create(work, { rig, title: `input convoy for ${bead.id}`, metadata }, [bead], reserved);
  }

  /** An id for the convoy that `createInputConvoy` makes of the bead. */
  async reserveInputConvoy(work: Work, bead: BeadRecord): Promise<string> {
    const [id] = await work.reserve(await this.#inputRig(work, bead), 1);
    return id!;
  }

  async #inputRig(work: Work, { rig }: BeadRecord): Promise<string> {
    return rig !== '' && (await work.hasRig(rig)) ? rig : '';
  }

  async #create(work: Work, convoy: NewBead, items: readonly BeadRecord[], reserved?: string): Promise<BeadRecord> {
    const { id } = await work.create({ ...convoy, type: 'convoy' }, reserved);
    await this.#track(work, id, items);
    const created = await work.require(id);
    work.emit(event(ConvoyCreated, { ...work.facts(created), message: created.title, payload: {} }));
    return created;
  }

  /** A run that a person has launched ends what it drains, whoever has added that: sessions add nothing that they may not close. @throws ProblemError forbidden */
  async #requireOnTurn({ session }: Principal, work: Work, id: string, items: readonly BeadRecord[]): Promise<void> {
    const why = session && (await whyNotEnded(work, items));
    if (why === undefined || !(await this.repository.isWorkedOn(work.tx, work.city.streamId, id))) return;
    throw problem('forbidden', `a run works on convoy ${id}, and may end what is added to it: ${why}`);
  }

  async #track(work: Work, id: string, items: readonly BeadRecord[]): Promise<void> {
    const ids = items.map((item) => item.id);
    if (ids.length > 0) await work.putEdges(id, ids, 'tracks');
  }

  /** All of them, each once. */
  async #beads(work: Work, items: Items): Promise<BeadRecord[]> {
    const beads = await work.findAll(items ?? []);
    const found = new Set(beads.map((bead) => bead.id));
    const missing = items?.find((id) => !found.has(id));
    if (missing !== undefined) throw problem('bead_not_found', `item ${missing} not found`);
    return beads;
  }

  /** For what has become a convoy with what it holds. @throws ProblemError dependency_cycle when it holds itself. */
  async refuseOwnCircle(work: Work, id: string): Promise<void> {
    await this.refuseCircle(work, id, await this.repository.memberConvoys(work.tx, work.city.streamId, id));
  }

  /** @throws ProblemError dependency_cycle when the convoy would hold itself once it holds `convoys`. */
  async refuseCircle(work: Work, id: string, convoys: readonly string[]): Promise<void> {
    if (convoys.length === 0) return;
    const way = circle(id, convoys, await this.repository.holdings(work.tx, work.city.streamId, id));
    if (way !== undefined) throw problem('dependency_cycle', `a convoy cannot be in itself: ${way.join(' → ')}`);
  }
}

async function requireConvoy(work: Work, id: string): Promise<BeadRecord> {
  const bead = await work.find(id);
  if (bead === undefined) throw noConvoy(id);
  if (bead.issue_type !== 'convoy') throw notAConvoy(id);
  return bead;
}

function newConvoy({ title, rig, description, labels, owner, notify, owned, merge, target }: ConvoyCreateInputBody): NewBead {
  const settings = { 'convoy.owner': owner, 'convoy.notify': notify, 'convoy.merge': merge, target };
  const given = Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    rig: rig ?? '',
    title,
    description,
    labels: [...(labels ?? []), ...(owned === true ? ['owned'] : [])],
    metadata: Object.fromEntries(given),
  };
}

function closedOf(items: readonly BeadRecord[]): { closed_items?: string[] } {
  const closed = items.filter((item) => item.status === 'closed').map((item) => item.id);
  return closed.length === 0 ? {} : { closed_items: closed };
}

const SHOWN = 50;

function stillOpen(id: string, count: number, open: readonly string[]): Error {
  const errors = open.slice(0, SHOWN).map((value) => ({ message: 'is not closed', location: 'convoy.items', value }));
  return problem('wrong_state', `convoy ${id} has ${count} open member${count === 1 ? '' : 's'}; force lands it all the same`, {
    errors,
  });
}
