import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folder } from '../../../../test/support/folders.js';
import type { RuntimeEvent, StartSpec } from '../port.js';

export const PATH = '/usr/local/bin:/usr/bin:/bin';

/** Markers that nothing else on this machine has. */
export function uniqueMarkers(): { SVC_DEPLOYMENT: string; SVC_CITY: string; SVC_SESSION_ID: string; SVC_GENERATION: string } {
  return { SVC_DEPLOYMENT: crypto.randomUUID(), SVC_CITY: 'alpha', SVC_SESSION_ID: 'al-1', SVC_GENERATION: '1' };
}

/** A start of a program that is written here, on nothing but Node. Its directory stays until `removeFolders`. */
export async function script(source: string, over: Partial<StartSpec> = {}): Promise<StartSpec> {
  const dir = await folder('svc-agent-');
  const file = join(dir, 'agent.mjs');
  await writeFile(file, source);
  return { command: process.execPath, args: [file], cwd: dir, env: { PATH, ...uniqueMarkers() }, timeoutMs: 20_000, ...over };
}

/**
 * An agent whose every word is written in the test: `on` has a function for a method, whose value is the answer; `say`
 * writes a message, `update` an update of the session, `line` anything; `signal` waits for a file that the test makes.
 */
export async function scripted(on: string, over: Partial<StartSpec> = {}): Promise<StartSpec> {
  return script(
    `
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
const line = (text) => process.stdout.write(text + '\\n');
const say = (message) => line(JSON.stringify({ jsonrpc: '2.0', ...message }));
const update = (update) => say({ method: 'session/update', params: { sessionId: 's1', update } });
const text = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const fail = (code, message, data) => { throw { code, message, data }; };
/** Until the test has made a file of this name. */
const signal = async (name) => { while (!existsSync(name)) await sleep(5); };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let asked = 0;
const waiting = new Map();
const ask = (method, params) => new Promise((resolve) => { const id = 'q' + ++asked; waiting.set(id, resolve); say({ id, method, params }); });
const on = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 's1' }),
  'session/prompt': () => ({ stopReason: 'end_turn' }),
  ...(${on}),
};
for await (const incoming of createInterface({ input: process.stdin })) {
  const { id, method, params, result, error } = JSON.parse(incoming);
  if (method === undefined) { waiting.get(id)?.(result ?? error); continue; }
  void (async () => {
    try {
      if (on[method] === undefined) throw { code: -32601, message: 'no ' + method };
      const answer = await on[method](params);
      if (id !== undefined) say({ id, result: answer ?? {} });
    } catch (error) {
      if (id !== undefined) say({ id, error: { code: error.code ?? -32603, message: error.message, data: error.data } });
    }
  })();
}
`,
    over,
  );
}

/** Reads everything that an agent says; `seen` grows. */
export function readEvents(agent: { readonly events: AsyncIterable<RuntimeEvent> }): {
  readonly seen: RuntimeEvent[];
  readonly done: Promise<void>;
  of<T extends RuntimeEvent['type']>(type: T): Extract<RuntimeEvent, { type: T }>[];
  text(): string;
} {
  const seen: RuntimeEvent[] = [];
  const done = (async (): Promise<void> => {
    for await (const event of agent.events) seen.push(event);
  })();
  const of = <T extends RuntimeEvent['type']>(type: T): Extract<RuntimeEvent, { type: T }>[] =>
    seen.filter((event): event is Extract<RuntimeEvent, { type: T }> => event.type === type);
  return {
    seen,
    done,
    of,
    text: () =>
      of('text')
        .map(({ text }) => text)
        .join(''),
  };
}
