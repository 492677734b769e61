import { Injectable } from '@nestjs/common';
import { WebhookReceived, type WebhookReceivedPayload } from '../../../../contract/events/webhooks.events.js';
import { may, maySee, type Principal } from '../../../../contract/principal.js';
import { problem, ProblemError } from '../../../../contract/problems.js';
import { AppConfig } from '../../../../platform/config/config.js';
import { Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../../platform/event-log/event.js';
import { Buckets } from '../../../../platform/http/buckets.js';
import { newId } from '../../../../platform/time/clock.js';
import { CitiesService } from '../../../tenancy/cities/cities.service.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import { FiringsRepository } from '../firings.repository.js';
import type { EffectiveOrder } from '../order-definition.js';
import { OpenFiringsRepository } from '../open-firings.repository.js';
import { OrderRunsService } from '../order-runs.service.js';
import { OrderTimes } from '../order-times.js';
import { countedBy, readable, type Counted } from './counted.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { Rejections, type Reason } from './rejections.js';
import { argumentsOf, BadArgument, ruleFor, type Facts } from './rules.js';
import { headerOf, isFromNetworks, isVerified, type Sent } from './verify.js';
import { hooksOf, type EffectiveHook } from './webhook-definition.js';

export interface Knock extends Sent {
  readonly city: string;
  readonly hook: string;
  readonly caller: Principal;
  /** Whether the caller has shown a good key. */
  readonly identified: boolean;
}

export interface ReceivedAnswer {
  readonly status: number;
  readonly body: { readonly status: 'accepted' | 'ok'; readonly matched?: false; readonly deduped?: true };
}

/** What a delivery that has come in is about. */
interface Delivery {
  readonly city: CityScope;
  readonly hook: EffectiveHook;
  readonly facts: Facts;
  /** By what it counts once: all of it has to be new. */
  readonly once: readonly Counted[];
  readonly size: number;
}

interface Matched {
  readonly index: number;
  readonly order: EffectiveOrder;
  readonly vars: Readonly<Record<string, string>>;
}

/** Deliveries that wait for one order. */
const MOST_WAITING = 100;
/** A sender that can try again does so after this. */
const AGAIN = { headers: { 'retry-after': '30' } };

/**
 * Receives what other systems send to a city, and fires the order that is meant: once a delivery, in one transaction with the firing
 * and its events. While the order is being carried out a delivery waits for it.
 */
@Injectable()
export class WebhookReceiver {
  readonly #rates = new Buckets();

  constructor(
    private readonly app: AppConfig,
    private readonly cities: CitiesService,
    private readonly reads: ConfigReadsService,
    private readonly runs: OrderRunsService,
    private readonly firings: FiringsRepository,
    private readonly openFirings: OpenFiringsRepository,
    private readonly deliveries: DeliveriesRepository,
    private readonly rejections: Rejections,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly times: OrderTimes,
  ) {}

  /** @throws ProblemError for whoever may not, and for what cannot be done */
  async receive(knock: Knock): Promise<ReceivedAnswer> {
    const { city, hook } = await this.#hook(knock);
    const { verification: how } = hook;
    const { name, once } = countedBy(how, knock);
    const facts = factsOf(hook, knock, name);
    const delivery: Delivery = { city, hook, facts, once, size: knock.body.length };
    const reject = (reason: Reason, why: ProblemError): Promise<never> => this.rejections.reject({ ...delivery, reason, why });
    if (!isFromNetworks(how.networks, knock.address))
      return reject('perimeter_denied', problem('forbidden', 'this address may not send here'));
    const secrets = how.secretEnv === undefined ? [] : this.app.webhookSecrets.get(how.secretEnv);
    if (secrets === undefined)
      return reject('operator_fault', problem('unavailable', 'this webhook is not ready', { ...AGAIN, ofOthers: true }));
    if (!isVerified(how, knock, secrets, new Date())) {
      const headers = { 'www-authenticate': how.scheme === 'bearer' ? 'Bearer' : 'Signature' };
      return reject('verify_failed', problem('unauthorized', 'who sends this could not be verified', { headers }));
    }
    const { perMinute, burst } = hook.rate;
    const waitMs = this.#rates.take(`${city.streamId} ${hook.scopedName}`, { perSecond: perMinute / 60, burst });
    if (waitMs > 0) {
      const headers = { 'retry-after': String(Math.ceil(waitMs / 1_000)) };
      return reject('rate_limited', problem('rate_limited', `too many deliveries: ${perMinute} a minute`, { headers }));
    }
    let matched: Matched | undefined;
    try {
      matched = matchedBy(hook, knock.body, facts);
    } catch (error) {
      if (error instanceof BadArgument) return reject('match_error', problem('webhook_rejected', error.message, { at: 'body' }));
      if (error instanceof ProblemError) return reject(error.problem === 'order_rejected' ? 'dispatch_refused' : 'bad_payload', error);
      throw error;
    }
    try {
      return await this.#take(delivery, matched);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem === 'city_not_found') throw error;
      const refused = error.kind.status === 422;
      // A city that is suspended, or an order that is disabled, is nobody's at the service to mend.
      const ofOthers = error.ofOthers || error.kind.status < 500;
      const why = refused ? error : problem('unavailable', error.message.replace(/^\w+: /, ''), { ...AGAIN, ofOthers });
      return reject(refused ? 'dispatch_refused' : 'dispatch_unavailable', why);
    }
  }

  /** Nobody without a key learns which cities and private hooks there are. */
  async #hook({ city: name, hook: wanted, caller, identified }: Knock): Promise<{ city: CityScope; hook: EffectiveHook }> {
    const known = !identified && this.app.auth === 'keys' ? undefined : caller;
    const found = known === undefined || maySee(known, name) ? await this.#find(name, wanted) : undefined;
    if (found?.hook.visibility === 'public' && found.hook.isAllowed) return found;
    if (known === undefined)
      throw problem('unauthorized', 'an API key is required: Authorization: Bearer svc_…', { headers: { 'www-authenticate': 'Bearer' } });
    if (found === undefined) throw problem('not_found', 'webhook route not found');
    if (found.hook.visibility === 'public') throw problem('forbidden', 'the city does not let everybody send to this webhook');
    if (!may(known, 'operate')) throw problem('forbidden', 'the API key lacks the right "operate"');
    return found;
  }

  async #find(name: string, wanted: string): Promise<{ city: CityScope; hook: EffectiveHook } | undefined> {
    const city = await this.cities.findRunning(name);
    const current = city === undefined ? undefined : await this.reads.known(city);
    const hook = current === undefined ? undefined : hooksOf(current.config).find(({ scopedName }) => scopedName === wanted);
    return hook === undefined ? undefined : { city: city!, hook };
  }

  #take(delivery: Delivery, matched: Matched | undefined): Promise<ReceivedAnswer> {
    const { city } = delivery;
    return this.transactions.run(
      async (tx) => {
        if (!(await this.reads.isRunning(city, tx))) throw problem('city_not_found', 'city not found or not running');
        const { events, told, answer, message } = matched === undefined ? unmatched() : await this.#dispatch(tx, delivery, matched);
        await this.eventLog.append(tx, [...events, received(delivery, told, message)]);
        return answer;
      },
      { key: city.name },
    );
  }

  async #dispatch(tx: Tx, { city, hook, facts, once }: Delivery, { index, order, vars }: Matched): Promise<Taken> {
    const { streamId } = city;
    const { scopedName } = order;
    const firingId = newId('firing');
    const about = {
      matched: true,
      rule_index: index,
      order: order.name,
      scoped_name: scopedName,
      ...(order.rig === '' ? {} : { rig: order.rig }),
    };
    // Before the delivery: whoever fires what has waited has the order first, too.
    const row = await this.firings.lock(tx, streamId, scopedName);
    for (const { key, keptMs } of once) {
      // They are read of the one that waits.
      const kept = key === facts.delivery ? vars : {};
      const delivery = { hook: hook.scopedName, delivery: key, scopedName, firingId, vars: kept, keptMs };
      const taken = await this.deliveries.take(tx, streamId, delivery);
      if (!taken) return { events: [], told: { ...about, deduped: true }, answer: { status: 200, body: { status: 'ok', deduped: true } } };
    }
    const open = await this.openFirings.find(tx, streamId, scopedName);
    const waiting = await this.deliveries.countWaiting(tx, streamId, scopedName);
    const answer: ReceivedAnswer = { status: 202, body: { status: 'accepted' } };
    const asked = {
      id: firingId,
      actor: `webhook:${hook.scopedName}`,
      cause: 'webhook' as const,
      reason: reasonOf(hook, facts),
      vars,
      force: false,
    };
    // The files have it on, and no worker has read that yet: whoever took its firing would call it off.
    const isBehind = row !== undefined && !(row.enabled && row.present);
    if (open === undefined && waiting === 0 && !isBehind) {
      const { events } = await this.runs.fire(tx, city, order, asked);
      return { events, told: { ...about, dispatched: true, tracking_id: firingId }, answer };
    }
    await this.runs.admit(tx, city, order, asked);
    if (row === undefined || waiting >= MOST_WAITING)
      throw problem('unavailable', `${waiting} deliveries wait for order "${scopedName}"`, { ofOthers: true });
    await this.deliveries.wait(tx, streamId, hook.scopedName, facts.delivery);
    // Whoever ends the firing that is open looks at the order, and so does whoever reads that it is on; when there is neither, somebody has to.
    if (open === undefined && !isBehind) await this.firings.change(tx, streamId, [{ scopedName, lookAt: await this.times.now(tx) }]);
    const until = isBehind
      ? 'a worker has read that its order is on'
      : open === undefined
        ? 'those before it have ended'
        : `${open.id} has ended`;
    return { events: [], told: { ...about, tracking_id: firingId }, answer, message: `waits until ${until}` };
  }
}

