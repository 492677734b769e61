import { ask, type Api, type Schemas } from '../api.js';
import { ApiError, oneLine } from '../errors.js';
import { unusable } from '../config/view.js';
import { allOf } from '../../client/pages.js';
import { ApiProblem } from '../../client/problems.js';
import { failed, ok, skipped, warning, type Found } from './finding.js';

type City = Schemas['CityInfo'];
type Config = Schemas['ConfigResponse'];
type Provider = Schemas['ProviderResponse'];

/** How far a chain of bases is followed. */
const MAX_BASES = 10;

/** What a city is like, and the names of builtin providers that it uses. */
export interface CityFindings {
  readonly found: readonly Found[];
  readonly uses: ReadonlySet<string>;
}

export async function cityChecks(api: Api, city: City): Promise<CityFindings> {
  if (!city.running) return { found: [standing(city)], uses: new Set() };
  const params = { path: { cityName: city.name } };
  try {
    const { data: config } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config', { params, signal }));
    const listed = await allOf<Provider>(async (query) => {
      const page = { ...params, query };
      return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/providers', { params: page, signal }))).data;
    });
    const providers = new Map(listed.map((one) => [one.name, one]));
    const warnings = config.rejected === undefined ? await warningsOf(api, city.name) : [];
    const named = providersOf(config).map((name) => [name, builtinOf(name, providers)] as const);
    const own = named.flatMap(([name, builtin]) => (builtin === undefined ? [ownProgram(name)] : []));
    const uses = new Set(named.flatMap(([, builtin]) => builtin ?? []));
    const { data: about } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}', { params, signal }));
    const status = about.suspended
      ? skipped('status', `suspended; \`svc city resume ${city.name}\` lets its agents start`)
      : ok('status', 'running');
    return { found: [status, configuration(city.name, config, warnings), ...(await services(api, city.name)), ...own], uses };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { found: [failed('status', oneLine(error.message), `svc city status ${city.name}`)], uses: new Set() };
  }
}

function standing({ name, status = 'waiting', error }: City): Found {
  if (error !== undefined) return failed('status', `${status}: ${error}`, `svc city start ${name}`);
  if (status === 'stopped') return skipped('status', `stopped; \`svc city start ${name}\` starts it`);
  return warning('status', `on its way: ${status}`, `svc city status ${name}`);
}

function configuration(city: string, { rejected, revision }: Config, warnings: readonly string[]): Found {
  const mend = `svc config validate --city ${city}`;
  if (rejected !== undefined) return failed('configuration', `its files ${unusable(rejected)}`, mend);
  const counts = `revision ${revision ?? '?'}`;
  const [first, ...others] = warnings;
  if (first === undefined) return ok('configuration', counts);
  const said = `${counts}, which may have a mistake: ${first}`;
  // Each says itself what is wrong, and the command no more than that of the others.
  return others.length === 0 ? warning('configuration', said) : warning('configuration', `${said}, and ${others.length} more`, mend);
}

/** What is not forbidden in the files that count, and may be a mistake. */
async function warningsOf(api: Api, city: string): Promise<readonly string[]> {
  const params = { path: { cityName: city }, query: { limit: 1 } };
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config/revisions', { params, signal }));
  return data.items[0]?.warnings ?? [];
}

/** Those that cannot be used: what is there, or is on its way, is no fault. */
async function services(api: Api, cityName: string): Promise<Found[]> {
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/services', { params: { path: { cityName } }, signal }));
  const broken = (data.items ?? []).filter(({ state }) => state === 'degraded');
  return broken.map(({ service_name: name, local_state: state, reason, detail }) =>
    failed(
      `service ${name}`,
      [state, reason, detail].filter((part) => part !== undefined).join(': '),
      // What its configuration forbids has never run, and so written nothing.
      `svc service ${state === 'config_error' ? 'show' : 'logs'} ${name} --city ${cityName}`,
    ),
  );
}

/** What its workspace and its agents name. */
function providersOf({ workspace, agents }: Config): string[] {
  const named = [workspace.provider, ...(agents ?? []).map(({ provider }) => provider)];
  return [...new Set(named.filter((name): name is string => name !== undefined && name !== ''))];
}

/** The builtin provider whose program is started in the end; undefined where the city names a program of its own. */
function builtinOf(name: string, providers: ReadonlyMap<string, Provider>): string | undefined {
  let at = name;
  for (let n = 0; n < MAX_BASES; n++) {
    const spec = providers.get(at);
    if (spec?.city_level !== true) return spec?.builtin === true ? at : undefined;
    if (spec.command !== undefined || spec.acp_command !== undefined) return undefined;
    if (spec.base === undefined || spec.base.startsWith('builtin:'))
      return (spec.base ?? (spec.builtin ? at : undefined))?.replace(/^builtin:/, '');
    at = spec.base.replace(/^provider:/, '');
  }
  return undefined;
}

function ownProgram(name: string): Found {
  return skipped(`provider ${name}`, 'starts a program of its own, which nobody looks for before a session is started');
}

/** What worker hosts have found of providers, having looked again. A name that nobody has keeps nobody from looking at the others. */
export async function readiness(api: Api, items: readonly string[]): Promise<Found[]> {
  const strangers: Found[] = [];
  for (let left = items; left.length > 0; left = items.filter((name) => !strangers.some((one) => one.name === name))) {
    try {
      const found = await lookedAt(api, left);
      return [...left.map((name) => provider(name, found[name])), ...strangers];
    } catch (error) {
      strangers.push(strangerIn(error, left));
    }
  }
  return strangers;
}

async function lookedAt(api: Api, items: readonly string[]): Promise<Schemas['ReadinessResponse']['items']> {
  // The agent that is shipped is always there.
  const query = { items: items.join(','), fresh: items.some((item) => item !== 'loopback') };
  return (await ask(api, (signal) => api.http.GET('/v0/readiness', { params: { query }, signal }))).data.items;
}

/** The name that the server does not know, which says so of one at a time. @throws what it refuses for another reason */
function strangerIn(error: unknown, items: readonly string[]): Found {
  const problem = error instanceof ApiError && error.status === 400 ? error.cause : undefined;
  if (!(problem instanceof ApiProblem)) throw error;
  const refused = problem.errors.find(({ location }) => location === 'query.items')?.value;
  const name = items.find((item) => item === refused);
  if (name === undefined) throw error;
  const hint = problem.errors.find(({ location }) => location === 'body.hint')?.message;
  return failed(name, `no provider is called ${name}${hint === undefined ? '' : `; ${hint}`}`);
}

function provider(name: string, item: Schemas['ReadinessItem'] | undefined): Found {
  if (item === undefined) return failed(name, 'nobody has looked');
  const version = item.version === undefined ? '' : ` ${item.version}`;
  if (item.status === 'configured') return ok(name, `${item.display_name}${version}: installed, and signed in where that can be seen`);
  const said = `${item.display_name}${version}: ${item.status.replaceAll('_', ' ')}${item.detail === undefined ? '' : `: ${item.detail}`}`;
  return failed(name, said, item.remedy);
}
