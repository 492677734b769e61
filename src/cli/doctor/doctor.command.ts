import type { Command } from 'commander';
import { ConnectionError, reason } from '../../client/problems.js';
import { ask, type Api, type Schemas } from '../api.js';
import { citiesOf } from '../cities/cities-of.js';
import { contextOf, flagsOf, printJson, withCity, withExamples, withTarget, type Context } from '../command.js';
import { ApiError, CliError, InterruptedError, UnreachableError } from '../errors.js';
import type { Io } from '../io.js';
import { certificate } from './certificate.js';
import { clock, key, keyFile, node, versions } from './client-checks.js';
import { failed, ok, shownArea, skipped, unable, type Finding, type Found } from './finding.js';
import { cityChecks, readiness } from './provider-checks.js';
import { deployment, isLocal, openness, parts, runners } from './server-checks.js';

/** So many cities are looked at when none is named. */
const MAX_CITIES = 20;

type Info = Schemas['SupervisorInfo'];
/** Takes what was found of one area, in the order in which it is shown. */
type Tell = (area: string, found: readonly Found[]) => Promise<void>;

export function addDoctor(program: Command, io: Io): void {
  const doctor = program
    .command('doctor')
    .description('look for what is missing or wrong, from here to the hosts of agents, and say what mends it; changes nothing')
    .option('--providers <names>', 'look at these providers as well, whether a city uses them or not')
    .option('--json', 'print all that was found as one JSON line');
  withCity(withTarget(doctor));
  withExamples(
    doctor,
    'svc doctor',
    'svc doctor --city alpha',
    'svc doctor --providers claude,codex,gemini',
    'svc doctor --json | jq ".checks[] | select(.status != \\"ok\\")"',
  );
  doctor.action(async (_options, command: Command) => {
    const json = flagsOf<{ json?: boolean }>(command).json === true;
    const checks: Finding[] = [];
    await examine(command, io, namesOf(flagsOf<{ providers?: string }>(command).providers), async (area, found) => {
      if (found.length === 0) return;
      checks.push(...found.map((one) => ({ area, ...one })));
      if (!json) await io.out(shownArea(area, found, io));
    });
    const broken = checks.filter(({ status }) => status === 'failed').length;
    if (json) await printJson(io, { ok: broken === 0, checks });
    if (broken > 0) throw new CliError(json ? '' : `${broken} of ${checks.length} checks failed`);
  });
}

/** The result of a look, or that it could not be made. */
type Tried<T> = { readonly value: T } | { readonly found: Found; readonly error: unknown };

async function tried<T>(name: string, look: () => T | Promise<T>): Promise<Tried<T>> {
  try {
    return { value: await look() };
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    return { found: unable(name, error), error };
  }
}

async function checked(name: string, look: () => Promise<readonly Found[]>): Promise<readonly Found[]> {
  const answer = await tried(name, look);
  return 'found' in answer ? [answer.found] : answer.value;
}

const namesOf = (given = ''): string[] =>
  given
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

async function examine(command: Command, io: Io, asked: readonly string[], tell: Tell): Promise<void> {
  const settings = await tried('settings', () => contextOf(command, io));
  if ('found' in settings) return tell('client', [node(), settings.found]);
  const context = settings.value;
  const { api } = context;
  const url = new URL(api.url);
  const health = await tried('server', () => ask(api, (signal) => api.http.GET('/health', { signal })));
  const shown = url.protocol === 'https:' ? [await certificate(api, Date.now())] : [];
  if ('found' in health) {
    const [server, seen] = onceOf(health.found, shown);
    await tell('client', [node(), notThere(server, health.error, url)]);
    return tell('server', seen);
  }
  const ready = await checked('ready', () => parts(api));
  const isCut = ready.some(({ name, status }) => name === 'database' && status === 'failed');
  const told = isCut ? NOT_ASKED : await tried('key', () => information(api));
  const file = await tried('key file', () => keyFile(api));
  await tell('client', [
    node(),
    ok('server', `${api.url}, ${api.source}`),
    versions(health.value.data.version),
    ...('found' in told ? [withoutKey(told.found, told.error)] : [clock(told.value.aheadMs), key(api, told.value.info, Date.now())]),
    ...('found' in file ? [file.found] : file.value === undefined ? [] : [file.value]),
  ]);
  const info = 'found' in told ? undefined : told.value.info;
  const setUp = info === undefined ? [] : [...openness(info, url), ...deployment(info)];
  await tell('server', [...shown, ...ready, ...setUp]);
  if (info === undefined) return;
  if (info.deployment !== undefined) await tell('runners', await checked('runners', () => runners(api)));
  await cities(context, asked, tell);
}

