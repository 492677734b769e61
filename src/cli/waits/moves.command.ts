import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import type { Io } from '../io.js';
import type { Wait } from './view.js';

interface Flags {
  readonly reason?: string;
  readonly nudgeId?: string;
  readonly error?: string;
  readonly json?: boolean;
}

const move = (wait: Command, name: string, about: string): Command =>
  cityCommand(wait, name, about).argument('<id>', 'the wait').option('--json', 'print the wait as one JSON line');

const NUDGE = 'the nudge that was delivered, as `svc wait show` tells it';

export function addMoves(wait: Command, io: Io): void {
  const told = async (flags: Flags, data: Wait): Promise<void> =>
    flags.json === true ? printJson(io, data) : io.out(`${data.id} is ${data.state}\n`);

  const ready = move(wait, 'ready', 'make a wait ready by hand; of a finished one a new wait is made');
  withExamples(ready, 'svc wait ready al-30');
  ready.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, id } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/wait/{id}/ready', { params, signal }));
    if (data.id === id || flags.json === true) return told(flags, data);
    return io.out(`${data.id} is ${data.state}, a new wait in place of ${id}\n`);
  });

  const cancel = move(wait, 'cancel', 'end a wait that is no longer wanted').option('--reason <text>', 'why');
  withExamples(cancel, 'svc wait cancel al-30 --reason "done otherwise"');
  cancel.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, id } };
    const body = flags.reason === undefined ? {} : { reason: flags.reason };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/wait/{id}/cancel', { params, body, signal }));
    await told(flags, data);
  });

  const accept = move(wait, 'accept', 'tell that the session took up a ready wait').requiredOption('--nudge-id <id>', NUDGE);
  withExamples(accept, 'svc wait accept al-30 --nudge-id wait-al-30-1-1');
  accept.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, id } };
    const body = { nudge_id: flags.nudgeId ?? '' };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/wait/{id}/accept', { params, body, signal }));
    await told(flags, data);
  });

  const fail = move(wait, 'fail', 'tell that the session could not be told')
    .requiredOption('--nudge-id <id>', NUDGE)
    .requiredOption('--error <text>', 'what went wrong');
  withExamples(fail, 'svc wait fail al-30 --nudge-id wait-al-30-1-1 --error "the session is gone"');
  fail.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, id } };
    const body = { nudge_id: flags.nudgeId ?? '', error: flags.error ?? '' };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/wait/{id}/fail', { params, body, signal }));
    await told(flags, data);
  });
}
