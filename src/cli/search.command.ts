import type { Command } from 'commander';
import { ask, type Schemas } from './api.js';
import { contextOf, flagsOf, pathOf, withExamples, withTarget } from './command.js';
import { tellNotRunning } from './cities/not-running.js';
import { CliError } from './errors.js';
import type { Io } from './io.js';
import { plain, table } from './table.js';
import { numberOf } from './values.js';

interface SearchFlags {
  readonly kind?: string;
  readonly in?: string;
  readonly limit: string;
  readonly json?: boolean;
}

/** Finds things in all cities that run by what people call them. */
export function addSearch(program: Command, io: Io): void {
  const search = withTarget(
    program.command('search').description('find cities, and agents, sessions, beads and mail of those that run, by a name or by words'),
  )
    .argument('<words...>', 'an id, a name, or words of a title; their beginnings are enough')
    .option('--kind <kinds>', 'only these, by commas: city, agent, session, bead, mail')
    .option('--in <cities>', 'only in these cities, by commas')
    .option('--limit <n>', 'at most this many, up to 100', '20')
    .option('--json', 'print one JSON line for each');
  withExamples(search, 'svc search login page', 'svc search al-12', 'svc search deploy --kind bead,mail --in alpha');
  search.action(async (words: string[], _options, command: Command) => {
    const { api } = contextOf(command, io);
    const flags = flagsOf<SearchFlags>(command);
    const limit = numberOf('--limit', flags.limit);
    if (limit < 1) throw new CliError('--limit: must be above zero');
    const given = { kinds: flags.kind?.split(','), cities: flags.in?.split(',') };
    const query = { q: words.join(' '), limit, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/search', { params: { query }, signal }));
    for (const why of data.partial_errors ?? []) io.err(`${pathOf(command)}: not all was looked at: ${plain(why)}\n`);
    if (flags.json === true) await io.out(data.items.map((hit) => `${JSON.stringify(hit)}\n`).join(''));
    else if (data.items.length === 0) io.err('nothing found\n');
    else await io.out(hitTable(data.items, io));
    // A city itself is found whether it runs or not.
    if (given.kinds?.every((kind) => kind === 'city') !== true) await tellNotRunning(api, io, given.cities);
  });
}

function hitTable(hits: readonly Schemas['SearchHit'][], io: Io): string {
  const rows = hits.map(({ kind, city, id, name, state, title }) => [
    kind,
    city,
    id,
    state ?? '',
    [name, title].filter(Boolean).join(': '),
  ]);
  return table(['KIND', 'CITY', 'ID', 'STATE', 'TITLE'], rows, io);
}
