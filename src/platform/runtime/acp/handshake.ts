import { PROTOCOL_VERSION, RequestError, type AgentRequestParamsByMethod, type InitializeResponse } from '@agentclientprotocol/sdk';
import { failureOf } from '../failures.js';
import { OPTIONS_BYTES, SESSION_KEY_CHARACTERS, sizeOf } from '../limits.js';
import { StartError, type StartSpec } from '../port.js';
import { printable } from '../printable.js';
import type { AcpAgent, Introduction } from './acp-agent.js';
import { AUTH_REQUIRED, wordsOf } from './errors.js';
import { AgentInfo, Opened } from './schemas.js';

type McpServers = AgentRequestParamsByMethod['session/new']['mcpServers'];

/**
 * From the first message to a conversation that takes prompts, with the options that were asked for.
 *
 * @throws StartError unsupported, auth_required, resume_rejected; RequestError for what else the agent refuses.
 */
export async function introduce(agent: AcpAgent, spec: StartSpec): Promise<void> {
  const greeting = await unlessGone(
    agent,
    agent.connection.agent.request('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      // Without file system and terminal: agents use their own, in the directory that they are started in.
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        session: { compaction: {}, notices: {}, configOptions: { boolean: {} } },
      },
      clientInfo: { name: 'supervisor-control-plane', title: 'Supervisor', version: '1' },
    }),
  );
  if (greeting.protocolVersion !== PROTOCOL_VERSION) {
    throw new StartError('unsupported', `it speaks version ${greeting.protocolVersion} of the protocol, not ${PROTOCOL_VERSION}`);
  }
  const place = { cwd: spec.cwd, mcpServers: mcpServersOf(spec, greeting) };
  const opened =
    spec.resume === undefined ? await open(agent, spec, greeting, place) : await resume(agent, spec, greeting, spec.resume, place);
  agent.introduced({
    logins: loginsOf(greeting),
    sessionKey: opened.sessionKey,
    continued: opened.continued,
    capabilities: capabilitiesOf(greeting),
  });
  for (const [key, value] of Object.entries(spec.options ?? {})) {
    if (agent.live.current(key) !== value) await agent.setOption(key, value);
  }
}

type Place = { cwd: string; mcpServers: McpServers };
type Begun = Pick<Introduction, 'sessionKey' | 'continued'>;

async function open(agent: AcpAgent, spec: StartSpec, greeting: InitializeResponse, place: Place): Promise<Begun> {
  agent.updates.costsFromZero();
  const { sessionId } = remember(
    agent,
    await authenticated(agent, spec, greeting, () => agent.connection.agent.request('session/new', place)),
  );
  if (sessionId === undefined) throw new StartError('protocol', 'it opened a conversation without an id');
  if (sessionId.length > SESSION_KEY_CHARACTERS)
    throw new StartError('protocol', `it opened a conversation with an id of ${sessionId.length} characters`);
  return { sessionKey: sessionId, continued: 'new' };
}

/** Without a repetition where that is offered, else with one; what neither can do begins anew in another process. */
async function resume(agent: AcpAgent, spec: StartSpec, greeting: InitializeResponse, sessionId: string, place: Place): Promise<Begun> {
  if (sessionId.length > SESSION_KEY_CHARACTERS)
    throw new StartError('resume_rejected', `the id of the conversation has ${sessionId.length} characters`);
  const { loadSession = false, sessionCapabilities } = greeting.agentCapabilities ?? {};
  let rejection: unknown;
  if (isOffered(sessionCapabilities?.resume)) {
    try {
      remember(
        agent,
        await authenticated(agent, spec, greeting, () => agent.connection.agent.request('session/resume', { sessionId, ...place })),
      );
      return { sessionKey: sessionId, continued: 'resumed' };
    } catch (error) {
      rejection = refusal(error);
    }
  }
  if (loadSession) {
    // What was said before is in our own record; it is left out until the agent has repeated it, or something new is asked.
    agent.updates.replaying = true;
    try {
      remember(
        agent,
        await authenticated(agent, spec, greeting, () => agent.connection.agent.request('session/load', { sessionId, ...place })),
      );
      agent.updates.loaded();
      return { sessionKey: sessionId, continued: 'loaded' };
    } catch (error) {
      rejection = refusal(error);
    }
  }
  const why = rejection instanceof RequestError ? wordsOf(rejection) : 'it cannot resume a conversation';
  throw new StartError('resume_rejected', why, '', { cause: rejection });
}

