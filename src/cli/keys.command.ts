import { Option, type Command } from 'commander';
import { allOf } from '../client/pages.js';
import { ConnectionError } from '../client/problems.js';
import { ask, type Api, type Schemas } from './api.js';
import { citiesOf } from './cities/cities-of.js';
import { collect, contextOf, flagsOf, pathOf, printJson, withExamples, withTarget } from './command.js';
import { ApiError, CliError, TimedOutError, UnreachableError } from './errors.js';
import { moment } from './duration.js';
import { EXIT } from './exit-codes.js';
import { hinted } from './identity.js';
import type { Io } from './io.js';
import { EVERY_MS, listAll, withRereading, type AllFlags } from './listing.js';
import { plain, table } from './table.js';
import { spanOf } from './values.js';

const SCOPES = ['read', 'operate', 'configure', 'commands', 'audit', 'write'] as const;
type Scope = (typeof SCOPES)[number];

interface CreateFlags {
  readonly name: string;
  readonly scope: readonly Scope[];
  readonly expires?: string;
  /** Those of the command; the one that is named before it, or `false` for `--no-city`. */
  readonly city?: readonly string[] | string | false;
  readonly json?: boolean;
}

export function addKey(program: Command, io: Io): void {
  const key = program.command('key').description('API keys (needs a write key that is not limited to cities)');
  addCreate(key, io);
  addList(key, io);
  addRotate(key, io);
  addRevoke(key, io);
}

function addCreate(key: Command, io: Io): void {
  const create = key
    .command('create')
    .description('make a key; it is shown once')
    .requiredOption('--name <name>', 'who will use it: the actor of the events that it causes')
    .addOption(
      new Option('--scope <scopes...>', 'what it may do, beside reading: one or some; write is all of them')
        .choices(SCOPES)
        .makeOptionMandatory(),
    )
    .option('--expires <duration>', 'it is refused after that time, such as 90d (default: never)')
    .option('--city <name>', 'only this city; repeatable (default: all cities)', collect)
    .option('--json', 'print the answer as one JSON line');
  withTarget(create);
  withExamples(
    create,
    'svc key create --name dashboard --scope read',
    'svc key create --name bot --scope operate --city alpha --expires 90d',
    'svc key create --name ci --scope configure commands --city alpha --city beta',
  );
  create.action(async (_options, command: Command) => {
    const flags = flagsOf<CreateFlags>(command);
    const { api } = contextOf(command, io);
    const cities = flags.city ? [flags.city].flat() : undefined;
    const body = {
      name: flags.name,
      ...allowed(flags.scope),
      ...(cities === undefined ? {} : { cities }),
      ...(flags.expires === undefined ? {} : { expires_at: new Date(Date.now() + spanOf('--expires', flags.expires)).toISOString() }),
    };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/keys', { params: {}, body, signal }));
    for (const city of await missingOf(api, cities)) io.err(`warning: there is no city ${plain(city)} yet\n`);
    if (flags.json === true) return printJson(io, data);
    io.err(`key ${data.id} for ${flags.name}; it is not shown again:\n`);
    await io.out(`${data.key}\n`);
    if (!(await areAsked(api))) io.err('warning: the server asks nobody for a key: start it with SVC_AUTH=keys\n');
  });
}

/** The list is only for a word more: the key is good for what is made later, too. */
const PATIENCE_MS = 2_000;

/** Which of these cities are not there. */
async function missingOf(api: Api, names: readonly string[] | undefined): Promise<readonly string[]> {
  if (names === undefined) return [];
  const cities = await citiesOf(api, AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined);
  return cities === undefined ? [] : names.filter((name) => !cities.some((city) => city.name === name));
}

/** Whether the server asks for keys at all. Where it does not tell, the key is made all the same. */
function areAsked(api: Api): Promise<boolean> {
  return ask(api, (signal) => api.http.GET('/v0/info', { signal })).then(
    ({ data }) => data.auth === 'keys',
    () => true,
  );
}

const ID = /^[0-9a-f]{12}$/;

