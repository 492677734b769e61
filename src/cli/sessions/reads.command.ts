import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, printJson, withExamples } from '../command.js';
import { showEach } from '../each.js';
import { nameOf } from '../edits.js';
import { CliError } from '../errors.js';
import { lastEvents } from '../events/last.js';
import type { Io } from '../io.js';
import { list, nothing, withLimit, type ListFlags } from '../listing.js';
import { defined, numberOf } from '../values.js';
import type { Question } from '../../client/turns.js';
import { lastFailure } from './last-failure.js';
import { asked, questionsOf } from './questions.js';
import { because } from '../why/why-lines.js';
import { sessionReasons } from '../why/why-session.js';
import { matching, SessionRows } from './session-rows.js';
import { sessionDetails, sessionTable, type Session } from './view.js';

interface Flags extends ListFlags {
  readonly state?: string[];
  readonly all?: boolean;
  readonly template?: string;
  readonly provider?: string;
  readonly rig?: string;
  readonly kind?: 'agent' | 'provider';
  readonly running?: boolean;
  readonly stopped?: boolean;
  readonly asking?: boolean;
  readonly sort?: 'created' | 'updated';
}

const SORTS = { created: 'created_at', updated: 'updated_at' } as const;

export function addReads(session: Command, io: Io): void {
  addList(session, io);
  addShow(session, io);
}

function addList(session: Command, io: Io): void {
  const command = cityCommand(session, 'list', 'list the sessions of a city, the newest first')
    .option('--state <state>', 'only in this state, or `open` (the default), `closed`, `all`; repeatable', collect)
    .option('--all', 'closed ones too, as with `--state all`')
    .option('--template <name>', 'only of this agent or provider')
    .option('--provider <name>', 'only those that run with this provider')
    .option('--rig <rig>', 'only of this rig')
    .addOption(new Option('--kind <kind>', 'only of agents, or of bare providers').choices(['agent', 'provider']))
    .option('--running', 'only those with a process')
    .option('--stopped', 'only those without one')
    .option('--asking', 'only those that wait for an answer')
    .addOption(new Option('--sort <order>', 'by when they were made (default), or by when they were changed').choices(Object.keys(SORTS)));
  withLimit(command);
  withExamples(command, 'svc session list', 'svc session list --all --template mayor', 'svc session list --asking --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    if (flags.running === true && flags.stopped === true) throw new CliError('--running and --stopped are mutually exclusive');
    const running = flags.running === true ? true : flags.stopped === true ? false : undefined;
    if (flags.all === true && flags.state !== undefined) throw new CliError('--all and --state are mutually exclusive');
    const { template, provider, rig, kind } = flags;
    const state = flags.all === true ? ['all'] : flags.state;
    const sort = flags.sort === undefined ? undefined : SORTS[flags.sort];
    const filter = defined({ state, template, provider, rig, kind, running, pending: flags.asking, sort });
    let questions: ReadonlyMap<string, Question> = new Map();
    const rows = new SessionRows(flags.asking === undefined && sort !== 'updated_at' ? matching(filter) : undefined);
    await list<Session>(context, {
      plural: 'sessions',
      empty: nothing('sessions', 'svc session create', state === undefined ? '--all' : undefined),
      show: (sessions) => sessionTable(sessions, io, questions),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filter, ...page } };
        if (flags.json !== true) questions = (await asked(api, city)).of;
        const { data, response } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/sessions', { params, signal }));
        rows.read(data.items ?? [], { response, first: page.cursor === undefined, whole: data.next_cursor === undefined });
        return data;
      },
      followed: {
        // What they ask is read with them.
        take: (event) => (flags.json !== true && event.type.startsWith('session.interaction.') ? 'read' : rows.take(event)),
        items: () => rows.items(),
      },
    });
  });
}

function addShow(session: Command, io: Io): void {
  const show = cityCommand(session, 'show', 'show sessions and the last lines that they have said')
    .argument('<session...>', 'the sessions: ids, names or aliases')
    .option('--lines <n>', 'so many lines of its output', '5')
    .option('--json', 'print one JSON line for each');
  withExamples(show, 'svc session show al-7', 'svc session show mayor --lines 40');
  show.action(async (sessions: string[], _options, action: Command) => {
    const context = await cityContextOf<{ json?: boolean; lines: string }>(action, io);
    const { api, city, flags } = context;
    const query = { peek: true, peek_lines: numberOf('--lines', flags.lines) };
    let first = true;
    await showEach(context, sessions, async (name) => {
      const params = { path: { cityName: city, id: nameOf('a session', name) }, query };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}', { params, signal }));
      if (flags.json === true) await printJson(io, data);
      else {
        const [failure, questions, reasons, events] = await Promise.all([
          lastFailure(api, city, data),
          data.running ? questionsOf(api, { cityName: city, id: data.id }) : [],
          sessionReasons(api, city, data),
          lastEvents(api, city, data.id),
        ]);
        await io.out(`${first ? '' : '\n'}${sessionDetails(data, failure, questions)}${because(reasons)}${events}`);
      }
      first = false;
    });
  });
}