/** What a proxy says of its own where it reaches nobody. */
const OF_PROXY = [502, 503, 504];

/** Whoever answers, takes time, or breaks off, has the port: another server could not be started there. */
function notThere(server: Found, error: unknown, url: URL): Found {
  if (error instanceof ApiError && error.code === undefined && OF_PROXY.includes(error.status))
    return failed(server.name, `${url.origin} answers HTTP ${error.status}: what is in front of the service reaches no server`);
  return isFree(error) && isLocal(url) && server.status === 'failed' ? { ...server, mend: 'svc serve' } : server;
}

/** Whether nobody has the port. */
const isFree = (error: unknown): boolean =>
  error instanceof UnreachableError && error.cause instanceof ConnectionError && reason(error.cause.cause) === 'ECONNREFUSED';

/** Whoever asks a server whose database hangs waits for it, and what is wrong is known by then. */
const NOT_ASKED: Tried<never> = { found: skipped('key', 'not asked: the database does not work'), error: undefined };

/** Nobody answers and no certificate can be read: that is one fault. It is told where it says what is to be mended. */
function onceOf(server: Found, shown: readonly Found[]): [server: Found, shown: readonly Found[]] {
  const [seen] = shown;
  if (seen?.status !== 'failed') return [server, shown];
  return seen.message === server.message
    ? [skipped(server.name, 'not asked: see its certificate'), shown]
    : [server, [skipped(seen.name, 'not read: the server cannot be reached')]];
}

/** @returns also by how much the server's clock is ahead of this one, taken in the middle of the request */
async function information(api: Api): Promise<{ info: Info; aheadMs: number }> {
  const before = Date.now();
  const { data } = await ask(api, (signal) => api.http.GET('/v0/info', { signal }));
  return { info: data, aheadMs: Date.parse(data.time) - (before + Date.now()) / 2 };
}

function withoutKey(found: Found, error: unknown): Found {
  if (!(error instanceof ApiError) || error.status !== 401) return found;
  return { ...found, mend: 'svc key create --name me --scope operate configure    # by somebody who has a key for all cities' };
}

async function cities(context: Context, asked: readonly string[], tell: Tell): Promise<void> {
  const { api } = context;
  const looked = await tried('cities', async () => {
    const { city } = await context.scope();
    return { city, all: await citiesOf(api) };
  });
  if ('found' in looked) return tell('cities', [looked.found]);
  const { city: named, all } = looked.value;
  const wanted = named === undefined ? all : all.filter(({ name }) => name === named);
  if (named !== undefined && wanted.length === 0)
    return tell('cities', [failed(named, 'there is no such city, or it is not for this key', 'svc city list')]);
  const uses = new Set<string>(asked);
  for (const city of wanted.slice(0, MAX_CITIES)) {
    const looked = await tried('status', () => cityChecks(api, city));
    await tell(`city ${city.name}`, 'found' in looked ? [looked.found] : looked.value.found);
    if ('value' in looked) for (const name of looked.value.uses) uses.add(name);
  }
  if (wanted.length > MAX_CITIES)
    await tell('cities', [skipped('others', `${wanted.length - MAX_CITIES} of ${wanted.length} were not looked at: name one with --city`)]);
  await tell('providers', await checked('providers', () => readiness(api, [...uses].sort())));
}
