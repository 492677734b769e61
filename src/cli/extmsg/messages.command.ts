import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { ask, type Api, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import { harmless } from '../harmless.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { defined } from '../values.js';
import { conversationOf, shown, withConversation, type Conversation, type ConversationFlags } from './conversation.js';

interface Flags extends ConversationFlags {
  readonly session?: string;
  readonly to?: string;
  readonly replyTo?: string;
  readonly from?: string;
  readonly messageId?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

/** The service answers after 30 s, with what has become of it until then. */
const SEND_MS = 45_000;
/** Whoever was begun together with it is connected after `tellAfterMs`. A test does not wait for so long. */
export const sendTimings = { tellAfterMs: 2_000 };

export function addMessages(extmsg: Command, io: Io): void {
  addSend(extmsg, io);
  addReceive(extmsg, io);
}

function addSend(extmsg: Command, io: Io): void {
  const send = withConversation(cityCommand(extmsg, 'send', 'publish a message of a session'))
    .argument('<text>', 'what it says')
    .option('--session <id>', 'who publishes (SVC_SESSION_ID)')
    .option('--to <handle>', 'who in the group is meant')
    .option('--reply-to <message>', "the provider's id of the message that is answered")
    .option('--idempotency-key <key>', 'published once under it')
    .option('--json', 'print the answer as one JSON line');
  withExamples(send, 'svc extmsg send --provider slack --conversation-id C1 --kind room --session mayor "On it."');
  send.action(async (text: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    // A variable that was never set: what is published is nothing that anybody takes back.
    if (text.trim() === '') throw new CliError('the text is empty');
    const session = flags.session ?? (io.env.SVC_SESSION_ID || undefined);
    if (session === undefined) throw new CliError('who publishes? name the session with --session');
    const body = {
      session_id: session,
      conversation: conversationOf(flags, city),
      text,
      ...defined({ explicit_target: flags.to, reply_to_message_id: flags.replyTo, idempotency_key: flags.idempotencyKey }),
    };
    const params = { path: { cityName: city } };
    const sent = new AbortController();
    const telling = tellOfNobody(api, city, body.conversation, io, sent.signal);
    const { data } = await ask(
      api,
      (signal) => api.http.POST('/v0/city/{cityName}/extmsg/outbound', { params, body, signal }),
      SEND_MS,
    ).finally(() => sent.abort());
    await telling;
    const { Receipt: receipt, DeliveryID: id = '' } = data;
    if (flags.json === true) await printJson(io, data);
    else if (receipt.Delivered) return io.out(`${plain(`published as ${receipt.MessageID} (${id})`)}\n`);
    else if (receipt.FailureKind === 'pending')
      return io.out(
        `not published yet: it is tried on (${id})${receipt.Error === undefined ? '' : `; the last try: ${plain(receipt.Error)}`}\n`,
      );
    if (receipt.Delivered || receipt.FailureKind === 'pending') return;
    throw new CliError(`not published: ${receipt.Error ?? receipt.FailureKind} (${id})`);
  });
}

/** Says why nothing is heard for half a minute; whoever may not look at adapters sends as well. */
async function tellOfNobody(api: Api, city: string, { provider, account_id }: Conversation, io: Io, sent: AbortSignal): Promise<void> {
  await sleep(sendTimings.tellAfterMs, undefined, { signal: sent }).catch(() => undefined);
  if (sent.aborted) return;
  const init = { params: { path: { cityName: city } }, signal: AbortSignal.any([api.signal, sent]) };
  const reply = await api.http.GET('/v0/city/{cityName}/extmsg/adapters', init).catch(() => undefined);
  // The list is whole. Adapters have the names that the service has made of what was written: `Slack` is slack.
  const [name, account] = [provider.trim().toLowerCase(), account_id.trim()];
  const adapter = reply?.data?.items?.find((each) => each.provider === name && each.account_id === account);
  const why = adapter && whyNotNow(adapter);
  if (!sent.aborted && why !== undefined) io.err(`${why}\n`);
}

/** What keeps an adapter from publishing, as far as its health tells. */
function whyNotNow(adapter: Schemas['ExtmsgAdapterInfo']): string | undefined {
  const { provider, account_id: account, transport, health, last_error: error = 'it does not say why' } = adapter;
  const of = `${provider}/${account}`;
  const connect = `svc extmsg connect ${provider}${account === 'default' ? '' : ` --account-id ${account}`}`;
  const waiting = `waiting for 30 s; the message itself ${transport === 'stream' ? 'waits for a day' : 'is tried for 15 minutes'}`;
  if (health === 'disconnected') return `nobody is connected for ${of} (\`${connect}\`): ${waiting}`;
  if (health === 'stale') return `the adapter for ${of} has not been heard of for longer than its lease: ${waiting}`;
  if (health === 'failing') return `the adapter for ${of} fails (${harmless(error)}): ${waiting}`;
  return undefined;
}

function addReceive(extmsg: Command, io: Io): void {
  const receive = withConversation(cityCommand(extmsg, 'receive', 'hand over a message from outside, as an adapter does'))
    .argument('<text>', 'what it says')
    .requiredOption('--from <name>', 'who has written it')
    .option('--message-id <id>', "the provider's id; what has come under it is not taken again")
    .option('--to <handle>', 'who in the group is meant')
    .option('--json', 'print the answer as one JSON line');
  withExamples(receive, 'svc extmsg receive --provider slack --conversation-id C1 --kind room --from Ann "Is it done?"');
  receive.action(async (text: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const name = flags.from ?? '';
    const message = {
      provider_message_id: flags.messageId ?? '',
      conversation: conversationOf(flags, city),
      actor: { id: name, display_name: name, is_bot: false },
      text,
      received_at: new Date().toISOString(),
      ...defined({ explicit_target: flags.to }),
    };
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/extmsg/inbound', { params, body: { message }, signal }));
    if (flags.json === true) return printJson(io, data);
    if (data.TranscriptEntry === null) return io.out(nobodyIn(message.conversation, flags.to));
    const whom = data.TargetAgentName === '' ? data.TargetSessionID : `agent ${data.TargetAgentName}`;
    const again = data.Duplicate === true ? ', as before' : '';
    return io.out(`entry ${data.TranscriptEntry.Sequence}, for ${whom}${again}\n`);
  });
}

/** With the kind of the conversation: a room that is bound and a dm of the same id are two. */
function nobodyIn(conversation: Conversation, to: string | undefined): string {
  if (to !== undefined) return `nobody is @${to.replace(/^@/, '')} in ${shown(conversation)}; see \`svc extmsg group show\`\n`;
  return `nobody answers in ${shown(conversation)}; bind it with \`svc extmsg bind\`\n`;
}
