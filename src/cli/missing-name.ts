import { nearest } from '../contract/nearest.js';
import type { Api } from './api.js';
import type { Asked } from './command.js';
import type { ApiError } from './errors.js';
import { namedOf, type Kind } from './names.js';

/** The list is only for a word more: without it the refusal itself has to do. */
const PATIENCE_MS = 2_000;
/** So many sessions are told. */
const MOST = 3;

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
  const there = await namesOf(look, kind);
  const meant = meantBy(name, addressee === undefined ? there : ['human', ...there]);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  // `session create mayor` makes one that is called by its id: it is looked for under the agent's name all the same.
  const of = kind === 'sessions' ? await sessionsOf(look, name) : [];
  if (of.length > 0) return `; of the agent ${name} there ${of.length === 1 ? 'is' : 'are'} ${of.join(', ')}`;
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

async function sessionsOf({ api, city: cityName, signal }: Look, template: string): Promise<readonly string[]> {
  const query = { template, limit: MOST };
  const page = api.client.get('/v0/city/{cityName}/sessions', { path: { cityName }, query, signal });
  return page.then(
    ({ items }) => (items ?? []).map(({ id }) => id),
    () => [],
  );
}

/** Names of packs and rigs have those before them, which people leave out. */
function meantBy(name: string, there: readonly string[]): string | undefined {
  if (there.includes(name)) return undefined;
  const ends = there.filter((one) => one.endsWith(`.${name}`) || one.endsWith(`/${name}`));
  if (ends.length === 1) return ends[0];
  return nearest(name, there) ?? nearest(name.toLowerCase(), there);
}
