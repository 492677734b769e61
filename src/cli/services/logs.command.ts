import type { Command } from 'commander';
import { ask, failing, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { nameOf } from '../edits.js';
import { InterruptedError } from '../errors.js';
import { followFrames, type OpenStream } from '../../client/follow.js';
import { harmless } from '../harmless.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { objectOf } from '../../client/frames.js';
import type { ApiProblem } from '../../client/problems.js';
import { pausesOf } from '../pauses.js';
import { defined, numberOf } from '../values.js';

interface Flags {
  readonly follow?: boolean;
  readonly tail: string;
  readonly json?: boolean;
}

type Line = Schemas['ServiceLogLine'];

/** What a service has written, and goes on to write. */
export function addLogs(service: Command, io: Io): void {
  const logs = cityCommand(service, 'logs', 'show what a service has written')
    .argument('<name>', 'the service')
    .option('-f, --follow', 'go on with what it writes, until Ctrl-C')
    .option('--tail <n>', 'the last n lines, 1000 at the most', '100')
    .option('--json', 'print one JSON line for each');
  withExamples(logs, 'svc service logs board', 'svc service logs board --follow');
  logs.action(async (name: string, _options, action: Command) => {
    const { api, city, flags, path: called } = await cityContextOf<Flags>(action, io);
    const path = { cityName: city, name: nameOf('a service', name) };
    const query = { tail: numberOf('--tail', flags.tail) };
    const shown = (line: Line): string => (flags.json === true ? `${JSON.stringify(line)}\n` : `${harmless(line.text)}\n`);
    const absent = hinted(404, 'see `svc service list`');
    if (flags.follow !== true) {
      const { data } = await ask(api, (signal) =>
        api.http.GET('/v0/city/{cityName}/service/{name}/logs', { params: { path, query }, signal }),
      ).catch(absent);
      const lines = data.items ?? [];
      if (lines.length === 0 && flags.json !== true) io.err(`${name} has written nothing yet\n`);
      return io.out(lines.map(shown).join(''));
    }
    const { signal } = io;
    const open = (lastEventId: string | undefined): ReturnType<OpenStream> => {
      const header = defined({ 'Last-Event-ID': lastEventId });
      const opening = api.client.open('/v0/city/{cityName}/service/{name}/logs/stream', { path, query, header, signal });
      return opening.catch(failing(api)).catch(absent);
    };
    // The lines that it was behind have gone, as with a restored database: the last ones are shown, and it goes on.
    const again = ({ status }: ApiProblem, at: string | undefined): boolean => at !== undefined && status === 410;
    for await (const { event, data, id } of followFrames(open, { signal, ...pausesOf(io, called), again, mustOpen: true })) {
      if (event === 'line') await io.out(shown(objectOf(data, event, id) as Line));
    }
    throw new InterruptedError();
  });
}
