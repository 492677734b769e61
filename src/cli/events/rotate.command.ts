import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityContextOf, printJson, withCity, withExamples, withTarget } from '../command.js';
import { ApiError, CliError } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

const WAIT_MS = 45_000;

export function addRotate(events: Command, io: Io): void {
  const rotate = events
    .command('rotate')
    .description("seal the city's events so far into an archive and begin a new one")
    .option('--json', 'print the answer as one JSON line, as a file or a pipe gets it anyway')
    .option('--wait', 'fail unless the archive is complete when the answer comes');
  withCity(withTarget(rotate));
  withExamples(rotate, 'svc events rotate --city alpha', 'svc events rotate --city alpha --wait');
  rotate.action(async (_options, command: Command) => {
    const { api, city, flags } = await cityContextOf<{ wait?: boolean; json?: boolean }>(command, io);
    const { wait } = flags;
    const params = { path: { cityName: city }, query: wait === true ? { wait } : {} };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/events/rotate', { params, signal }), WAIT_MS).catch(
      (error: unknown) => {
        if (error instanceof ApiError && error.status === 404) throw new CliError(`city ${city} was not found or is not running`);
        throw error;
      },
    );
    if (io.readable === true && flags.json !== true) await io.out(lineOf(city, data));
    else await printJson(io, data);
    if (wait === true && data.archive?.compression_status === 'pending') throw new CliError('the archive was not complete within 30 s');
  });
}

function lineOf(city: string, { rotated, archive, reason }: Schemas['EventRotateResponse']): string {
  if (!rotated || archive === undefined) return `${plain(`nothing of ${city} is sealed: ${reason ?? 'it has no new events'}`)}\n`;
  return `${plain(`the events ${archive.first_seq} to ${archive.last_seq} of ${city} are sealed in ${archive.path}`)}\n`;
}
