import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import type { Io } from '../io.js';
import { defined, numberOf } from '../values.js';
import { composedView, configView } from './view.js';

interface Flags {
  readonly composed?: boolean;
  readonly revision?: string;
  readonly json?: boolean;
}

const JSON_LINE = 'print the answer as one JSON line';

export function addShow(config: Command, io: Io): void {
  const show = cityCommand(config, 'show', 'show the configuration that a city runs')
    .option('--composed', 'everything that it is composed of, written like the files; secrets are masked')
    .option('--revision <n>', 'as it was at this revision (means --composed)')
    .option('--json', JSON_LINE);
  withExamples(show, 'svc config show', 'svc config show --composed > composed.toml', 'svc config show --revision 3 --json');
  show.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const path = { cityName: city };
    if (flags.composed === true || flags.revision !== undefined) {
      const revision = flags.revision === undefined ? undefined : numberOf('--revision', flags.revision);
      const params = { path, query: defined({ revision }) };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config/composed', { params, signal }));
      return flags.json === true ? printJson(io, data) : io.out(composedView(data.config));
    }
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config', { params: { path }, signal }));
    return flags.json === true ? printJson(io, data) : io.out(configView(data, io));
  });

  const defaults = cityCommand(config, 'defaults', 'show what the city would be without anything in its files').option('--json', JSON_LINE);
  withExamples(defaults, 'svc config defaults', 'svc config defaults --json');
  defaults.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config/defaults', { params, signal }));
    return flags.json === true ? printJson(io, data) : io.out(configView(data, io));
  });
}
