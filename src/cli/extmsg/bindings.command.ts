import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { age } from '../duration.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { table } from '../table.js';
import { defined } from '../values.js';
import { conversationOf, shown, withConversation, type ConversationFlags } from './conversation.js';

type Binding = Schemas['SessionBindingRecord'];

interface Flags extends ConversationFlags {
  readonly agent?: string;
  readonly session?: string;
  readonly to?: string;
  readonly json?: boolean;
}

const who = ({ AgentName, SessionName, SessionID }: Binding): string =>
  AgentName === '' ? SessionName || SessionID : `agent ${AgentName}`;

export function addBindings(extmsg: Command, io: Io): void {
  const bound = async (flags: Flags, data: Binding): Promise<void> =>
    flags.json === true
      ? printJson(io, data)
      : io.out(`${shown(data.Conversation)} is bound to ${who(data)} (generation ${data.BindingGeneration})\n`);

  const bind = withConversation(cityCommand(extmsg, 'bind', 'say who answers in a conversation'))
    .option('--agent <name>', 'a configured named session; it is started when it is written to')
    .option('--session <id>', 'one session')
    .option('--json', 'print the binding as one JSON line');
  withExamples(bind, 'svc extmsg bind --provider slack --conversation-id C1 --kind room --agent mayor');
  bind.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    if ((flags.agent === undefined) === (flags.session === undefined)) throw new CliError('give either --agent or --session');
    const body = { conversation: conversationOf(flags, city), ...defined({ agent_name: flags.agent, session_id: flags.session }) };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/bind', { params, body, signal }));
    return bound(flags, data);
  });

  const handoff = withConversation(cityCommand(extmsg, 'handoff', 'give a conversation to another, whoever has it'))
    .requiredOption('--to <agent>', 'a configured named session')
    .option('--json', 'print the binding as one JSON line');
  withExamples(handoff, 'svc extmsg handoff --provider slack --conversation-id C1 --kind room --to deacon');
  handoff.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const body = { conversation: conversationOf(flags, city), agent_name: flags.to ?? '', replace: true };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/bind', { params, body, signal }));
    return bound(flags, data);
  });

  const unbind = withConversation(cityCommand(extmsg, 'unbind', 'end the binding of a conversation'))
    .option('--agent <name>', 'only if it is bound to this configured name')
    .option('--session <id>', 'only if it is bound to this session')
    .option('--json', 'print one JSON line for each that has ended');
  withExamples(unbind, 'svc extmsg unbind --provider slack --conversation-id C1 --kind room');
  unbind.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const body = { conversation: conversationOf(flags, city), ...defined({ agent_name: flags.agent, session_id: flags.session }) };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/unbind', { params, body, signal }));
    const ended = data.unbound ?? [];
    if (flags.json === true) return io.out(ended.map((one) => `${JSON.stringify(one)}\n`).join(''));
    if (ended.length === 0) return io.out(`nothing was bound in ${shown(body.conversation)}\n`);
    return io.out(ended.map((one) => `${shown(one.Conversation)} is bound to ${who(one)} no more\n`).join(''));
  });

  const list = cityCommand(extmsg, 'bindings', 'list the conversations of a session or a configured name')
    .argument('<session>', 'an id, a name or an alias')
    .option('--json', 'print one JSON line for each');
  withExamples(list, 'svc extmsg bindings mayor');
  list.action(async (session: string, _options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city } = context;
    await listAll<Binding>(context, {
      empty: `${session} has no conversations; bind one with \`svc extmsg bind\``,
      show: (found) => {
        const rows = found.map((one) => [shown(one.Conversation), who(one), String(one.BindingGeneration), age(one.BoundAt)]);
        return table(['CONVERSATION', 'WHO', 'GENERATION', 'SINCE'], rows, io);
      },
      page: async (page) => {
        const params = { path: { cityName: city }, query: { session_id: session, ...page } };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/extmsg/bindings', { params, signal }))).data;
      },
    });
  });
}
