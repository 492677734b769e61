import type { Command } from 'commander';
import { allOf } from '../client/pages.js';
import { ask, type Api, type Schemas } from './api.js';
import { contextOf, flagsOf, pathOf, withExamples, withTarget } from './command.js';
import { age, moment } from './duration.js';
import { tellNotRunning } from './cities/not-running.js';
import { CliError, InterruptedError } from './errors.js';
import type { Io } from './io.js';
import { list, withLimit, withRereading, EVERY_MS, type ListFlags } from './listing.js';
import { plain, table } from './table.js';

type Entry = Schemas['InboxEntry'];
type Rejection = Schemas['InboxRejection'];
const KINDS = ['bead', 'mail'] as const;
const kindOf = (kind: string | undefined): Entry['kind'] | undefined => {
  const known = KINDS.find((one) => one === kind);
  if (kind !== undefined && known === undefined) throw new CliError(`--kind: is one of ${KINDS.join(' and ')}`);
  return known;
};

/** What waits for people beside the questions of sessions. */
export function addInbox(program: Command, io: Io): void {
  const inbox = withRereading(
    withLimit(
      withTarget(
        program.command('inbox').description('list what waits for you in every city that runs: beads assigned to `human`, and unread mail'),
      ),
    ),
  )
    .option('--kind <kind>', 'only this: bead or mail')
    .option('--in <cities>', 'only in these cities, by commas');
  withExamples(inbox, 'svc inbox', 'svc inbox --kind bead --in alpha', 'svc session pending --all-cities');
  inbox.action(async (_options, command: Command) => {
    const flags = flagsOf<ListFlags & { readonly kind?: string; readonly in?: string }>(command);
    const kind = kindOf(flags.kind);
    const context = { ...contextOf(command, io), city: '', flags, path: pathOf(command) };
    const only = { ...(kind === undefined ? {} : { kind }), ...(flags.in === undefined ? {} : { cities: flags.in.split(',') }) };
    let rejected: readonly Rejection[] = [];
    await list<Entry>(context, {
      plural: 'items',
      empty: 'no beads and no mail wait for people',
      everyMs: EVERY_MS,
      show: (entries) => shown(entries, io),
      page: async (page) => {
        const params = { query: { ...only, ...page } };
        const { data } = await ask(context.api, (signal) => context.api.http.GET('/v0/inbox', { params, signal }));
        rejected = data.rejected ?? rejected;
        return data;
      },
    });
    for (const { city, since, error } of rejected)
      io.err(
        `${plain(city)}: its files cannot be used since ${moment(since)}: ${plain(error)}; see \`svc config validate --city ${plain(city)}\`\n`,
      );
    await tellNotRunning(context.api, io, only.cities);
    const questions = await questionsIn(context.api, only.cities);
    if (questions > 0)
      io.err(
        `${questions} ${questions === 1 ? 'question waits' : 'questions wait'} for an answer: see \`svc session pending --all-cities\`\n`,
      );
  });
}

/** How many questions sessions ask in these cities, or in all. They are only for a word more: without them the list is what it is. */
async function questionsIn(api: Api, cities: readonly string[] | undefined): Promise<number> {
  const overview = async (query: { limit: number; cursor?: string }): Promise<Schemas['OverviewOutputBody']> =>
    (await ask(api, (signal) => api.http.GET('/v0/overview', { params: { query }, signal }))).data;
  try {
    if (cities === undefined) return (await overview({ limit: 1 })).totals?.pending ?? 0;
    const all = await allOf<Schemas['OverviewCity']>((query) => overview({ limit: 1_000, ...query }));
    return all.filter(({ name }) => cities.includes(name)).reduce((sum, { pending }) => sum + pending, 0);
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    return 0;
  }
}

function shown(entries: readonly Entry[], io: Io): string {
  const rows = entries.map(({ kind, city, id, from, priority, since, title }) => [
    kind,
    city,
    id,
    from ?? '',
    priority === undefined ? '' : `P${priority}`,
    age(since),
    title,
  ]);
  return table(['KIND', 'CITY', 'ID', 'FROM', 'PRIORITY', 'AGE', 'TITLE'], rows, io);
}
