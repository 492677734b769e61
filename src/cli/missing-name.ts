import type { Api } from './api.js';
import type { Asked } from './command.js';
import type { ApiError } from './errors.js';
import { meantBy } from './meant.js';
import { namedOf, type Kind } from './names.js';

/** The list is only for a word more: without it the refusal itself has to do. */
const PATIENCE_MS = 2_000;
/** So many sessions are told. */
const MOST = 3;
/** Among so many sessions an alias is looked for. */
const LOOKED_AT = 200;

/** What a refusal is about, and what lists its names. */
const MISSING: Readonly<Record<string, readonly [kind: Kind, list: string]>> = {
  'agent-not-found': ['agents', 'svc agent list'],
  'session-not-found': ['sessions', 'svc session list --all'],
  'provider-not-found': ['providers', 'svc provider list'],
  'rig-not-found': ['rigs', 'svc rig list'],
  'formula-not-found': ['formulas', 'svc formula list'],
  'order-not-found': ['orders', 'svc order list'],
  'service-not-found': ['services', 'svc service list'],
};
const NAME = /(?:^|: )[a-z]+ (?:not found: (\S+?)|"([^"]+)" not found.*|(\S+) not found)(?:;|$)/;
const RECIPIENT = /unknown recipient "([^"]+)"/;

/** What is said behind "agent mayr not found": which was meant, or where the names are. Nothing for any other failure. */
export async function aboutMissingName(error: ApiError, { api, city }: Asked, until: AbortSignal): Promise<string> {
  const { message } = error;
  const addressee = RECIPIENT.exec(message)?.[1];
  const found = addressee === undefined ? MISSING[error.code ?? ''] : MISSING['agent-not-found'];
  const [, ...names] = NAME.exec(message) ?? [];
  const name = addressee ?? names.find((one) => one !== undefined);
  if (found === undefined || name === undefined || city === undefined) return '';
  const [kind, list] = found;
  const look: Look = { api, city, signal: AbortSignal.any([until, AbortSignal.timeout(PATIENCE_MS)]) };
  const there = kind === 'sessions' ? await aliasesOf(look) : await namesOf(look, kind);
  const meant = meantBy(name, addressee === undefined ? there : ['human', ...there]);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  const pool = kind === 'agents' ? poolOf(name, there) : undefined;
  if (pool !== undefined) return `; the pool ${pool} has none of that name: see \`${list}\``;
  // `session create mayor` makes one that is called by its id: it is looked for under the agent's name all the same.
  const of = kind === 'sessions' ? await sessionsOf(look, name) : [];
  const more = of.length > MOST ? ', …' : '';
  if (of.length > 0) return `; of the agent ${name} there ${of.length === 1 ? 'is' : 'are'} ${of.slice(0, MOST).join(', ')}${more}`;
  return message.includes('see `') ? '' : `; see \`${list}\``;
}

interface Look {
  readonly api: Api;
  readonly city: string;
  readonly signal: AbortSignal;
}

async function namesOf({ api, city, signal }: Look, kind: Kind): Promise<readonly string[]> {
  return (await namedOf(api, city, kind, signal).catch(() => [])).map(([name]) => name);
}

/** The sessions of an agent, one more than are told. */
async function sessionsOf({ api, city: cityName, signal }: Look, template: string): Promise<readonly string[]> {
  const query = { template, limit: MOST + 1 };
  const page = api.client.get('/v0/city/{cityName}/sessions', { path: { cityName }, query, signal });
  return page.then(
    ({ items }) => (items ?? []).map(({ id }) => id),
    () => [],
  );
}

/** Ids are counted on, and so near to each other that the nearest is always somebody else's: what people give sessions are aliases. */
async function aliasesOf({ api, city: cityName, signal }: Look): Promise<readonly string[]> {
  const page = api.client.get('/v0/city/{cityName}/sessions', { path: { cityName }, query: { limit: LOOKED_AT }, signal });
  return page.then(
    ({ items }) => (items ?? []).flatMap(({ alias }) => alias ?? []),
    () => [],
  );
}

/** The pool that a member of this name would be of. */
function poolOf(member: string, there: readonly string[]): string | undefined {
  const [, pool] = /^(.+)-\d+$/.exec(member) ?? [];
  return pool === undefined ? undefined : there.find((one) => one === pool || one.endsWith(`.${pool}`) || one.endsWith(`/${pool}`));
}
