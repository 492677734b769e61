import type { Member } from './fleet.js';
import { ask } from './http.js';
import { ORDERS, TIMED, type ChaosOrder } from './orders-city.js';
import type { OrderAsk, OrdersHistory } from './orders-history.js';
import type { Random } from './random.js';
import { outcomeOf, repeated } from './sending.js';
import { sleep } from './sleep.js';

type Asked = Omit<OrderAsk, 'city' | 'replica' | 'from' | 'to' | 'outcome' | 'body'> & { readonly path: string; readonly sent: object };

const of = (trigger: ChaosOrder['trigger']): readonly ChaosOrder[] => ORDERS.filter((order) => order.trigger === trigger);
const EVENTS = [...new Set(ORDERS.flatMap(({ on }) => on ?? []))];

/** People and systems that fire orders, over random replicas; some requests carry a key, and deliveries come more than once. */
export class OrdersClients {
  readonly #loops: Promise<void>[] = [];
  #serial = 0;
  #stopped = false;

  constructor(
    private readonly apis: readonly Member[],
    private readonly city: string,
    private readonly random: Random,
    private readonly history: OrdersHistory,
    private readonly now: () => number,
  ) {}

  start(): void {
    const loop = (pauseMs: number, work: (random: Random) => Promise<unknown>): void => {
      this.#loops.push(this.#loop(this.random.fork(), pauseMs, work));
    };
    for (let i = 0; i < 2; i++) loop(700, (random) => this.#run(random));
    for (let i = 0; i < 2; i++) loop(900, (random) => this.#deliver(random));
    loop(1_200, (random) => this.#force(random));
    loop(700, (random) => this.#emit(random));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  /** Switches off what would come for ever. Answers what could not be. */
  async disable(): Promise<string[]> {
    const left: string[] = [];
    for (const { name } of TIMED) {
      let status: number | undefined;
      for (let tries = 0; tries < 20 && status !== 200; tries++) {
        if (tries > 0) await sleep(500);
        status = (await ask('POST', `${this.random.pick(this.apis).url}/v0/city/${this.city}/order/${name}/disable`, { ms: 20_000 }))
          ?.status;
      }
      if (status !== 200) left.push(name);
    }
    return left;
  }

  async #loop(random: Random, pauseMs: number, work: (random: Random) => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await work(random);
      await sleep(random.int(0, pauseMs * 2));
    }
  }

  #run(random: Random): Promise<unknown> {
    return this.#byHand(random, random.pick(of('manual')).name, {});
  }

  #force(random: Random): Promise<unknown> {
    return this.#byHand(random, random.pick(ORDERS.filter(({ forced }) => forced)).name, { force: true });
  }

  #byHand(random: Random, order: string, more: object): Promise<unknown> {
    const marker = this.#marker();
    const key = random.chance(0.6) ? `k-${marker}` : undefined;
    const sent = { vars: { mark: marker }, ...more };
    const asked: Asked = { kind: 'run', marker, order, path: `order/${order}/run`, sent, ...(key === undefined ? {} : { key }) };
    return repeated(() => this.#request(asked, random), key, random);
  }

  /** What a delivery holds tells it from others, so it may always come again. */
  #deliver(random: Random): Promise<unknown> {
    const marker = this.#marker();
    const { name: order } = random.pick(of('webhook'));
    const asked: Asked = { kind: 'hook', marker, order, path: `hook/${order}`, sent: { mark: marker } };
    return repeated(() => this.#request(asked, random), marker, random);
  }

  #emit(random: Random): Promise<unknown> {
    const marker = this.#marker();
    const sent = { type: random.pick(EVENTS), actor: 'chaos', message: marker };
    return this.#request({ kind: 'emit', marker, path: 'events', sent }, random);
  }

  #marker(): string {
    return `o${this.history.seed}-${++this.#serial}`;
  }

  async #request({ path, sent: body, ...asked }: Asked, random: Random): Promise<OrderAsk> {
    const replica = random.pick(this.apis);
    const from = this.now();
    const headers: Record<string, string> = asked.key === undefined ? {} : { 'idempotency-key': asked.key };
    const outcome = outcomeOf(await ask('POST', `${replica.url}/v0/city/${this.city}/${path}`, { body, headers }));
    const firing =
      asked.kind === 'run' && outcome.outcome === 'acknowledged'
        ? (JSON.parse(outcome.body!) as { tracking_id: string }).tracking_id
        : undefined;
    const made: OrderAsk = {
      ...asked,
      city: this.city,
      replica: replica.name,
      from,
      to: this.now(),
      ...outcome,
      ...(firing === undefined ? {} : { firing }),
    };
    this.history.asks.push(made);
    return made;
  }
}
