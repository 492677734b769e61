import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { answered, matchHeader, withIfMatch } from '../edits.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { NETWORK, networkOf } from '../values.js';

interface Flags {
  readonly network?: string;
  readonly ifMatch?: string;
  readonly json?: boolean;
}

export function addSet(config: Command, io: Io): void {
  const set = cityCommand(config, 'set', 'change what holds for the whole city')
    .option('--network <hosts>', NETWORK)
    .option('--json', 'print the answer as one JSON line');
  withIfMatch(set, 'the configuration');
  withExamples(set, 'svc config set --network api', 'svc config set --network api.example.com,*.example.org --city alpha');
  set.action(async (_options, command: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(command, io);
    const network = networkOf(flags.network);
    if (network === undefined) throw new CliError('nothing to change: name at least one option');
    const params = { path: { cityName: city }, header: matchHeader(flags, [city]) };
    const { data } = await ask(api, (signal) => api.http.PATCH('/v0/city/{cityName}/config', { params, body: { network }, signal }));
    await answered(io, flags, data, `${city} is updated`);
  });
}
