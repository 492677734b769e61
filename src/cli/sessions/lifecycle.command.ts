import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { each } from '../each.js';
import { nameOf, requireChange, told } from '../edits.js';
import type { Io } from '../io.js';
import { defined } from '../values.js';

const VERBS = {
  wake: ['have sessions started, whatever keeps them asleep', 'is woken'],
  stop: ['end the current turn of sessions; their processes stay', 'has no turn any more'],
  kill: ['kill the processes of sessions; who is wanted is started again', 'has no process any more'],
  suspend: ['park sessions: nothing starts them before a wake or a message', 'is suspended'],
  drain: ['let sessions finish their turns and sleep', 'drains'],
  reset: ['give sessions a fresh conversation; the transcript stays', 'begins anew'],
} as const;

const DECISIONS: Readonly<Record<NonNullable<Schemas['OKWithIDResponseBody']['decision']>, string>> = {
  awake: 'is awake already',
  starting: 'is being started',
  wanted: 'is woken: it waits for a worker that starts it',
  after_stop: 'is started again once its process has ended',
};

export function addLifecycle(session: Command, io: Io): void {
  for (const verb of Object.keys(VERBS) as (keyof typeof VERBS)[]) addVerb(session, io, verb);
  addClose(session, io);
  addRename(session, io);
}

const ofSessions = (command: Command): Command =>
  command.argument('<session...>', 'the sessions: ids, names or aliases').option('--json', 'print one JSON line for each');

function addVerb(session: Command, io: Io, verb: keyof typeof VERBS): void {
  const [about, done] = VERBS[verb];
  const command = ofSessions(cityCommand(session, verb, about));
  if (verb === 'wake') command.option('--force', 'also one whose circuit is open: it was started again and again for nothing');
  withExamples(command, `svc session ${verb} al-7`, `svc session ${verb} mayor al-9 --json`);
  command.action(async (sessions: string[], _options, action: Command) => {
    const context = await cityContextOf<{ json?: boolean; force?: boolean }>(action, io);
    const { api, city, flags } = context;
    await each(context, sessions, async (name) => {
      const query = defined({ force: flags.force });
      const params = { path: { cityName: city, id: nameOf('a session', name) }, query };
      const { data } = await ask(api, (signal) => api.http.POST(`/v0/city/{cityName}/session/{id}/${verb}`, { params, signal }));
      const { decision } = data as Schemas['OKWithIDResponseBody'];
      await told(context, name, data, decision === undefined ? done : DECISIONS[decision]);
    });
  });
}

function addClose(session: Command, io: Io): void {
  const close = ofSessions(cityCommand(session, 'close', 'end sessions for good; their transcripts can be read on')).option(
    '--delete',
    'remove the record and the transcript, too',
  );
  withExamples(close, 'svc session close al-7', 'svc session close al-7 al-9 --delete');
  close.action(async (sessions: string[], _options, action: Command) => {
    const context = await cityContextOf<{ json?: boolean; delete?: boolean }>(action, io);
    const { api, city, flags } = context;
    await each(context, sessions, async (name) => {
      const params = {
        path: { cityName: city, id: nameOf('a session', name) },
        query: defined({ delete: flags.delete }),
      };
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/session/{id}/close', { params, signal }));
      await told(context, name, data, flags.delete === true ? 'is closed and removed' : 'is closed');
    });
  });
}

function addRename(session: Command, io: Io): void {
  const rename = cityCommand(session, 'rename', 'change the title or the alias of a session')
    .argument('<session>', 'the session: an id, a name or an alias')
    .argument('[title]', 'the new title')
    .option('--alias <alias>', 'another name that it is found by')
    .option('--no-alias', 'take its alias away')
    .option('--json', 'print the session as one JSON line');
  withExamples(rename, 'svc session rename al-7 "Fix the login page"', 'svc session rename al-7 --alias login');
  rename.action(async (name: string, title: string | undefined, _options, action: Command) => {
    const context = await cityContextOf<{ json?: boolean; alias?: string | false }>(action, io);
    const { api, city, flags } = context;
    const body = defined({ title, alias: flags.alias === false ? '' : flags.alias });
    requireChange(body);
    const params = { path: { cityName: city, id: nameOf('a session', name) } };
    const { data } = await ask(api, (signal) => api.http.PATCH('/v0/city/{cityName}/session/{id}', { params, body, signal }));
    await told(context, name, data, `is called ${data.title}${data.alias === undefined ? '' : ` (${data.alias})`}`);
  });
}
