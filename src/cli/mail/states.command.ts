import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { each } from '../each.js';
import type { Io } from '../io.js';
import { mailText } from './view.js';

interface Flags {
  readonly json?: boolean;
}

export function addMailStates(mail: Command, io: Io): void {
  addRead(mail, io);
  addState(mail, io, 'unread', 'mark messages as unread', 'is unread');
  addState(mail, io, 'archive', 'put messages away', 'is archived');
  addState(mail, io, 'delete', 'delete messages', 'is deleted');
}

/** What is marked as read has been shown. */
function addRead(mail: Command, io: Io): void {
  const read = cityCommand(mail, 'read', 'show messages and mark them as read')
    .argument('<id...>', 'the messages')
    .option('--json', 'print one JSON line for each message');
  withExamples(read, 'svc mail read al-14', 'svc mail read al-14 al-15 --json');
  read.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    let first = true;
    await each(context, ids, async (id) => {
      const path = { cityName: city, id };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/mail/{id}', { params: { path }, signal }));
      const shown = { ...data, read: true };
      if (flags.json === true) await printJson(io, shown);
      else await io.out(`${first ? '' : '\n'}${mailText(shown)}`);
      first = false;
      const params = { path };
      await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/mail/{id}/read', { params, signal }));
    });
  });
}

function addState(mail: Command, io: Io, verb: 'unread' | 'archive' | 'delete', about: string, done: string): void {
  const command = cityCommand(mail, verb, about).argument('<id...>', 'the messages').option('--json', 'print one JSON line for each');
  withExamples(command, `svc mail ${verb} al-14 al-15`);
  command.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id } };
      const { data } = await ask(api, (signal) => {
        if (verb === 'delete') return api.http.DELETE('/v0/city/{cityName}/mail/{id}', { params, signal });
        if (verb === 'archive') return api.http.POST('/v0/city/{cityName}/mail/{id}/archive', { params, signal });
        return api.http.POST('/v0/city/{cityName}/mail/{id}/mark-unread', { params, signal });
      });
      if (flags.json === true) await printJson(io, { id, ...data });
      else await io.out(`${id} ${done}\n`);
    });
  });
}
