import { agent, RequestError, type AgentApp, type AgentContext } from '@agentclientprotocol/sdk';
import { setTimeout as sleep } from 'node:timers/promises';
import { obey } from './commands.js';
import { Conversation } from './conversation.js';
import { MODELS, MODES, type Flags } from './flags.js';
import { Cancelled, Talk, type McpServer, type Session } from './talk.js';

/** An agent without a model, for trying things out and for tests: what it does is written in `commands.ts`. */
export function loopbackAgent(flags: Flags): AgentApp {
  const sessions = new Map<string, Session>();
  const add = (conversation: Conversation, servers: readonly McpServer[] = []): Session => {
    const session: Session = { conversation, mode: flags.mode, model: flags.model, cancel: undefined, cost: 0, servers };
    sessions.set(conversation.id, session);
    return session;
  };
  const stored = (id: string, servers?: readonly McpServer[]): Session => {
    const conversation = flags.noResume ? undefined : Conversation.find(id);
    if (conversation === undefined) throw RequestError.sessionNotFound(id);
    return add(conversation, servers);
  };
  const open = (id: string): Session => {
    const session = sessions.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  };
  return agent({ name: 'loopback' })
    .onRequest('initialize', async () => {
      await sleep(flags.slowStart);
      if (flags.failInitialize) throw RequestError.internalError(undefined, 'failing as asked');
      return {
        protocolVersion: 1,
        agentInfo: { name: 'loopback', version: '1' },
        agentCapabilities: {
          loadSession: !flags.noResume,
          promptCapabilities: {},
          mcpCapabilities: { http: true, sse: false },
          sessionCapabilities: flags.noResume || flags.loadOnly ? {} : { resume: {} },
        },
        authMethods: flags.requireAuth ? [{ id: 'login', name: 'Log in' }] : [],
      };
    })
    .onRequest('session/new', ({ params }) => {
      if (flags.requireAuth) throw RequestError.authRequired();
      const session = add(Conversation.begin(), params.mcpServers);
      return { sessionId: session.conversation.id, ...offered(flags, session) };
    })
    .onRequest('session/resume', ({ params }) => {
      if (flags.loadOnly) throw RequestError.methodNotFound('session/resume');
      return offered(flags, stored(params.sessionId, params.mcpServers));
    })
    .onRequest('session/load', async ({ params, client }) => {
      const session = stored(params.sessionId, params.mcpServers);
      await repeat(session, client);
      return offered(flags, session);
    })
    .onRequest('session/set_config_option', ({ params }) => {
      const session = open(params.sessionId);
      if (params.configId === 'permission_mode') session.mode = pick(MODES, params.value);
      else if (params.configId === 'model') session.model = pick(MODELS, params.value);
      else throw RequestError.invalidParams(undefined, 'no such option');
      return { configOptions: options(session) };
    })
    .onRequest('session/set_mode', ({ params }) => {
      open(params.sessionId).mode = pick(MODES, params.modeId);
      return {};
    })
    .onRequest('session/prompt', ({ params, client }) => {
      const text = params.prompt.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('');
      return turn(open(params.sessionId), text, client);
    })
    .onNotification('session/cancel', ({ params }) => sessions.get(params.sessionId)?.cancel?.abort());
}

async function turn(
  session: Session,
  text: string,
  client: AgentContext,
): Promise<{ stopReason: 'end_turn' | 'cancelled'; usage?: object }> {
  const cancel = new AbortController();
  session.cancel = cancel;
  session.conversation.add('user', text);
  const talk = new Talk(session, client, cancel.signal);
  try {
    await obey(talk, text);
    return { stopReason: 'end_turn', ...(talk.usage === undefined ? {} : { usage: talk.usage }) };
  } catch (error) {
    if (error instanceof Cancelled) return { stopReason: 'cancelled' };
    throw error;
  } finally {
    session.cancel = undefined;
    session.conversation.add('agent', talk.said.join(''));
  }
}

async function repeat({ conversation }: Session, client: AgentContext): Promise<void> {
  for (const { role, text } of conversation.said) {
    const sessionUpdate = role === 'user' ? 'user_message_chunk' : 'agent_message_chunk';
    await client.notify('session/update', { sessionId: conversation.id, update: { sessionUpdate, content: { type: 'text', text } } });
  }
}

function offered(flags: Flags, session: Session): object {
  const modes = { currentModeId: session.mode, availableModes: MODES.map((id) => ({ id, name: id })) };
  return flags.modesOnly ? { modes } : { configOptions: options(session) };
}

function options({ mode, model }: Session): {
  id: string;
  name: string;
  category: string;
  type: 'select';
  currentValue: string;
  options: { value: string; name: string }[];
}[] {
  const named = (values: readonly string[]): { value: string; name: string }[] => values.map((value) => ({ value, name: value }));
  return [
    { id: 'permission_mode', name: 'Permission mode', category: 'mode', type: 'select', currentValue: mode, options: named(MODES) },
    { id: 'model', name: 'Model', category: 'model', type: 'select', currentValue: model, options: named(MODELS) },
  ];
}

function pick<T extends string>(values: readonly T[], value: unknown): T {
  const found = values.find((candidate) => candidate === value);
  if (found === undefined) throw RequestError.invalidParams(undefined, 'no such value');
  return found;
}