interface Taken {
  readonly events: readonly NewEvent[];
  readonly told: Partial<WebhookReceivedPayload>;
  readonly answer: ReceivedAnswer;
  readonly message?: string;
}

function unmatched(): Taken {
  return { events: [], told: {}, answer: { status: 200, body: { status: 'ok', matched: false } } };
}

function factsOf(hook: EffectiveHook, knock: Knock, delivery: string): Facts {
  const { verification: how } = hook;
  const type = headerOf(knock, how.eventHeader);
  return {
    event: type === undefined ? undefined : readable(type),
    delivery,
    identity: knock.identified ? knock.caller.actor : how.scheme === 'none' ? knock.caller.actor : `${how.scheme}:${hook.scopedName}`,
  };
}

/** @throws ProblemError for a body that is none, or a rule that fires nothing; BadArgument */
function matchedBy(hook: EffectiveHook, bytes: Buffer, facts: Facts): Matched | undefined {
  const body = bodyOf(bytes);
  const found = ruleFor(hook, body, facts);
  if (found === undefined) return undefined;
  const { rule, index } = found;
  const vars = argumentsOf(rule, body, facts);
  const errors = [...rule.errors()];
  if (rule.order === undefined || errors.length > 0)
    throw problem('order_rejected', `rule ${index}: ${errors.join('; ').slice(0, 500)}`, { at: 'body' });
  return { index, order: rule.order, vars: given(rule.order, vars) };
}

/** A param that may be missing and is nothing is not given at all: its default counts. */
function given({ definition }: EffectiveOrder, vars: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(vars).filter(([name, value]) => value !== '' || definition.params[name]?.required === true));
}

function bodyOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw problem('webhook_rejected', 'the body is not valid JSON', { at: 'body', cause });
  }
}

function reasonOf({ scopedName }: EffectiveHook, { event: type, delivery }: Facts): string {
  return `webhook ${scopedName}: ${type === undefined ? '' : `${type} `}${delivery}`;
}

function received({ city, hook, facts, size }: Delivery, told: Partial<WebhookReceivedPayload>, message: string | undefined): NewEvent {
  return event(WebhookReceived, {
    stream: city.stream,
    actor: `webhook:${hook.scopedName}`,
    subject: hook.scopedName,
    ...(message === undefined ? {} : { message }),
    payload: {
      ...{ webhook: hook.scopedName, body_size: size, scheme: hook.verification.scheme, dedup_id: facts.delivery },
      ...(facts.event === undefined ? {} : { event_type: facts.event }),
      ...{ matched: false, deduped: false, dispatched: false, rule_index: -1 },
      ...told,
    },
  });
}
