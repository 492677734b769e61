import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples, type CityContext } from '../command.js';
import { each } from '../each.js';
import * as edits from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';

interface StateFlags {
  readonly json?: boolean;
  readonly ifMatch?: string;
  readonly reason?: string;
  readonly outcome?: 'pass' | 'fail';
  readonly hard?: boolean;
  readonly force?: boolean;
  readonly nobody?: boolean;
}

export const withIfMatch = (command: Command): Command => edits.withIfMatch(command, 'the bead');

/** Headers of a mutation on one revision. @throws CliError for a revision of several beads */
export const matchHeader = (flags: { readonly ifMatch?: string }, ids: readonly string[]): ReturnType<typeof edits.matchHeader> =>
  edits.matchHeader(flags, ids, '--if-match is the revision of one bead: name only that one');

/** Tells that something was done to a bead: a line, or the answer with the id of what it is about. */
export async function told(context: CityContext<{ readonly json?: boolean }>, id: string, data: object, line: string): Promise<void> {
  if (context.flags.json === true) await printJson(context.io, { id, ...data });
  else await context.io.out(`${id} ${line}\n`);
}

export function addStates(bead: Command, io: Io): void {
  addClose(bead, io);
  addReopen(bead, io);
  addDelete(bead, io);
  addAssign(bead, io);
}

const state = (bead: Command, name: string, about: string): Command =>
  withIfMatch(cityCommand(bead, name, about).argument('<id...>', 'the beads').option('--json', 'print one JSON line for each'));

function addClose(bead: Command, io: Io): void {
  const close = state(bead, 'close', 'close beads; what waited for them becomes ready')
    .option('--reason <text>', 'why, kept with the bead')
    .addOption(new Option('--outcome <how>', 'how a step of a run has ended; its retries ask for it').choices(['pass', 'fail']));
  withExamples(
    close,
    'svc bead close al-12',
    'svc bead close al-12 al-13 --reason "shipped in 1.4"',
    'svc bead close al-21 --outcome fail --reason "the tests are red"',
  );
  close.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<StateFlags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, ids);
    const { reason, outcome } = flags;
    const body = defined({ reason });
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id }, header };
      // Both in one change: a step that is closed first has ended without a word.
      const ended = { status: 'closed' as const, metadata: { 'gc.outcome': outcome ?? '', ...defined({ close_reason: reason }) } };
      const { data } = await ask(api, (signal) =>
        outcome === undefined
          ? api.http.POST('/v0/city/{cityName}/bead/{id}/close', { params, body, signal })
          : api.http.PATCH('/v0/city/{cityName}/bead/{id}', { params, body: ended, signal }),
      );
      await told(context, id, data, 'is closed');
    });
  });
}

function addReopen(bead: Command, io: Io): void {
  const reopen = state(bead, 'reopen', 'open closed beads again');
  withExamples(reopen, 'svc bead reopen al-12');
  reopen.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<StateFlags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, ids);
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id }, header };
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/reopen', { params, signal }));
      // What its run finds of it may have closed it again: how it is the answer does not say.
      await told(context, id, data, 'was opened again');
    });
  });
}

function addDelete(bead: Command, io: Io): void {
  const remove = state(bead, 'delete', 'close beads; with --hard they and their dependencies are gone for ever')
    .option('--hard', 'remove for ever instead of closing')
    .option('--force', 'with --hard: also when others depend on it');
  withExamples(remove, 'svc bead delete al-12', 'svc bead delete al-12 --hard --force');
  remove.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<StateFlags>(action, io);
    const { api, city, flags } = context;
    if (flags.force === true && flags.hard !== true) throw new CliError('--force belongs to --hard');
    const header = matchHeader(flags, ids);
    const query = flags.hard === true ? { hard: true, force: flags.force === true } : {};
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id }, header, query };
      const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/bead/{id}', { params, signal }));
      await told(context, id, data, flags.hard === true ? 'is deleted' : 'is closed');
    });
  });
}

function addAssign(bead: Command, io: Io): void {
  const assign = cityCommand(bead, 'assign', 'give a bead to an agent or session, or take it away')
    .argument('<id>', 'the bead')
    .argument('[assignee]', 'who gets it')
    .option('--nobody', 'take it from whoever has it')
    .option('--json', 'print the answer as one JSON line');
  withIfMatch(assign);
  withExamples(assign, 'svc bead assign al-12 worker', 'svc bead assign al-12 --nobody');
  assign.action(async (id: string, assignee: string | undefined, _options, action: Command) => {
    const context = await cityContextOf<StateFlags>(action, io);
    const { api, city, flags } = context;
    if ((assignee === undefined) === (flags.nobody !== true)) throw new CliError('give either an assignee or --nobody');
    const params = { path: { cityName: city, id }, header: matchHeader(flags, [id]) };
    const body = { assignee: assignee ?? '' };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/assign', { params, body, signal }));
    await told(context, id, data, assignee === undefined ? 'is assigned to nobody' : `is assigned to ${data.assignee ?? assignee}`);
  });
}
