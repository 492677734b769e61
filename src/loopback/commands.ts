import { RequestError } from '@agentclientprotocol/sdk';
import { spawn } from 'node:child_process';
import process, { env, exit, stderr, stdout } from 'node:process';
import { answer, outsideOf } from './outside.js';
import type { McpServer, Talk } from './talk.js';

/**
 * What the agent does, by the text of the prompt. A text that is none of these is said again.
 *
 * | Prompt | What happens |
 * | --- | --- |
 * | `stream <n> [ms]` | n chunks, with a pause before each |
 * | `tool` | a tool call: pending, in progress, completed with output |
 * | `ask` | asks for permission (as the mode says) and says what was chosen |
 * | `ask <path> <text>` | the same for a change of a file, which is told as a change and not as what the tool is given |
 * | `think [ms]` | a thought, then a message, that long after it |
 * | `plan` | a plan, then the same plan with a step done |
 * | `usage` | tokens, context and cost |
 * | `wait <ms>` | nothing for that long; can be cancelled |
 * | `work <ms>` | says that it works, then nothing for that long; can be cancelled |
 * | `hang` | nothing for ever: neither cancelling nor the end of its input nor SIGTERM helps |
 * | `crash [code]` | the process ends at once |
 * | `spawn [away]` | leaves a process running that holds its output; `away` in a group of its own |
 * | `big <bytes>` | one chunk of that many characters |
 * | `stderr <text>` | writes to the error output |
 * | `env <NAME>` | says whether the variable is set |
 * | `mcp` | names the MCP servers that it was given, with the variables or headers that have a value; it starts none |
 * | `history` | says how many prompts came before this one |
 * | `title <text>` | gives the conversation a title |
 * | `garbage [n]` | writes n lines that are no messages, one unless given |
 * | `read <path>` | asks its client for a file, which it has not offered, and says the error's code |
 * | `fail <code> <text>` | refuses the prompt with this error |
 *
 * With `LOOPBACK_ANSWERS=outside` in its environment it also answers what people write in conversations elsewhere: there, with an echo.
 */
const COMMANDS: readonly (readonly [RegExp, (talk: Talk, ...found: string[]) => Promise<void>])[] = [
  [/^stream (\d+)(?: (\d+))?$/, stream],
  [/^tool$/, tool],
  [
    /^ask$/,
    async (talk) => talk.say(`chosen: ${await talk.ask({ toolCallId: 'ask', title: 'May I?', rawInput: { question: 'May I?' } })}`),
  ],
  [/^ask (\S+) (.+)$/s, askToWrite],
  [/^think(?: (\d+))?$/, think],
  [/^plan$/, plan],
  [/^usage$/, usage],
  [/^wait (\d+)$/, wait],
  [/^work (\d+)$/, work],
  [/^hang$/, hang],
  [/^crash(?: (\d+))?$/, async (_talk, code) => crash(code)],
  [/^spawn( away)?$/, leave],
  [/^big (\d+)$/, async (talk, bytes) => talk.say('x'.repeat(Number(bytes)))],
  [/^stderr (.+)$/s, tellError],
  [/^env (\w+)$/, async (talk, name) => talk.say(`${name} is ${env[name!] === undefined ? 'not set' : 'set'}`)],
  [/^mcp$/, async (talk) => talk.say(`servers: ${talk.session.servers.map(describe).join(', ') || 'none'}`)],
  [/^history$/, async (talk) => talk.say(`prompts before: ${talk.session.conversation.prompts - 1}`)],
  [/^title (.+)$/, async (talk, title) => talk.update({ sessionUpdate: 'session_info_update', title })],
  [/^garbage(?: (\d+))?$/, garbage],
  [/^read (.+)$/, async (talk, path) => talk.say(`error ${await talk.stray(path!)}`)],
  [/^fail (-?\d+) (.+)$/, async (_talk, code, text) => refuse(Number(code), text!)],
];

export async function obey(talk: Talk, text: string): Promise<void> {
  const outside = env.LOOPBACK_ANSWERS === 'outside' ? outsideOf(text) : undefined;
  if (outside !== undefined) return talk.say(await answer(outside));
  for (const [pattern, act] of COMMANDS) {
    const found = pattern.exec(text.trim());
    if (found !== null) return act(talk, ...found.slice(1));
  }
  await talk.say(`echo: ${text}`);
}

