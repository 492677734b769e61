import type { Command } from 'commander';
import { ask, type Api, type Schemas } from './api.js';
import { allOf } from '../client/pages.js';
import { contextOf, flagsOf, pathOf, withCity, withExamples, withTarget } from './command.js';
import type { Io } from './io.js';
import { EVERY_MS, listAll, type AllFlags, type Followed } from './listing.js';
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

/** The states of sessions that have a process, or get one now. */
const RUNNING = ['creating', 'active', 'draining'];
const NONE: Tokens = { input_tokens: 0, output_tokens: 0, cost_usd_estimate: 0 };
const total = (of: Tokens): number => of.input_tokens + of.output_tokens;
const shown = (of: Tokens): string[] => [String(of.input_tokens), String(of.output_tokens), `$${of.cost_usd_estimate.toFixed(4)}`];

/** Who is at work and what it uses: the cities, or the sessions of one. */
export function addTop(program: Command, io: Io): void {
  const top = withCity(withTarget(program.command('top').description('list cities by what they use and do now; in a city its sessions')))
    .option('--json', 'print one JSON line for each')
    .option('-w, --watch', `go on with what changes, until Ctrl-C; cities are read again every ${EVERY_MS / 1_000} s`);
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
        everyMs: EVERY_MS,
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

const PAGE = 1_000;

/** Of a thousand cities two answers: who watches many asks for them again and again. */
async function cityLoads(api: Api): Promise<CityLoad[]> {
  const query = { limit: PAGE };
  const [cities, usage] = await Promise.all([
    allOf<Schemas['OverviewCity']>(async (at) => {
      const params = { query: { ...query, ...at } };
      return (await ask(api, (signal) => api.http.GET('/v0/overview', { params, signal }))).data;
    }),
    allOf<Schemas['CityUsage']>(async (at) => {
      const params = { query: { ...query, ...at } };
      return (await ask(api, (signal) => api.http.GET('/v0/usage', { params, signal }))).data;
    }),
  ]);
  const used = new Map(usage.map(({ city, recent }) => [city, recent]));
  const loads = cities.flatMap(({ name, running, sessions, in_progress, ready }): CityLoad[] => {
    if (!running) return [];
    const { input_tokens, output_tokens, cost_usd_estimate } = used.get(name) ?? NONE;
    const running_agents = RUNNING.reduce((sum, state) => sum + (sessions[state] ?? 0), 0);
    const waiting = sessions['start-pending'] ?? 0;
    return [{ name, running_agents, in_progress, ready, waiting, input_tokens, output_tokens, cost_usd_estimate }];
  });
  return loads.sort((a, b) => total(b) - total(a) || b.running_agents - a.running_agents || a.name.localeCompare(b.name));
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
