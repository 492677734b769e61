import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { showEach } from '../each.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { facts } from '../table.js';
import { defined } from '../values.js';
import { mailTable, mailText, type Message } from './view.js';

interface InboxFlags extends ListFlags {
  readonly agent?: string;
  readonly all?: boolean;
  readonly archived?: boolean;
  readonly from?: string;
  readonly text?: string;
  readonly thread?: string;
  readonly rig?: string;
}

const withAgent = (command: Command): Command =>
  command
    .option('--agent <who>', "only this one's mail (SVC_AGENT; default everybody's)")
    .option('--rig <rig>', 'only what is tagged with this rig');

const agentOf = (flags: { readonly agent?: string }, io: Io): string | undefined => flags.agent ?? (io.env.SVC_AGENT || undefined);

export function addMailReads(mail: Command, io: Io): void {
  addInbox(mail, io);
  addShow(mail, io);
  addThread(mail, io);
  addCount(mail, io);
}

function addInbox(mail: Command, io: Io): void {
  const inbox = withAgent(cityCommand(mail, 'inbox', 'list unread messages, newest first').alias('list'))
    .option('--all', 'read ones too')
    .option('--archived', 'what was archived instead')
    .option('--from <who>', 'only from this sender')
    .option('--text <text>', 'only with this text')
    .option('--thread <id>', 'only of this thread');
  withLimit(inbox);
  withExamples(inbox, 'svc mail inbox --agent worker', 'svc mail inbox --all --from mayor --json');
  inbox.action(async (_options, action: Command) => {
    const context = await cityContextOf<InboxFlags>(action, io);
    const { api, city, flags } = context;
    if (flags.all === true && flags.archived === true) throw new CliError('--all and --archived are mutually exclusive');
    const status = flags.archived === true ? 'archived' : flags.all === true ? 'all' : 'unread';
    const filters = {
      status,
      ...defined({ agent: agentOf(flags, io), rig: flags.rig, from: flags.from, text: flags.text, thread: flags.thread }),
    };
    await list<Message>(context, {
      plural: 'messages',
      empty: { unread: 'no unread mail; --all shows what was read', all: 'no mail', archived: 'nothing is archived' }[status],
      show: (messages) => mailTable(messages, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...filters, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/mail', { params, signal }))).data;
      },
    });
  });
}

function addShow(mail: Command, io: Io): void {
  const show = cityCommand(mail, 'show', 'show messages; they stay unread')
    .argument('<id...>', 'the messages')
    .option('--json', 'print one JSON line for each');
  withExamples(show, 'svc mail show al-14');
  show.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<{ json?: boolean }>(action, io);
    const { api, city, flags } = context;
    let first = true;
    await showEach(context, ids, async (id) => {
      const params = { path: { cityName: city, id } };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/mail/{id}', { params, signal }));
      if (flags.json === true) return printJson(io, data);
      await io.out(`${first ? '' : '\n'}${mailText(data)}`);
      first = false;
    });
  });
}

function addThread(mail: Command, io: Io): void {
  const thread = cityCommand(mail, 'thread', 'show a conversation from its beginning').argument('<id>', 'a thread, or any message of it');
  withLimit(thread);
  withExamples(thread, 'svc mail thread al-14', 'svc mail thread thread-4be01f9c2d77 --json');
  thread.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city } = context;
    await list<Message>(context, {
      plural: 'messages',
      empty: `no messages in ${id}`,
      show: (messages) => messages.map(mailText).join('\n'),
      texts: true,
      page: async (query) => {
        const params = { path: { cityName: city, id }, query };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/mail/thread/{id}', { params, signal }))).data;
      },
    });
  });
}

function addCount(mail: Command, io: Io): void {
  const count = withAgent(cityCommand(mail, 'count', 'count messages')).option('--json', 'print the answer as one JSON line');
  withExamples(count, 'svc mail count', 'svc mail count --agent worker --json');
  count.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<InboxFlags>(action, io);
    const params = { path: { cityName: city }, query: defined({ agent: agentOf(flags, io), rig: flags.rig }) };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/mail/count', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    return io.out(
      facts([
        ['unread', data.unread],
        ['total', data.total],
      ]),
    );
  });
}
