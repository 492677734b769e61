import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, collect, printJson, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { readText } from '../values.js';

interface ValidateFlags {
  readonly file?: readonly string[];
  readonly without?: readonly string[];
  readonly json?: boolean;
}

export function addChecks(config: Command, io: Io): void {
  addValidate(config, io);
  addReload(config, io);
}

/** Files in place of those of the city: `local=path`, or one path that is both. */
async function candidateOf({ file = [], without = [] }: ValidateFlags, io: Io): Promise<Record<string, string | null>> {
  const files = new Map<string, string | null>();
  const put = (path: string, text: string | null): void => {
    if (path === '') throw new CliError('--file: name the file of the city behind the =');
    if (files.has(path)) throw new CliError(`${path} is named twice`);
    files.set(path, text);
  };
  for (const given of file) {
    const at = given.lastIndexOf('=');
    if (at === 0) throw new CliError(`--file: expected <local>=<path in the city>: ${given}`);
    put(given.slice(at + 1), await readText('--file', at < 0 ? given : given.slice(0, at), io));
  }
  for (const path of without) put(path, null);
  return Object.fromEntries(files);
}

function addValidate(config: Command, io: Io): void {
  const validate = cityCommand(config, 'validate', 'check the files of a city as they are now; nothing changes')
    .option('--file <local=path>', 'as if this file of the city held what the local one does; repeatable', collect)
    .option('--without <path>', 'as if the city did not have this file; repeatable', collect)
    .option('--json', 'print the answer as one JSON line');
  withExamples(
    validate,
    'svc config validate',
    'svc config validate --file city.toml',
    'svc config validate --file /tmp/next.toml=city.toml --without agents/old/agent.toml',
  );
  validate.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<ValidateFlags>(action, io);
    const files = await candidateOf(flags, io);
    const path = { cityName: city };
    const url = '/v0/city/{cityName}/config/validate';
    const { data } = await ask(api, (signal) =>
      Object.keys(files).length === 0
        ? api.http.GET(url, { params: { path }, signal })
        : api.http.POST(url, { params: { path }, body: { files }, signal }),
    );
    await (flags.json === true ? printJson(io, data) : tell(data, io));
    // What is wrong has been said; the status says it to programs.
    if (!data.valid) throw new CliError('');
  });
}

async function tell({ valid, errors, warnings }: Schemas['ConfigValidateOutputBody'], io: Io): Promise<void> {
  for (const warning of warnings ?? []) io.err(`warning: ${plain(warning)}\n`);
  await io.out(valid ? 'the files can be used\n' : (errors ?? []).map((error) => `${plain(error)}\n`).join(''));
}

function addReload(config: Command, io: Io): void {
  const reload = cityCommand(config, 'reload', 'make the files as they are now what the city runs').option(
    '--json',
    'print the answer as one JSON line',
  );
  withExamples(reload, 'svc config reload', 'svc config reload --json');
  reload.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/config/reload', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    for (const warning of data.warnings) io.err(`warning: ${plain(warning)}\n`);
    if (data.outcome === 'no_change') return io.out(`nothing has changed: ${city} runs revision ${data.revision}\n`);
    const left = data.changed_total - data.changed.length;
    const keys = [...data.changed, ...(left > 0 ? [`and ${left} more`] : [])].map((key) => `  ${plain(key)}\n`);
    return io.out(`${city} runs revision ${data.revision}, changed:\n${keys.join('')}`);
  });
}