function describe(server: McpServer): string {
  const values = 'env' in server ? server.env : 'headers' in server ? server.headers : [];
  const names = values.filter(({ value }) => value !== '').map(({ name }) => name);
  const kind = 'type' in server ? server.type : 'stdio';
  return `${'name' in server ? server.name : '?'} (${[kind, ...names].join(' ')})`;
}

async function stream(talk: Talk, count?: string, pause?: string): Promise<void> {
  for (let i = 1; i <= Number(count); i++) {
    if (pause !== undefined || talk.signal.aborted) await talk.wait(Number(pause ?? 0));
    await talk.say(`${i} `);
  }
}

async function tool(talk: Talk): Promise<void> {
  const call = { toolCallId: `call-${talk.session.conversation.said.length}` };
  const rawInput = { command: 'echo hello' };
  await talk.update({ sessionUpdate: 'tool_call', ...call, title: 'echo hello', kind: 'execute', status: 'pending', rawInput });
  await talk.update({ sessionUpdate: 'tool_call_update', ...call, status: 'in_progress' });
  const content = [{ type: 'content', content: { type: 'text', text: 'hello' } }];
  await talk.update({ sessionUpdate: 'tool_call_update', ...call, status: 'completed', content, rawOutput: { exit_code: 0 } });
  await talk.say('The tool said hello.');
}

/** As agents do that tell a change alone. */
async function askToWrite(talk: Talk, path?: string, newText?: string): Promise<void> {
  const content = [{ type: 'diff', path, oldText: null, newText }];
  const call = { toolCallId: 'ask', title: 'May I write?', kind: 'edit', content, locations: [{ path }] };
  await talk.say(`chosen: ${await talk.ask(call)}`);
}

async function think(talk: Talk, ms = '0'): Promise<void> {
  for (const text of ['Let me ', 'think.']) await talk.update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
  if (ms !== '0') await talk.wait(Number(ms));
  await talk.say('I have thought.');
}

async function plan(talk: Talk): Promise<void> {
  const step = (content: string, status: string): object => ({ content, status, priority: 'medium' });
  await talk.update({ sessionUpdate: 'plan', entries: [step('Look', 'in_progress'), step('Act', 'pending')] });
  await talk.update({ sessionUpdate: 'plan', entries: [step('Look', 'completed'), step('Act', 'in_progress')] });
  await talk.say('That is the plan.');
}

async function usage(talk: Talk): Promise<void> {
  const { session } = talk;
  session.cost = Math.round((session.cost + 0.01) * 100) / 100;
  await talk.update({
    sessionUpdate: 'usage_update',
    used: 1000 * session.conversation.prompts,
    size: 200_000,
    cost: { amount: session.cost, currency: 'USD' },
  });
  talk.usage = { inputTokens: 100, outputTokens: 20, cachedReadTokens: 50, cachedWriteTokens: 10, totalTokens: 180 };
  await talk.say('That is what it cost.');
}

async function wait(talk: Talk, ms?: string): Promise<void> {
  await talk.wait(Number(ms));
  await talk.say('waited');
}

async function work(talk: Talk, ms?: string): Promise<void> {
  await talk.say('working');
  await talk.wait(Number(ms));
  await talk.say(', worked');
}

async function hang(): Promise<void> {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 60_000);
  await new Promise(() => undefined);
}

function crash(code = '1'): never {
  stderr.write('crashed as asked\n');
  return exit(Number(code));
}

async function leave(talk: Talk, away?: string): Promise<void> {
  const child = spawn('/bin/sleep', ['600'], { detached: away !== undefined, stdio: ['ignore', 'inherit', 'inherit'] });
  child.unref();
  await talk.say(`spawned ${child.pid}`);
}

async function tellError(talk: Talk, text?: string): Promise<void> {
  stderr.write(`${text}\n`);
  await talk.say('told');
}

async function garbage(talk: Talk, count = '1'): Promise<void> {
  for (let i = 0; i < Number(count); i++) stdout.write(`this is no message ${i}\n`);
  await talk.say('still here');
}

function refuse(code: number, text: string): never {
  throw new RequestError(code, text);
}
