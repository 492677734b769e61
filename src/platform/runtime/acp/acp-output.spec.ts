import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import { accepted, endAll, failed, loopback, never, QUICK, start } from '../testing/acp-agents.js';
import { readEvents, scripted } from '../testing/scripted-agent.js';
import { AcpRuntime } from './acp-runtime.js';

afterEach(endAll);

describe('requests that were not invited', () => {
  it('are refused, never left open', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    await agent.prompt('read /etc/passwd', accepted);
    expect(reader.text()).toBe('error -32601');
    const on = `{ 'session/prompt': async () => {
      for (const method of ['fs/write_text_file', 'terminal/create', 'elicitation/create', '_own/thing']) text(method + ' ' + (await ask(method, {})).code + '; ');
      text('bad ' + (await ask('session/request_permission', { nonsense: true })).code);
      return { stopReason: 'end_turn' };
    } }`;
    const other = await start(await scripted(on));
    const heard = readEvents(other);
    await other.prompt('x', accepted);
    expect(heard.text()).toBe(
      'fs/write_text_file -32601; terminal/create -32601; elicitation/create -32601; _own/thing -32601; bad -32602',
    );
  });
});

describe('an output that is not as it should be', () => {
  it('loses the lines that are none, and only them', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    await agent.prompt('garbage 50', accepted);
    await agent.prompt('garbage 100', accepted);
    expect(reader.text()).toBe('still herestill here');
  });

  it('loses a line that is too long, and reads the next', async () => {
    const agent = await start(await loopback());
    const reader = readEvents(agent);
    await agent.prompt(`big ${9 * 1024 * 1024}`, accepted);
    expect(reader.text()).toBe('');
    await agent.prompt(`big ${7 * 1024 * 1024}`, accepted);
    expect(reader.text()).toHaveLength(7 * 1024 * 1024);
  });

  it('ends the process when there is no end of it', async () => {
    // It does not end by itself when nobody reads it any more.
    const on = `{ 'session/prompt': () => {
      process.stdout.on('error', () => undefined);
      setInterval(() => line('x'.repeat(100)), 1);
      return sleep(1e9);
    } }`;
    const agent = await start(await scripted(on));
    const reader = readEvents(agent);
    const error: unknown = await agent.prompt('x', accepted).catch((thrown: unknown) => thrown);
    expect(failed(error)).toEqual(['protocol', 'the output of the agent is not the protocol']);
    await reader.done;
    expect(reader.of('exit')).toMatchObject([{ exit: { cause: 'crashed', signal: 'SIGKILL' } }]);
  });

  it('ends a process that closes it and stays', async () => {
    const on = `{ 'session/prompt': async () => { const { closeSync } = await import('node:fs'); closeSync(1); setInterval(() => undefined, 1000); await sleep(1e9); } }`;
    const agent = await new AcpRuntime({ limits: QUICK }, { lastWordsMs: 50 }).start(await scripted(on), never);
    const reader = readEvents(agent);
    const error: unknown = await agent.prompt('x', accepted).catch((thrown: unknown) => thrown);
    expect(failed(error)[0]).toBe('died');
    await reader.done;
  });

  it('does not print answers to what nobody asked, nor stumbles over updates of other conversations', async () => {
    const on = `{ 'session/prompt': () => {
      say({ id: 999, result: {} });
      say({ method: 'session/update', params: { sessionId: 'another', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'not ours' } } } });
      for (const params of [undefined, {}, { sessionId: 's1' }, { sessionId: 's1', update: 'x' }]) say({ method: 'session/update', params });
      line('[]'); line('null'); line('{"jsonrpc":"1.0","method":"x"}'); line('');
      text('ours');
      return { stopReason: 'whatever' };
    } }`;
    const agent = await start(await scripted(on));
    const reader = readEvents(agent);
    expect(await agent.prompt('x', accepted)).toEqual({ stopReason: 'end_turn' });
    expect(reader.text()).toBe('ours');
  });
});

describe('a reader that is slow', () => {
  it('slows the agent down instead of filling the memory, and loses nothing', async () => {
    const chunk = 64 * 1024;
    const on = `{ 'session/prompt': async () => {
      let sent = 0;
      for (let i = 0; i < 400; i++) {
        if (!process.stdout.write(JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's1', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: String(i).padStart(${chunk}) } } } }) + '\\n')) {
          process.stderr.write('sent ' + i + '\\n');
          await new Promise((resolve) => process.stdout.once('drain', resolve));
        }
      }
      return { stopReason: 'end_turn' };
    } }`;
    const agent = await start(await scripted(on));
    const events = agent.events[Symbol.asyncIterator]();
    const turn = agent.prompt('x', accepted);
    // Nobody reads: the agent has to stop by itself, at most a few chunks beyond the limit of the queue.
    const sent = (): number => Number(/sent (\d+)\n$/.exec((agent as unknown as { stderrTail: string }).stderrTail)?.[1] ?? 0);
    let before = -1;
    await eventually(async () => {
      const now = sent();
      await new Promise((resolve) => setTimeout(resolve, 300));
      const still = now > 0 && now === sent() && now === before;
      before = now;
      return still;
    });
    expect(before * chunk).toBeLessThan(8 * 1024 * 1024);
    let count = 0;
    let ended = false;
    void turn.then(() => (ended = true));
    for (; count < 400; count++) {
      const { value } = await events.next();
      expect(Number((value as unknown as { text: string }).text)).toBe(count);
    }
    expect(ended).toBe(false);
    const rest = events.next();
    expect(await turn).toEqual({ stopReason: 'end_turn' });
    const stopped = agent.stop();
    expect(await rest).toMatchObject({ value: { type: 'exit' } });
    await stopped;
  });

  it('does not keep the process from being stopped', async () => {
    const agent = await start(await loopback());
    void agent.prompt('stream 100000', accepted).catch(accepted);
    expect(await agent.stop({ hard: true })).toMatchObject({ cause: 'stopped' });
  });
});
