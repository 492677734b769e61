import { keyOf } from '../../src/modules/integrations/extmsg/conversations/conversation.js';
import { CONVERSATION } from '../../src/modules/integrations/extmsg/conversations/examples.js';
import { adminAt } from './database.js';
import type { ExtmsgClient, Given } from './extmsg-client.js';

/** A conversation elsewhere with its group, in which a delivery has failed. An example session has it. */
export interface ExtmsgExamples {
  readonly group: string;
  readonly delivery: string;
  readonly publication: string;
}

const QUERY = new URLSearchParams(CONVERSATION).toString();
const ACCOUNT = { provider: 'slack', account_id: 'default' };
const city = 'v0-city-by-city-name-extmsg';

export async function makeExtmsg(databaseUrl: string, name: string, session: string, tag = 9): Promise<ExtmsgExamples> {
  const examples = { group: `group-${tag}00001`, delivery: `dlv-${tag}00001`, publication: `dlv-${tag}00002` };
  const key = keyOf({ ...CONVERSATION, parent_conversation_id: '' });
  await adminAt(
    databaseUrl,
    `with c as (insert into extmsg_conversations (stream_id, key, scope_id, provider, account_id, conversation_id, parent_conversation_id, kind)
       select id, $2, 'alpha', 'slack', 'default', 'C1', '', 'room' from event_streams where name = $1 returning pk, stream_id),
     g as (insert into extmsg_groups (stream_id, conversation_pk, id, mode, fanout_enabled, fanout_untargeted, max_peer_publishes, max_peer_deliveries)
       select stream_id, pk, $3, 'launcher', true, true, 20, 200 from c),
     b as (insert into extmsg_bindings (stream_id, conversation_pk, id, session_pk, session_id, generation)
       select c.stream_id, c.pk, 'bind-' || s.id, s.pk, s.id, 1 from c join sessions s on s.stream_id = c.stream_id and s.id = $5),
     a as (insert into extmsg_adapters (stream_id, provider, account_id, name, callback_url, token_hash)
       select stream_id, 'slack', 'default', 'slack/default', '', 'x' from c),
     p as (insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, state, body, deadline, ended_at, conversation, attempts, claim)
       select stream_id, pk, $6, 'outbound', 'delivered', 'x', now(), now(), '{}', 1, 'claim-x' from c)
     insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, state, sequence, selector, body, deadline, ended_at)
       select stream_id, pk, $4, 'inbound', 'failed', 1, 'nobody', 'x', now(), now() from c`,
    [name, key, examples.group, examples.delivery, session, examples.publication],
  );
  return examples;
}

/** A path of the family with its parameters filled, and the query that it demands; others stay as they are. */
export function extmsgPath(path: string, { delivery, publication }: ExtmsgExamples, method: string): string {
  if (path.endsWith('/extmsg/bindings')) return `${path}?session_id=mayor`;
  if (method === 'GET' && /\/extmsg\/(groups|transcript)$/.test(path)) return `${path}?${QUERY}`;
  if (path.endsWith('/extmsg/publications/stream')) return `${path}?provider=${ACCOUNT.provider}&account_id=${ACCOUNT.account_id}`;
  return path.replace('/delivery/{id}', `/delivery/${delivery}`).replace('/publication/{id}', `/publication/${publication}`);
}

export function extmsgBodies(session: string, { group }: ExtmsgExamples): Readonly<Record<string, object>> {
  const actor = { id: 'U1', display_name: 'Ann', is_bot: false };
  // Without an id of its provider each is another message.
  const message = { provider_message_id: '', conversation: CONVERSATION, actor, text: 'x', received_at: '2026-01-01T00:00:00Z' };
  return {
    [`post-${city}-inbound`]: { message },
    [`post-${city}-outbound`]: { session_id: session, conversation: CONVERSATION, text: 'x' },
    [`post-${city}-bind`]: { conversation: CONVERSATION, session_id: session },
    'ensure-extmsg-group': { root_conversation: CONVERSATION },
    [`post-${city}-participants`]: { group_id: group, handle: 'ops', session_id: session },
    [`delete-${city}-participants`]: { group_id: group, handle: 'ops' },
    'acknowledge-extmsg-publication': { claim: 'claim-x', delivered: true, conversation: CONVERSATION },
    [`post-${city}-transcript-ack`]: { conversation: CONVERSATION, session_id: session },
  };
}

/** Uses every mutation of the family once, to good effect. */
export async function useExtmsg(
  ask: (method: string, path: string, body?: object) => Promise<Readonly<Record<string, any>>>,
  failedDelivery: () => Promise<string>,
  connect: (token: string) => Promise<ExtmsgClient>,
): Promise<void> {
  const conversation = { ...CONVERSATION, conversation_id: 'C2' };
  const bodies = extmsgBodies('mayor', { group: '', delivery: '', publication: '' }) as Record<string, any>;
  const at = (step: string): string => `extmsg/${step}`;
  await ask('POST', at('adapters'), ACCOUNT);
  await ask('POST', at('bind'), { conversation, agent_name: 'mayor' });
  const { ID: group_id } = await ask('POST', at('groups'), { root_conversation: conversation });
  await ask('POST', at('participants'), { group_id, handle: 'ops', session_id: 'mayor' });
  await ask('POST', at('inbound'), { message: { ...bodies[`post-${city}-inbound`].message, conversation } });
  await ask('POST', at('transcript/ack'), { conversation, session_id: 'mayor', sequence: 1 });
  await ask('DELETE', at('participants'), { group_id, handle: 'ops' });
  const { session_id } = await ask('POST', 'sessions', { kind: 'provider', name: 'loopback' });
  await ask('POST', at('bind'), { conversation, session_id, replace: true });
  await ask('POST', at('outbound'), { conversation, session_id, text: 'x' });
  await ask('POST', at(`delivery/${await failedDelivery()}/retry`));
  await ask('DELETE', at('adapters'), ACCOUNT);
  const { token } = await ask('POST', at('adapters'), { ...ACCOUNT, transport: 'stream' });
  const client = await connect(token as string);
  const published = ask('POST', at('outbound'), { conversation, session_id, text: 'to a client' });
  for (let n = 1, given: Given | undefined; given?.text !== 'to a client'; n++) {
    given = (await client.untilGiven(n))[n - 1]!;
    await ask('POST', at(`publication/${given.id}/ack`), { claim: given.claim, delivered: true });
  }
  await published;
  await client.close();
  await ask('POST', at('unbind'), { conversation });
  await ask('DELETE', at('adapters'), ACCOUNT);
}
