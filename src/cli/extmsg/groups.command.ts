import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { facts, table } from '../table.js';
import { defined, numberOf } from '../values.js';
import { conversationOf, shown, withConversation, type ConversationFlags } from './conversation.js';

type Group = Schemas['ConversationGroupRecord'];

interface Flags extends ConversationFlags {
  readonly default?: string;
  readonly fanout?: boolean;
  readonly targetedOnly?: boolean;
  readonly maxPublishes?: string;
  readonly maxDeliveries?: string;
  readonly public?: boolean;
  readonly json?: boolean;
}

export function addGroups(extmsg: Command, io: Io): void {
  const group = extmsg.command('group').description('conversations that several answer in');

  const make = withConversation(cityCommand(group, 'make', 'make the group of a conversation, or say anew what it is; prints its id'))
    .option('--default <handle>', 'who is meant when nobody is named')
    .option('--no-fanout', 'members are not told what others of them publish')
    .option('--targeted-only', 'they are told only of what names one of them')
    .option('--max-publishes <n>', 'how often they may answer each other until somebody outside writes again')
    .option('--max-deliveries <n>', 'how many of them are told by each other until then')
    .option('--json', 'print the group as one JSON line');
  withExamples(make, 'svc extmsg group make --provider slack --conversation-id C1 --kind room --default ops');
  make.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const fanout_policy = {
      Enabled: flags.fanout !== false,
      AllowUntargetedPublication: flags.targetedOnly !== true,
      ...defined({
        MaxPeerTriggeredPublishes: flags.maxPublishes === undefined ? undefined : numberOf('--max-publishes', flags.maxPublishes),
        MaxTotalPeerDeliveries: flags.maxDeliveries === undefined ? undefined : numberOf('--max-deliveries', flags.maxDeliveries),
      }),
    } as Schemas['FanoutPolicyInput'];
    const body = { root_conversation: conversationOf(flags, city), fanout_policy, ...defined({ default_handle: flags.default }) };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/groups', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.ID}\n`);
  });

  const find = async (action: Command): Promise<{ flags: Flags; data: Group }> => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city }, query: conversationOf(flags, city) };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/extmsg/groups', { params, signal }));
    return { flags, data };
  };
  const show = withConversation(cityCommand(group, 'show', 'show the group of a conversation and who is in it')).option(
    '--json',
    'print the group as one JSON line',
  );
  withExamples(show, 'svc extmsg group show --provider slack --conversation-id C1 --kind room');
  show.action(async (_options, action: Command) => {
    const { flags, data } = await find(action);
    return flags.json === true ? printJson(io, data) : io.out(details(data, io));
  });

  addParticipants(extmsg, io);
}

function addParticipants(extmsg: Command, io: Io): void {
  const participant = extmsg.command('participant').description('handles in the group of a conversation');
  const groupOf = async (action: Command): Promise<{ id: string; context: Awaited<ReturnType<typeof cityContextOf<Flags>>> }> => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const params = { path: { cityName: city }, query: conversationOf(flags, city) };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/extmsg/groups', { params, signal }));
    return { id: data.ID, context };
  };

  const add = withConversation(cityCommand(participant, 'add', 'give somebody a handle in a group'))
    .argument('<handle>', 'what people outside call it')
    .argument('<session>', 'a session, or a configured name')
    .option('--public', 'the others are told the handle')
    .option('--json', 'print the participant as one JSON line');
  withExamples(add, 'svc extmsg participant add ops mayor --provider slack --conversation-id C1 --kind room');
  add.action(async (handle: string, session: string, _options, action: Command) => {
    if (handle.trim() === '') throw new CliError('which handle?');
    const { id, context } = await groupOf(action);
    const { api, city, flags } = context;
    const body = { group_id: id, handle, session_id: session, public: flags.public === true };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/participants', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`@${data.Handle} is ${data.SessionID}\n`);
  });

  const remove = withConversation(cityCommand(participant, 'remove', 'take a handle back'))
    .argument('<handle>', 'the handle')
    .option('--json', 'print the answer as one JSON line');
  withExamples(remove, 'svc extmsg participant remove ops --provider slack --conversation-id C1 --kind room');
  remove.action(async (handle: string, _options, action: Command) => {
    const { id, context } = await groupOf(action);
    const { api, city, flags } = context;
    const body = { group_id: id, handle };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/extmsg/participants', { params, body, signal }));
    return flags.json === true ? printJson(io, data) : io.out(`${data.status}\n`);
  });
}

function details(group: Group, io: Io): string {
  const { FanoutPolicy: policy } = group;
  const head = facts([
    ['group', group.ID],
    ['conversation', shown(group.RootConversation)],
    ['default', group.DefaultHandle === '' ? undefined : `@${group.DefaultHandle}`],
    ['last addressed', group.LastAddressedHandle === '' ? undefined : `@${group.LastAddressedHandle}`],
    ['fan-out', policy.Enabled ? `${policy.MaxPeerTriggeredPublishes} publications, ${policy.MaxTotalPeerDeliveries} deliveries` : 'off'],
  ]);
  const rows = (group.Participants ?? []).map((one) => [`@${one.Handle}`, one.SessionID, one.Public ? 'public' : '']);
  return rows.length === 0 ? head : `${head}\n${table(['HANDLE', 'WHO', ''], rows, io)}`;
}
