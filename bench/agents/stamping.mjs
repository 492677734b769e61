/**
 * An ACP agent without a library: for the prompt `say <n> <ms>` it writes n chunks, one every so many milliseconds. Each
 * carries the microsecond in which it was written, on a clock that all processes of the machine share.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const stamp = () => `at:${Math.round((performance.timeOrigin + performance.now()) * 1000)} `;
let sessions = 0;

function prompt({ sessionId, prompt: [{ text }] }) {
  const [, n, ms] = /^say (\d+) (\d+)$/.exec(text) ?? [undefined, 1, 0];
  return new Promise((resolve) => {
    let left = Number(n);
    const say = () => {
      const content = { type: 'text', text: stamp() };
      send({ method: 'session/update', params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } } });
      if (--left === 0) resolve({ stopReason: 'end_turn' });
      else setTimeout(say, Number(ms));
    };
    say();
  });
}

const methods = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: 'stamping', version: '1' }, agentCapabilities: {}, authMethods: [] }),
  'session/new': () => ({ sessionId: `stamping-${++sessions}` }),
  'session/prompt': prompt,
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  void Promise.resolve(methods[method]?.(params)).then((result) =>
    send(result === undefined ? { id, error: { code: -32601, message: 'not offered' } } : { id, result }),
  );
});