/** The agent's own no; anything else is thrown. */
function refusal(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  throw error;
}

/**
 * Asks, and once more after a login when the agent wants one and offers one that needs nothing but a variable that it has.
 * Nobody is here to open a browser or to type.
 */
async function authenticated<T>(agent: AcpAgent, { env }: StartSpec, greeting: InitializeResponse, ask: () => Promise<T>): Promise<T> {
  try {
    return await unlessGone(agent, ask());
  } catch (error) {
    if (!wantsLogin(error)) throw error;
    const method = loginOf(greeting, env);
    if (method === undefined) throw loginMissing(error, greeting);
    const refused = (later: unknown): never => {
      throw later instanceof RequestError ? loginMissing(later, greeting) : later;
    };
    await unlessGone(agent, agent.connection.agent.request('authenticate', { methodId: method })).catch(refused);
    return unlessGone(agent, ask()).catch((later: unknown) => {
      if (wantsLogin(later)) return refused(later);
      throw later;
    });
  }
}

function wantsLogin(error: unknown): error is RequestError {
  return error instanceof RequestError && (error.code === AUTH_REQUIRED || failureOf(wordsOf(error)) === 'auth_required');
}

function loginMissing(error: RequestError, greeting: InitializeResponse): StartError {
  return new StartError('auth_required', wordsOf(error) + loginsOf(greeting), '', { cause: error });
}

const MAX_LOGINS = 600;

/** What the agent offers to be signed in with; '' when it offers nothing. */
function loginsOf({ authMethods = [] }: InitializeResponse): string {
  const ways = authMethods.map(({ name, id, description }) => `${name ?? id}${description ? ` (${description})` : ''}`).join(', ');
  return ways === '' ? '' : ` (it offers: ${printable(ways).slice(0, MAX_LOGINS).toWellFormed()})`;
}

const VARIABLE = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g;

/** The first way in that names a variable which the agent has, in its words or, as `some-api-key`, in its id. */
function loginOf({ authMethods = [] }: InitializeResponse, env: StartSpec['env']): string | undefined {
  const isSet = (name: string): boolean => (env[name] ?? '') !== '';
  const variablesOf = (method: { id: string }): string[] => [
    ...(JSON.stringify(method).match(VARIABLE) ?? []),
    method.id.toUpperCase().replaceAll('-', '_'),
  ];
  return authMethods.find((method) => variablesOf(method).some(isSet))?.id;
}

function remember(agent: AcpAgent, answer: unknown): Opened {
  const opened = Opened.parse(answer ?? {});
  agent.live.opened(opened.configOptions, opened.modes);
  return opened;
}

function isOffered(capability: unknown): boolean {
  return capability !== undefined && capability !== null && capability !== false;
}

function capabilitiesOf({ agentCapabilities = {}, agentInfo }: InitializeResponse): Introduction['capabilities'] {
  const { loadSession = false, sessionCapabilities } = agentCapabilities;
  const { data: agent } = AgentInfo.safeParse(agentInfo);
  return {
    resume: loadSession || isOffered(sessionCapabilities?.resume),
    interactions: true,
    interrupt: true,
    ...(sizeOf(agentCapabilities) > OPTIONS_BYTES ? {} : { protocol: agentCapabilities }),
    ...(agent === undefined ? {} : { agent }),
  };
}

/** A server that the agent could not reach would be missing without a word. */
function mcpServersOf({ mcpServers = [] }: StartSpec, { agentCapabilities }: InitializeResponse): McpServers {
  for (const { type, name } of mcpServers) {
    if ((type === 'http' || type === 'sse') && agentCapabilities?.mcpCapabilities?.[type] !== true) {
      throw new StartError('unsupported', `it cannot use the MCP server ${String(name)}: no support for ${type}`);
    }
  }
  return mcpServers as unknown as McpServers;
}

/** A connection that closes tells only that; why it did, the exit of the process tells. */
async function unlessGone<T>(agent: AcpAgent, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof RequestError) && agent.connection.signal.aborted) return new Promise<never>(() => undefined);
    throw error;
  }
}
