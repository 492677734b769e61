import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, keyHeader, withExamples, withKey } from '../command.js';
import { each } from '../each.js';
import { answered, matchHeader, requireChange, told, withIfMatch } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { defined, numberOf, textOf } from '../values.js';
import { addressOf } from './address.js';

interface CreateFlags {
  readonly provider?: string;
  readonly description?: string;
  readonly prompt?: string;
  readonly promptFile?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

/** False for `--no-…`. */
interface UpdateFlags {
  readonly provider?: string;
  readonly scope?: string;
  readonly suspended?: boolean;
  readonly description?: string | false;
  readonly maxActiveSessions?: string | false;
  readonly minActiveSessions?: string | false;
  readonly idleTimeout?: string | false;
  readonly ifMatch?: string;
  readonly json?: boolean;
}

const NAME = 'the agent: `mayor`, `web/polecat`';
const CONFIGURATION = 'the configuration';

export function addWrites(agent: Command, io: Io): void {
  addCreate(agent, io);
  addUpdate(agent, io);
  addDelete(agent, io);
}

function addCreate(agent: Command, io: Io): void {
  const create = cityCommand(agent, 'create', 'make an agent of the city, with its folder and its prompt')
    .argument('<name>', 'what it is called')
    .option('--provider <name>', 'who runs it: a provider of the city; not needed in one with a --start-command')
    .option('--description <text>', 'what it is for')
    .option('--prompt <text>', 'what it is told first (default: a general prompt)')
    .option('--prompt-file <path>', 'read the prompt from this file; - is stdin')
    .option('--json', 'print the answer as one JSON line');
  withKey(create);
  withExamples(create, 'svc agent create mayor --provider claude --prompt-file mayor.md', 'svc agent create helper --provider loopback');
  create.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<CreateFlags>(action, io);
    const prompt = await textOf('prompt', flags.prompt, flags.promptFile, io);
    const body = { name, ...defined({ provider: flags.provider, description: flags.description, prompt }) };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/agents', { params, body, signal }));
    await answered(io, flags, data, `${data.agent} is created`);
  });
}

/** `5`, or `unlimited`. @throws CliError */
const sessions = (flag: string, text: string): number => (text === 'unlimited' ? -1 : numberOf(flag, text));

/** A value, null for what `--no-…` takes out of the file, undefined for what stays. */
const orNull = <T>(given: string | false | undefined, read: (text: string) => T): T | null | undefined =>
  given === undefined ? undefined : given === false ? null : read(given);

function addUpdate(agent: Command, io: Io): void {
  const update = cityCommand(agent, 'update', 'change agents in the files, those of packs by a patch of the city; what is not named stays')
    .argument('<name...>', NAME)
    .option('--provider <name>', 'who runs it')
    .addOption(new Option('--scope <scope>', 'where it is').choices(['city', 'rig']))
    .option('--suspended', 'suspended, unless somebody resumes it by hand')
    .option('--no-suspended', 'not suspended, unless somebody suspends it by hand')
    .option('--description <text>', 'what it is for')
    .option('--no-description', 'without a description')
    .option('--max-active-sessions <n>', 'at most so many sessions at a time, or `unlimited`')
    .option('--no-max-active-sessions', 'as the rig or the city limits it')
    .option('--min-active-sessions <n>', 'so many sessions at all times')
    .option('--no-min-active-sessions', 'none at all times')
    .option('--idle-timeout <duration>', 'end a session that has done nothing for so long')
    .option('--no-idle-timeout', 'never end an idle session')
    .option('--json', 'print one JSON line for each');
  withIfMatch(update, CONFIGURATION);
  withExamples(
    update,
    'svc agent update mayor --provider codex --idle-timeout 45m',
    'svc agent update polecat --max-active-sessions unlimited --no-suspended',
  );
  update.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<UpdateFlags>(action, io);
    const { api, city, flags } = context;
    const body = defined({
      provider: flags.provider,
      scope: flags.scope,
      suspended: flags.suspended,
      description: orNull(flags.description, (text) => {
        if (text === '') throw new CliError('--description: it is empty; --no-description takes it out');
        return text;
      }),
      max_active_sessions: orNull(flags.maxActiveSessions, (text) => sessions('--max-active-sessions', text)),
      min_active_sessions: orNull(flags.minActiveSessions, (text) => numberOf('--min-active-sessions', text)),
      idle_timeout: orNull(flags.idleTimeout, (text) => text),
    });
    requireChange(body);
    const header = matchHeader(flags, names);
    await each(context, names, async (name) => {
      const address = addressOf(name);
      const { data } = await ask(api, (signal) =>
        'dir' in address
          ? api.http.PATCH('/v0/city/{cityName}/agent/{dir}/{base}', {
              params: { path: { cityName: city, ...address }, query: { patch: true }, header },
              body,
              signal,
            })
          : api.http.PATCH('/v0/city/{cityName}/agent/{base}', {
              params: { path: { cityName: city, ...address }, query: { patch: true }, header },
              body,
              signal,
            }),
      );
      await told(context, name, data, data.status === 'patched' ? 'is updated, by a patch of the city' : 'is updated');
    });
  });
}

function addDelete(agent: Command, io: Io): void {
  const remove = cityCommand(agent, 'delete', 'take agents out of the files of the city, with their folders')
    .argument('<name...>', NAME)
    .option('--json', 'print one JSON line for each');
  withIfMatch(remove, CONFIGURATION);
  withExamples(remove, 'svc agent delete helper');
  remove.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<UpdateFlags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, names);
    await each(context, names, async (name) => {
      const address = addressOf(name);
      const { data } = await ask(api, (signal) =>
        'dir' in address
          ? api.http.DELETE('/v0/city/{cityName}/agent/{dir}/{base}', { params: { path: { cityName: city, ...address }, header }, signal })
          : api.http.DELETE('/v0/city/{cityName}/agent/{base}', { params: { path: { cityName: city, ...address }, header }, signal }),
      );
      await told(context, name, data, 'is deleted');
    });
  });
}
