import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { contextOf, flagsOf, pathOf, withExamples, withTarget } from '../command.js';
import { age } from '../duration.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { table } from '../table.js';

type City = Schemas['OverviewCity'];
type Totals = Schemas['OverviewTotals'];

const PAGE = 1_000;
const HEADERS = ['CITY', 'STATUS', 'SESSIONS', 'ACTIVE', 'PENDING', 'READY', 'IN PROGRESS', 'UNREAD', 'TODAY'];
/** A terminal shows all columns from this width on: beside them a city and its status have room. */
const ALL_FROM = 110;
/** What a narrower one has no room for: of the sessions those that are active count, of the work what waits for somebody. */
const LEFT_OUT = new Set(['SESSIONS', 'IN PROGRESS']);

/** All cities in one answer a thousand of them. */
export function addOverview(program: Command, io: Io): void {
  const overview = withTarget(
    program.command('overview').description('show all cities in numbers: sessions, questions, work, mail and cost'),
  )
    .option('--json', 'print one JSON line for each city')
    .option('-w, --watch', 'go on with what changes, until Ctrl-C');
  withExamples(overview, 'svc overview', 'svc overview --watch', 'svc overview --json');
  overview.action(async (_options, command: Command) => {
    const context = { ...contextOf(command, io), city: '', flags: flagsOf<AllFlags>(command), path: pathOf(command) };
    let totals: Totals | undefined;
    await listAll<City>(context, {
      empty: 'no cities yet: make one with `svc city create alpha --provider loopback`',
      show: (cities) => shown(cities, totals, io),
      page: async ({ cursor }) => {
        const query = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
        const { data } = await ask(context.api, (signal) => context.api.http.GET('/v0/overview', { params: { query }, signal }));
        totals = data.totals ?? totals;
        return data;
      },
    });
  });
}

function shown(cities: readonly City[], totals: Totals | undefined, io: Io): string {
  const rows = cities.map((city) => [
    city.name,
    [city.status, ...(city.suspended ? ['suspended'] : []), ...(city.config_error === undefined ? [] : ['files refused'])].join(', '),
    ...counted(city),
    `$${city.cost_today_usd.toFixed(4)}`,
    city.last_event === undefined ? '' : age(city.last_event.ts),
  ]);
  const cost = cities.reduce((sum, city) => sum + city.cost_today_usd, 0);
  // One city is its own sum.
  const sum =
    totals === undefined || cities.length < 2
      ? []
      : [['', `${totals.running} of ${totals.cities} run`, ...counted(totals), `$${cost.toFixed(4)}`, '']];
  const isNarrow = io.width !== undefined && io.width < ALL_FROM;
  const pick = (row: readonly string[]): string[] => row.filter((_, column) => !isNarrow || !LEFT_OUT.has(HEADERS[column]!));
  return table(pick([...HEADERS, isNarrow ? 'LAST' : 'LAST EVENT']), [...rows, ...sum].map(pick), io);
}

type Counts = Pick<Totals, 'sessions' | 'pending' | 'ready' | 'in_progress' | 'unread' | 'total_is_estimate'>;

/** At least so much, where not all was counted. */
function counted({ sessions, pending, ready, in_progress, unread, total_is_estimate: more }: Counts): string[] {
  const all = Object.values(sessions).reduce((sum, n) => sum + n, 0);
  const some = [pending, ready, in_progress, unread].map((n) => (more === true && n > 0 ? `${n}+` : String(n)));
  return [String(all), String(sessions.active ?? 0), ...some];
}
