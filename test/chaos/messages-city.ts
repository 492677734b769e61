import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Member } from './fleet.js';
import { ask } from './http.js';
import { CONNECTED } from './messages-connected.js';
import type { Steady } from './messages-history.js';
import type { ChaosPostgres } from './servers.js';
import { until } from './waiting.js';

export interface ChaosConversation {
  readonly id: string;
  /** Who answers: a session that has it, a group, both, or whom a default route names. */
  readonly by: 'binding' | 'group' | 'both' | 'route';
  readonly account: string;
  /** How far its members may go on among themselves. */
  readonly most?: { readonly publishes: number; readonly deliveries: number };
}

export const CONVERSATIONS: readonly ChaosConversation[] = [
  { id: 'd1', by: 'binding', account: 'steady' },
  { id: 'd2', by: 'binding', account: 'slow' },
  { id: 'd3', by: 'binding', account: 'failing' },
  { id: 'd4', by: 'binding', account: 'strict' },
  { id: 'd5', by: 'binding', account: CONNECTED },
  { id: 'g1', by: 'group', account: 'steady' },
  { id: 'g2', by: 'group', account: 'failing', most: { publishes: 3, deliveries: 5 } },
  { id: 'g3', by: 'group', account: 'slow' },
  { id: 'g4', by: 'group', account: CONNECTED },
  { id: 'b1', by: 'both', account: 'failing' },
  { id: 'r1', by: 'route', account: 'steady' },
  { id: 'r2', by: 'route', account: 'steady' },
];
/** Who speaks for an account: a server at an address, or clients that connect. */
export interface Speaker {
  readonly account: string;
  readonly url?: string;
  token: string;
}
export const ROUTED = 'mayor';
/** The handle that goes from one to the other. */
export const GUEST = 'guest';

export const isGrouped = ({ by }: ChaosConversation): boolean => by === 'group' || by === 'both';
export const isBound = ({ by }: ChaosConversation): boolean => by === 'binding' || by === 'both';
export const refOf = ({ id, by, account }: ChaosConversation): object => ({
  ...{ scope_id: 'town', provider: by === 'route' ? 'routed' : 'chat', account_id: account, conversation_id: id },
  kind: by === 'binding' ? 'dm' : 'room',
});

/** Who takes part. */
export interface Cast {
  /** They keep their handles and are never closed. */
  readonly steady: readonly string[];
  /** They get conversations and handles, and lose them. */
  readonly hands: string[];
  /** By the id of its conversation. */
  readonly groups: ReadonlyMap<string, string>;
  readonly members: readonly Steady[];
}

const READY_MS = 120_000;
const ROUTE = `\n[[extmsg.default_route]]\nprovider = "routed"\nagent = "${ROUTED}"\n`;
const READ = `select 1 from sessions where state in ('active', 'asleep') having count(*) >= $1`;

/** Sets everything up before harm is done: here each request has to succeed. */
export class MessagesCity {
  constructor(
    private readonly api: Member,
    private readonly city: { readonly name: string; readonly path: string },
  ) {}

  async prepare(adapters: readonly Speaker[], postgres: ChaosPostgres, database: string): Promise<Cast> {
    const file = join(this.city.path, 'city.toml');
    await writeFile(file, `${await readFile(file, 'utf8')}${ROUTE}`);
    await this.#post('config/reload', {});
    const sessions: string[] = [];
    for (let n = 0; n < 6; n++) sessions.push(await this.session(`one ${n}`));
    if (!(await until(READY_MS, async () => (await postgres.query(READ, [sessions.length], database)).length > 0)))
      throw new Error('the sessions do not start');
    for (const adapter of adapters) adapter.token = await this.#register('chat', adapter);
    await this.#register('routed', adapters[0]!);
    const [steady, hands] = [sessions.slice(0, 3), sessions.slice(3)];
    const groups = new Map<string, string>();
    const members: Steady[] = [];
    for (const each of CONVERSATIONS.filter(isGrouped)) {
      const { publishes = 10_000, deliveries = 10_000 } = each.most ?? {};
      const fanout_policy = { MaxPeerTriggeredPublishes: publishes, MaxTotalPeerDeliveries: deliveries };
      const { ID } = await this.#post<{ ID: string }>('extmsg/groups', {
        root_conversation: refOf(each),
        default_handle: 'a',
        fanout_policy,
      });
      groups.set(each.id, ID);
      for (const [n, session_id] of [...steady.slice(0, 2), ...(each.id === 'g1' ? [ROUTED] : [])].entries()) {
        await this.#post('extmsg/participants', { group_id: ID, handle: 'abc'[n], session_id });
        members.push({ conversation: each.id, selector: session_id });
      }
    }
    for (const [n, each] of CONVERSATIONS.filter(isBound).entries())
      await this.#post('extmsg/bind', { conversation: refOf(each), session_id: hands[n % hands.length] });
    return { steady, hands, groups, members };
  }

  /** A session of the provider that is always there. */
  async session(title: string): Promise<string> {
    return (await this.#post<{ session_id: string }>('sessions', { kind: 'provider', name: 'loopback', title })).session_id;
  }

  async #register(provider: string, { account, url }: Speaker): Promise<string> {
    const body = { provider, account_id: account, ...(url === undefined ? { transport: 'stream' } : { callback_url: url }) };
    return (await this.#post<{ token: string }>('extmsg/adapters', body)).token;
  }

  async #post<T>(path: string, body: object): Promise<T> {
    const answer = await ask('POST', `${this.api.url}/v0/city/${this.city.name}/${path}`, { body, ms: 30_000 });
    if (answer === undefined || answer.status >= 300) throw new Error(`${path} is not done: ${answer?.status} ${answer?.body}`);
    return JSON.parse(answer.body) as T;
  }
}
