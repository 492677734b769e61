import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, keyHeader, withExamples, withKey } from '../command.js';
import { each } from '../each.js';
import { answered, matchHeader, nameOf, requireChange, told, withIfMatch } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { contentOf, withContent, withEmpty, type ContentFlags } from './content.js';

interface Flags extends ContentFlags {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
  readonly json?: boolean;
}

const CONFIGURATION = 'the configuration';

export function addWrites(provider: Command, io: Io): void {
  const create = withContent(
    cityCommand(provider, 'create', 'define a provider of the city').argument('<name>', 'what it is called'),
  ).option('--json', 'print the answer as one JSON line');
  withKey(create);
  withExamples(
    create,
    'svc provider create claude-team --base builtin:claude --add-arg=--verbose --option permission_mode=plan',
    'svc provider create mine --acp-command "/opt/agent acp"',
    'svc provider create mine --command /opt/agent --arg run --env API_KEY',
  );
  create.action(async (name: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    if (flags.command === undefined && flags.acpCommand === undefined && flags.base === undefined)
      throw new CliError('give --command, --acp-command or --base');
    const body = { name, ...contentOf(flags, io) };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/providers', { params, body, signal }));
    await answered(io, flags, data, `${data.provider} is created`);
  });

  const update = withEmpty(
    withContent(
      cityCommand(provider, 'update', 'change a provider of the city; what is not named stays').argument('<name>', 'the provider'),
    ),
  ).option('--json', 'print the answer as one JSON line');
  withIfMatch(update, CONFIGURATION);
  withExamples(update, 'svc provider update claude-team --ready-delay 2s --env TIER=standard', 'svc provider update mine --no-args');
  update.action(async (given: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const body = contentOf(flags, io);
    requireChange(body);
    const name = nameOf('a provider', given);
    const params = { path: { cityName: city, name }, header: matchHeader(flags, [name]) };
    const { data } = await ask(api, (signal) => api.http.PATCH('/v0/city/{cityName}/provider/{name}', { params, body, signal }));
    await told(context, name, data, 'is updated');
  });

  const remove = cityCommand(provider, 'delete', 'take providers out of the files of the city; refused while something uses them')
    .argument('<name...>', 'the providers')
    .option('--json', 'print one JSON line for each');
  withIfMatch(remove, CONFIGURATION);
  withExamples(remove, 'svc provider delete claude-team');
  remove.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, names);
    await each(context, names, async (name) => {
      const params = { path: { cityName: city, name: nameOf('a provider', name) }, header };
      const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/provider/{name}', { params, signal }));
      await told(context, name, data, 'is deleted');
    });
  });
}
