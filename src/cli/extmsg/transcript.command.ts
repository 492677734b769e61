import { Option, type Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { age } from '../duration.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { table } from '../table.js';
import { defined, numberOf } from '../values.js';
import { conversationOf, shown, withConversation, type ConversationFlags } from './conversation.js';

type Entry = Schemas['ConversationTranscriptRecord'];

interface Flags extends ConversationFlags, ListFlags {
  readonly after?: string;
  readonly unreadBy?: string;
  readonly order?: 'asc' | 'desc';
}

const by = ({ Kind, Actor, SourceSessionID }: Entry): string => (Kind === 'outbound' ? SourceSessionID : Actor.display_name || Actor.id);

export function addTranscript(extmsg: Command, io: Io): void {
  const show = withConversation(cityCommand(extmsg, 'transcript', 'read what was said in a conversation'))
    .option('--after <sequence>', 'only what came after it')
    .option('--unread-by <session>', 'only what this member has not read yet')
    .addOption(new Option('--order <order>', 'oldest or newest first').choices(['asc', 'desc']));
  withLimit(show);
  withExamples(show, 'svc extmsg transcript --provider slack --conversation-id C1 --kind room --unread-by mayor');
  show.action(async (_options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const more = defined({
      after_sequence: flags.after === undefined ? undefined : numberOf('--after', flags.after),
      session_id: flags.unreadBy,
      order: flags.order,
    });
    await list<Entry>(context, {
      plural: 'entries',
      empty: `nothing was said in ${shown(conversationOf(flags, city))}`,
      show: (entries) => {
        const rows = entries.map((one) => [String(one.Sequence), one.Kind, by(one), age(one.CreatedAt), one.Text]);
        return table(['SEQ', 'KIND', 'BY', 'AGE', 'TEXT'], rows, io);
      },
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...conversationOf(flags, city), ...more, ...page } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/extmsg/transcript', { params, signal }));
        return { ...data, items: data.items ?? [] };
      },
    });
  });

  const ack = withConversation(cityCommand(extmsg, 'ack', 'say how far a member has read'))
    .argument('<session>', 'the member: a session, or a configured name')
    .argument('<sequence>', 'the last entry that it has read')
    .option('--json', 'print the answer as one JSON line');
  withExamples(ack, 'svc extmsg ack mayor 12 --provider slack --conversation-id C1 --kind room');
  ack.action(async (session: string, sequence: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const body = { conversation: conversationOf(flags, city), session_id: session, sequence: numberOf('sequence', sequence) };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/transcript/ack', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.status}\n`);
  });
}
