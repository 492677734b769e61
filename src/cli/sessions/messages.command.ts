import { Option, type Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { nameOf, told } from '../edits.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { defined } from '../values.js';
import { messageTable } from './view.js';

const STATUSES = ['queued', 'in_flight', 'delivered', 'failed', 'cancelled', 'expired', 'unconfirmed'];

interface Flags extends ListFlags {
  readonly status?: string;
  readonly cancel?: string;
}

/** The queue of a session. */
export function addMessages(session: Command, io: Io): void {
  const command = cityCommand(session, 'messages', 'list the messages of a session, the newest first, or cancel one that waits')
    .argument('<session>', 'the session: an id, a name or an alias')
    .addOption(new Option('--status <status>', 'only in this status').choices(STATUSES))
    .option('--cancel <message>', 'take this one back while it is queued');
  withLimit(command);
  withExamples(
    command,
    'svc session messages mayor',
    'svc session messages al-7 --status queued',
    'svc session messages al-7 --cancel <message>',
  );
  command.action(async (name: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const path = { cityName: city, id: nameOf('a session', name) };
    if (flags.cancel !== undefined) {
      const params = { path: { ...path, messageId: nameOf('a message', flags.cancel) } };
      const { data } = await ask(api, (signal) =>
        api.http.DELETE('/v0/city/{cityName}/session/{id}/messages/{messageId}', { params, signal }),
      );
      return told(context, flags.cancel, data, 'is cancelled');
    }
    const filter = defined({ status: flags.status === undefined ? undefined : [flags.status] });
    await list<Schemas['SessionMessageRecord']>(context, {
      plural: 'messages',
      empty: 'no messages match',
      show: (messages) => messageTable(messages, io),
      page: async (page) => {
        const params = { path, query: { ...filter, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/session/{id}/messages', { params, signal }))).data;
      },
    });
  });
}