/** Does it to a key by its id, or by its name, which no other has that is not revoked. @throws CliError when none is called so */
async function withKey<T>(api: Api, given: string, act: (id: string) => Promise<T>): Promise<T> {
  if (ID.test(given)) {
    try {
      return await act(given);
    } catch (error) {
      // A name may look like an id: nobody has that id then.
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }
  return await act(await named(api, given));
}

async function named(api: Api, given: string): Promise<string> {
  const keys = await allOf<Schemas['ApiKeyResponse']>(
    async (query) => (await ask(api, (signal) => api.http.GET('/v0/keys', { params: { query }, signal }))).data,
  );
  const found = keys.find(({ name }) => name === given);
  if (found === undefined) throw new CliError(`no key has the id or the name ${plain(given)}; see \`svc key list\``, EXIT.notFound);
  return found.id;
}

function ofKey(error: unknown): never {
  return hinted(404, 'see `svc key list`')(error);
}

function addList(key: Command, io: Io): void {
  const list = key.command('list').description('list the keys, without their secrets').option('--json', 'print one JSON line for each');
  withRereading(withTarget(list));
  withExamples(list, 'svc key list', 'svc key list --watch');
  list.action(async (_options, command: Command) => {
    const context = { ...contextOf(command, io), city: '', flags: flagsOf<AllFlags>(command), path: pathOf(command) };
    const { api } = context;
    await listAll<Schemas['ApiKeyResponse']>(context, {
      empty: 'no keys; make one with `svc key create`',
      everyMs: EVERY_MS,
      show: keyTable,
      page: async (query) => (await ask(api, (signal) => api.http.GET('/v0/keys', { params: { query }, signal }))).data,
    });
  });
}

function keyTable(keys: readonly Schemas['ApiKeyResponse'][]): string {
  const rows = keys.map((k) => [
    k.id,
    k.name,
    k.scope === 'write' ? 'write' : k.rights.join(',') || 'read',
    k.cities?.join(',') ?? 'all',
    ...[k.created_at, k.expires_at, k.last_used_at].map((at) => at?.replace(/\.\d+Z$/, 'Z') ?? 'never'),
  ]);
  return table(['ID', 'NAME', 'SCOPE', 'CITIES', 'CREATED', 'EXPIRES', 'LAST USED'], rows);
}

function allowed(scopes: readonly Scope[]): { scope: 'read' | 'write' } | { rights: Exclude<Scope, 'read' | 'write'>[] } {
  if (scopes.includes('write')) return { scope: 'write' };
  const rights = scopes.filter((scope) => scope !== 'read' && scope !== 'write');
  return rights.length === 0 ? { scope: 'read' } : { rights: [...new Set(rights)] };
}

function addRotate(key: Command, io: Io): void {
  const rotate = key
    .command('rotate')
    .argument('<key>', 'the key: its id or its name')
    .description('give a key a new secret, which is shown once')
    .option('--grace <duration>', 'for how long the secret before is good, too; 0s ends it at once', '1h')
    .option('--json', 'print the answer as one JSON line');
  withTarget(rotate);
  withExamples(rotate, 'svc key rotate ann', 'svc key rotate 4be01f9c2d77 --grace 0s');
  rotate.action(async (given: string, _options, command: Command) => {
    const flags = flagsOf<{ grace: string; json?: boolean }>(command);
    const { api } = contextOf(command, io);
    const body = { grace_seconds: Math.ceil(spanOf('--grace', flags.grace) / 1_000) };
    const { id, data } = await withKey(api, given, async (id) => {
      const params = { path: { id } };
      const answer = ask(api, (signal) => api.http.POST('/v0/keys/{id}/rotate', { params, body, signal }));
      return { id, data: (await answer.catch(lostRotation(body.grace_seconds)).catch(ofKey)).data };
    });
    if (flags.json === true) return printJson(io, data);
    const until = data.previous_until === null ? 'is not good any more' : `is good until ${moment(data.previous_until)}`;
    io.err(`key ${id} of ${data.name}; it is not shown again, and the one before ${until}:\n`);
    return io.out(`${data.key}\n`);
  });
}

/** Where it is not known whether the key has been given a secret, which nobody has seen then: what to do. */
function lostRotation(graceS: number): (error: unknown) => never {
  const once = ' once more only: the two secrets before stay good for their time, and a third rotation within it ends the one in use';
  const next = `the key may have a new secret that nobody has seen: rotate it again${graceS === 0 ? '' : `,${once}`}`;
  return (error) => {
    const { cause, message } = error as Error;
    if (error instanceof TimedOutError) throw new TimedOutError(`${message}; ${next}`);
    if (error instanceof UnreachableError && cause instanceof ConnectionError && cause.mayHaveHappened)
      throw new UnreachableError(`${message}; ${next}`, error.exitCode, { cause });
    const mayHave = error instanceof ApiError && [502, 503, 504].includes(error.status) && !message.includes('nothing was changed');
    if (mayHave) return hinted(error.status, next)(error);
    throw error;
  };
}

function addRevoke(key: Command, io: Io): void {
  const revoke = key.command('revoke').argument('<key>', 'the key: its id or its name').description('take a key back; its streams end');
  withTarget(revoke);
  withExamples(revoke, 'svc key revoke ann', 'svc key revoke 4be01f9c2d77');
  revoke.action(async (given: string, _options, command: Command) => {
    const { api } = contextOf(command, io);
    const id = await withKey(api, given, async (id) => {
      await ask(api, (signal) => api.http.DELETE('/v0/keys/{id}', { params: { path: { id } }, signal })).catch(ofKey);
      return id;
    });
    await io.out(`key ${id} is revoked\n`);
  });
}
