import type { Command } from 'commander';
import { ask, type Api, type Schemas } from './api.js';
import { citiesOf } from './cities/cities-of.js';
import { contextOf, flagsOf, pathOf, withCity, withExamples, withTarget } from './command.js';
import { ApiError } from './errors.js';
import type { Io } from './io.js';
import { listAll, type AllFlags, type Followed } from './listing.js';
import { matching, SessionRows } from './sessions/session-rows.js';
import { stateOf, type Session } from './sessions/view.js';
import { table } from './table.js';

type Tokens = Pick<Schemas['UsageSessionRecent'], 'input_tokens' | 'output_tokens' | 'cost_usd_estimate'>;

interface CityLoad extends Tokens {
  readonly name: string;
  readonly running_agents: number;
  readonly in_progress: number;
  readonly ready: number;
  readonly waiting: number;
}
interface SessionLoad extends Tokens {
  readonly id: string;
  readonly of: string;
  readonly state: string;
  readonly bead?: string;
  readonly context_pct?: number;
}

const NONE: Tokens = { input_tokens: 0, output_tokens: 0, cost_usd_estimate: 0 };
const total = (of: Tokens): number => of.input_tokens + of.output_tokens;
const shown = (of: Tokens): string[] => [String(of.input_tokens), String(of.output_tokens), `$${of.cost_usd_estimate.toFixed(4)}`];

/** Who is at work and what it uses: the cities, or the sessions of one. */
export function addTop(program: Command, io: Io): void {
  const top = withCity(withTarget(program.command('top').description('list cities by what they use and do now; in a city its sessions')))
    .option('--json', 'print one JSON line for each')
    .option('-w, --watch', 'go on with what changes, until Ctrl-C');
  withExamples(top, 'svc top', 'svc top --city alpha --watch', 'svc top --no-city -o json');
  top.action(async (_options, action: Command) => {
    const context = contextOf(action, io);
    const { city } = await context.scope();
    const common = { ...context, city: city ?? '', flags: flagsOf<AllFlags>(action), path: pathOf(action) };
    if (city === undefined)
      return listAll<CityLoad>(common, {
        empty: 'no city runs',
        show: (loads) => cityTable(loads, io),
        page: async () => ({ items: await cityLoads(context.api) }),
      });
    const loads = new SessionLoads(context.api, city);
    return listAll<SessionLoad>(common, {
      empty: 'no session is open',
      show: (of) => sessionTable(of, io),
      page: async () => ({ items: await loads.read() }),
      followed: loads,
    });
  });
}

async function cityLoads(api: Api): Promise<CityLoad[]> {
  const cities = (await citiesOf(api)).filter(({ running }) => running);
  const loads: CityLoad[] = [];
  // One after the other: a supervisor may have thousands.
  for (const { name } of cities) {
    const params = { path: { cityName: name } };
    const both = await Promise.all([
      ask(api, (signal) => api.http.GET('/v0/city/{cityName}/status', { params, signal })),
      ask(api, (signal) => api.http.GET('/v0/city/{cityName}/usage', { params, signal })),
    ]).catch(gone);
    if (both === undefined) continue;
    const [{ data: status }, { data: usage }] = both;
    const waiting = (status.waiting ?? []).reduce((sum, { count }) => sum + count, 0);
    const { recent } = usage;
    loads.push({
      name,
      running_agents: status.agents.running,
      in_progress: status.work.in_progress,
      ready: status.work.ready,
      waiting,
      input_tokens: recent.input_tokens,
      output_tokens: recent.output_tokens,
      cost_usd_estimate: recent.cost_usd_estimate,
    });
  }
  return loads.sort((a, b) => total(b) - total(a) || b.running_agents - a.running_agents || a.name.localeCompare(b.name));
}

/** A city that has stopped meanwhile is left out. */
function gone(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return undefined;
  throw error;
}

const SESSIONS = 500;

const busy = ({ state }: SessionLoad): number => (state.includes('in-turn') ? 1 : 0);

/** The open sessions of a city and what they use. Events tell the sessions; what is used is read again when a turn has ended. */
class SessionLoads implements Followed<SessionLoad> {
  readonly #rows = new SessionRows(matching({}));
  #used: ReadonlyMap<string, Tokens> = new Map();

  constructor(
    private readonly api: Api,
    private readonly city: string,
  ) {}

  async read(): Promise<readonly SessionLoad[]> {
    const path = { cityName: this.city };
    const { http } = this.api;
    const [{ data: sessions, response }, { data: usage }] = await Promise.all([
      ask(this.api, (signal) => http.GET('/v0/city/{cityName}/sessions', { params: { path, query: { limit: SESSIONS } }, signal })),
      ask(this.api, (signal) => http.GET('/v0/city/{cityName}/usage', { params: { path }, signal })),
    ]);
    this.#used = new Map((usage.recent_by_session ?? []).map((of) => [of.session_id ?? of.session, of]));
    this.#rows.read(sessions.items ?? [], { response, first: true, whole: sessions.next_cursor === undefined });
    return this.items();
  }

  take(event: Parameters<Followed<SessionLoad>['take']>[0]): ReturnType<Followed<SessionLoad>['take']> {
    return event.type === 'session.turn.ended' ? 'read' : this.#rows.take(event);
  }

  items(): readonly SessionLoad[] {
    const loads = this.#rows.items().map((session) => loadOf(session, this.#used.get(session.id) ?? NONE));
    return loads.sort((a, b) => busy(b) - busy(a) || total(b) - total(a));
  }
}

function loadOf(session: Session, { input_tokens, output_tokens, cost_usd_estimate }: Tokens): SessionLoad {
  return {
    id: session.id,
    of: session.template,
    state: stateOf(session),
    ...(session.active_bead === undefined ? {} : { bead: session.active_bead }),
    ...(session.context_pct === undefined ? {} : { context_pct: session.context_pct }),
    input_tokens,
    output_tokens,
    cost_usd_estimate,
  };
}

function cityTable(loads: readonly CityLoad[], io: Io): string {
  const rows = loads.map((of) => [
    of.name,
    String(of.running_agents),
    String(of.in_progress),
    String(of.ready),
    String(of.waiting),
    ...shown(of),
  ]);
  return table(['CITY', 'AGENTS', 'IN PROGRESS', 'READY', 'WAITING', 'IN', 'OUT', 'COST'], rows, io);
}

function sessionTable(loads: readonly SessionLoad[], io: Io): string {
  const rows = loads.map((of) => [
    of.id,
    of.of,
    of.state,
    of.bead ?? '',
    of.context_pct === undefined ? '' : `${of.context_pct} %`,
    ...shown(of),
  ]);
  return table(['SESSION', 'OF', 'STATE', 'BEAD', 'CONTEXT', 'IN', 'OUT', 'COST'], rows, io);
}
