import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import type { Io } from '../io.js';
import { facts } from '../table.js';
import { durationText } from '../values.js';

interface Flags {
  readonly unreadRetention?: string;
  readonly json?: boolean;
}

export function addSettings(mail: Command, io: Io): void {
  const settings = cityCommand(mail, 'settings', 'show or change how long mail is kept')
    .option('--unread-retention <duration>', 'archive unread mail after 12h, 30d …; `off` keeps it for ever')
    .option('--json', 'print the settings as one JSON line');
  withExamples(settings, 'svc mail settings', 'svc mail settings --unread-retention 30d', 'svc mail settings --unread-retention off');
  settings.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const given = flags.unreadRetention;
    const path = { cityName: city };
    const { data } =
      given === undefined
        ? await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/mail/settings', { params: { path }, signal }))
        : await ask(api, (signal) =>
            api.http.PUT('/v0/city/{cityName}/mail/settings', {
              params: { path },
              body: { unread_retention: given === 'off' ? null : durationText('--unread-retention', given) },
              signal,
            }),
          );
    return flags.json === true ? printJson(io, data) : io.out(facts([['unread mail is kept', data.unread_retention ?? 'for ever']]));
  });
}
